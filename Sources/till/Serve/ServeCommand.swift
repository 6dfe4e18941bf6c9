import TillBilling
import TillJSON

extension Command {
    /// `till serve`: the server, until it receives a stop signal.
    static let serve = Command(
        "serve",
        summary: LocalizedText(en: "run the purchase backend", zh: "运行内购后端"),
        discussion: LocalizedText(
            en: """
                Needs a configuration (`till init` writes one). SIGTERM or SIGINT stops the server gracefully: it
                completes open requests and closes the ledger. A second signal ends it immediately; confirmed
                results are kept in both cases. SIGHUP, or `till reload`, reads the configuration again.
                """,
            zh: """
                需要一份配置（用 `till init` 生成）。收到 SIGTERM 或 SIGINT 后有序停止：
                处理完进行中的请求，关闭账本。再次收到信号则立即结束；即便如此，已应答的内容也不会丢失。
                SIGHUP 或 `till reload` 让它重新读取配置。
                """),
        flags: Configuration.flags + [.unsafeHTTP]
    ) { call in
        // First of all: a SIGHUP before the server listens is answered with a reload, not with the end of the process.
        let untilHungUp = call.process.waitForHangUp()
        let configuration = try Configuration.load(for: call)
        let untilStopped = call.process.waitForStop()
        for warning in configuration.warnings(at: call.process.clock()) {
            call.warn(LocalizedText(en: "warning: \(warning.en)", zh: "警告：\(warning.zh)"))
        }
        let running = try await RunningServer(configuration, process: call.process)
        let address = ListenAddress(host: configuration.listen.host, port: running.port)
        if call.wantsJSON {
            call.console.print(JSONValue.object(["listening": .string("http://\(address)")]).encoded())
        } else {
            call.say(LocalizedText(en: "Till listens on http://\(address)", zh: "Till 正在监听 http://\(address)"))
        }
        await withTaskGroup(of: Void.self) { jobs in
            jobs.addTask {
                await running.runJobs { job, why in
                    call.warn(LocalizedText(en: "the job \(job) failed: \(why)", zh: "后台任务 \(job) 失败：\(why)"))
                }
            }
            jobs.addTask {
                await running.reload(after: untilHungUp, load: { try Configuration.load(for: call) }) { report in
                    for line in report.outcome == .refused ? [ReloadReport.refusal] + report.lines : report.announcement
                    {
                        call.warn(line)
                    }
                    for warning in report.warnings {
                        call.warn(LocalizedText(en: "warning: \(warning.en)", zh: "警告：\(warning.zh)"))
                    }
                }
            }
            await untilStopped()
            call.say(LocalizedText(en: "Stopping.", zh: "正在停止。"))
            jobs.cancelAll()
            await running.stop()
        }
        return .done
    }
}
