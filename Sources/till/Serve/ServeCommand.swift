import CTillProgram
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillThreads

extension Command {
    /// `till serve`: the server, until it receives a stop signal or another program takes over.
    static let serve = Command(
        "serve",
        summary: LocalizedText(en: "run the purchase backend", zh: "运行内购后端"),
        discussion: LocalizedText(
            en: """
                Needs a configuration (`till init` writes one). SIGTERM or SIGINT stops the server gracefully: it
                completes open requests and closes the ledger. A second signal ends it immediately; confirmed
                results are kept in both cases. SIGHUP, or `till reload`, reads the configuration again.
                SIGUSR2 starts the program that is now in this file and hands the listening socket over to it; if that
                program can't serve, this one goes on.
                Listens on a socket of the service manager (LISTEN_FDS) if there is one.
                """,
            zh: """
                需要一份配置（用 `till init` 生成）。收到 SIGTERM 或 SIGINT 后有序停止：
                处理完进行中的请求，关闭账本。再次收到信号则立即结束；即便如此，已应答的内容也不会丢失。
                SIGHUP 或 `till reload` 让它重新读取配置。
                收到 SIGUSR2 后启动此路径上现在的程序，并把监听套接字交给它；新程序无法服务时，本进程继续服务。
                服务管理器传入套接字（LISTEN_FDS）时，监听该套接字。
                """),
        flags: Configuration.flags + [.unsafeHTTP, .log]
    ) { call in
        let output = try ServerLog(call)
        defer { output.end() }
        // First of all: a SIGHUP before the server listens is answered with a reload, not with the end of the process.
        let untilHungUp = call.process.waitForHangUp()
        let inherited = try InheritedSockets(call.process.environment)
        do {
            let configuration = try Configuration.load(for: call)
            output.setLevel(configuration.logLevel)
            if let predecessor = inherited.predecessor { try await configuration.takeOver(from: predecessor) }
            return try await ServeRun(call, inherited, output, hangUp: untilHungUp).run(configuration)
        } catch {
            guard let failure = error as? CommandError else { throw error }
            inherited.predecessor?.send(.failed(failure.reasons.map(\.en).joined(separator: "; ")))
            guard output.format == .json else { throw error }
            output.startFailed(failure.reasons, in: call.language)
            return .refused
        }
    }
}

/// One `till serve`, which serves until it is stopped or another program has taken over.
struct ServeRun: Sendable {
    enum Request: Sendable {
        case stop
        case reload
        case upgrade
    }

    let call: Invocation
    let inherited: InheritedSockets
    let output: ServerLog
    let notifications: ServiceNotifications
    let requests: ServeRequests

    var log: Log { output.log }

    /// From here on signals are requests.
    ///
    /// - Parameter hangUp: waits for the next SIGHUP.
    init(
        _ call: Invocation, _ inherited: InheritedSockets, _ output: ServerLog,
        hangUp: @escaping @Sendable () async -> Bool
    ) {
        self.call = call
        self.inherited = inherited
        self.output = output
        notifications = ServiceNotifications(environment: call.process.environment)
        requests = ServeRequests(call.process, hangUp: hangUp)
    }

    func run(_ configuration: Configuration) async throws -> ExitCode {
        log.write(.starting, configuration.logFields)
        for warning in configuration.warnings(at: call.process.clock()) {
            log.write(.startWarning, ["text": .text(warning(call.language))])
        }
        var running = try await start(configuration, on: inherited.listening)
        inherited.predecessor?.send(.serving)
        running.startJobs()
        // Two thirds of the resident memory after a start are code, most of which runs once.
        till_unmap_code()
        let serving = Locked(running)
        let watchdog = Watchdog(notifications) {
            let current = serving.withLock { $0 }
            _ = (current.server, current.listener.requests(olderThan: 0))
        }
        defer { watchdog.end() }
        for await request in requests.all {
            switch request {
            case .reload:
                requests.reloadBegins()
                notifications.reloading("reading the configuration")
                await running.reload(
                    ConfigurationReload(
                        load: { try Configuration.load(for: call) }, apply: { output.setLevel($0.logLevel) },
                        language: call.language))
                notifications.ready()
            case .upgrade:
                guard let next = try await handOver(running) else { return .done }
                running = next
                serving.withLock { $0 = next }
            case .stop:
                call.say(LocalizedText(en: "Stopping.", zh: "正在停止。"))
                notifications.stopping()
                let drained = await running.stop(.stop)
                log.write(.stopped, ["ms": .integer(drained.milliseconds)])
                return .done
            }
        }
        return .done
    }

    /// Opens the ledger and accepts connections.
    ///
    /// - Parameter socket: listens already; nil: the configured address is bound.
    func start(_ configuration: Configuration, on socket: ListeningSocket?) async throws -> RunningServer {
        let running = try await RunningServer(configuration, process: call.process, log: log, socket: socket)
        if let fault = await running.readStoreClock() {
            log.write(.startWarning, ["text": .text(fault(call.language))])
        }
        let address = ListenAddress(host: socket?.host ?? configuration.listen.host, port: running.port)
        log.write(.listening, ["address": .text("http://\(address)")])
        if call.wantsJSON {
            let line: JSONValue = ["listening": .string("http://\(address)"), "pid": .int(Int64(processID()))]
            call.console.print(line.encoded())
        } else {
            call.say(LocalizedText(en: "Till listens on http://\(address)", zh: "Till 正在监听 http://\(address)"))
        }
        notifications.ready()
        return running
    }
}
