import TillBilling
import TillJSON
import TillLedger

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
        flags: Configuration.flags + [.unsafeHTTP, .log]
    ) { call in
        let output = try ServerLog(call)
        defer { output.end() }
        do {
            try await serve(call, output)
            return .done
        } catch let failure as CommandError where output.format == .json {
            output.startFailed(failure.reasons, in: call.language)
            return .refused
        }
    }

    private static func serve(_ call: Invocation, _ output: ServerLog) async throws {
        // First of all: a SIGHUP before the server listens is answered with a reload, not with the end of the process.
        let untilHungUp = call.process.waitForHangUp()
        let configuration = try Configuration.load(for: call)
        output.setLevel(configuration.logLevel)
        let (log, untilStopped) = (output.log, call.process.waitForStop())
        log.write(.starting, configuration.logFields)
        for warning in configuration.warnings(at: call.process.clock()) {
            log.write(.startWarning, ["text": .text(warning(call.language))])
        }
        let running = try await RunningServer(configuration, process: call.process, log: log)
        if let fault = await running.readStoreClock() {
            log.write(.startWarning, ["text": .text(fault(call.language))])
        }
        let address = ListenAddress(host: configuration.listen.host, port: running.port)
        log.write(.listening, ["address": .text("http://\(address)")])
        if call.wantsJSON {
            call.console.print(JSONValue.object(["listening": .string("http://\(address)")]).encoded())
        } else {
            call.say(LocalizedText(en: "Till listens on http://\(address)", zh: "Till 正在监听 http://\(address)"))
        }
        await withTaskGroup(of: Void.self) { jobs in
            jobs.addTask { await running.runJobs() }
            jobs.addTask {
                await running.reload(
                    ConfigurationReload(
                        signal: untilHungUp, load: { try Configuration.load(for: call) },
                        apply: { output.setLevel($0.logLevel) }, language: call.language))
            }
            await untilStopped()
            call.say(LocalizedText(en: "Stopping.", zh: "正在停止。"))
            let start = call.process.clock()
            log.write(.drainBegins)
            jobs.cancelAll()
            await running.stop()
            log.write(.stopped, ["ms": .integer(max(0, call.process.clock().milliseconds - start.milliseconds))])
        }
    }
}
