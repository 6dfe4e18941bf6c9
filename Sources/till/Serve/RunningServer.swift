import TillBilling
import TillHTTP
import TillLedger
import TillSQL
import TillServer
import TillThreads

/// A server with its ledger and its socket, for `serve` and the demo. Drain.swift stops it in order.
final class RunningServer: Sendable {
    /// The configuration in force, with what was made for it.
    struct Current {
        let configuration: Configuration
        let server: Server
        let router: Router
    }

    let current: Locked<Current>
    let state: ServerStateWriter
    /// For a ledger that is not locked by its driver; nil otherwise.
    let stateLock: StateLock?
    let clock: @Sendable () -> Instant
    let ledger: any Database
    let listener: Listener
    let apple: AppleClient
    let webhookFetch: Fetch
    private let jobs: BackgroundJobs
    let jobRun = Locked<JobRun?>(nil)
    let workThreads: [WorkThread]
    /// The clock of the emulated store in `apple.emulator`, if the configuration names one.
    let followed: FollowedClock?

    var port: UInt16 { listener.port }

    /// The server as it is configured now.
    var server: Server { current.withLock { $0.server } }
    var configuration: Configuration { current.withLock { $0.configuration } }

    /// - Parameters:
    ///   - log: takes the server's log lines; by default it drops them.
    ///   - storeClock: the clock of an emulated store in this process; nil: that of `apple.emulator`, or the machine's.
    ///   - socket: a socket that listens already, instead of the configured address.
    /// - Throws: `CommandError` with the reason and the cure.
    init(
        _ configuration: Configuration, process: ProcessEffects, log: Log = .none,
        storeClock: (@Sendable () -> Instant)? = nil, socket: ListeningSocket? = nil
    ) async throws {
        let location = configuration.database
        var monitoring = Monitoring.real(configuration)
        stateLock = try location.stateLock()
        let opened = try Self.open(location, monitoring)
        ledger = opened.database
        let (signedIn, anonymous): (WorkThread, WorkThread)
        do {
            (signedIn, anonymous) = (try WorkThread(niceness: 5), try WorkThread(niceness: 10))
        } catch {
            throw error.failure(address: configuration.listen.description)
        }
        workThreads = [signedIn, anonymous]
        monitoring.waitingWrites = opened.waitingWrites
        monitoring.database = opened.figures
        let followed = try FollowedClock(configuration, process: process)
        self.followed = followed
        apple = try AppleClient(
            configuration, process: process, following: followed?.clock, log: log, figures: monitoring.apple)
        webhookFetch = try Fetch.forWebhooks(configuration.webhooks)
        let server: Server
        do {
            server = try Server(
                configuration: configuration.server, database: ledger, clock: storeClock ?? apple.effects.clock,
                machineClock: process.clock, entropy: process.entropy, log: log, appleEffects: apple.effects,
                serverAPI: apple.api, verifyReceipt: apple.verifyReceipt,
                webhookSend: webhookFetch.send, monitoring: monitoring,
                heavyWork: HeavyWork(signedIn: signedIn, anonymous: anonymous))
        } catch {
            for thread in workThreads { thread.stop() }
            throw CommandError(Refusal(rawValue: error.verdict.rawValue)?.sentence ?? LocalizedText(error.detail))
        }
        do {
            try await Self.requireOwnLedger(server, configuration)
        } catch {
            for thread in workThreads { thread.stop() }
            await ledger.close()
            throw error
        }
        clock = process.clock
        let current = Locked(Current(configuration: configuration, server: server, router: server.router))
        self.current = current
        state = ServerStateWriter(base: location.stateBase, uses: server.keyUses) { error in
            log.write(.workFailed, ["work": "server_state", "cause": .text(error.sentence.en)])
        }
        jobs = BackgroundJobs(current: { current.withLock { $0.server } }, schema: .served) {
            try? await Task.sleep(for: .milliseconds($0))
        }
        var settings = Self.listenerSettings(configuration, socket)
        // Each request asks once, and is answered under the configuration that it began with.
        let router: @Sendable () -> Router = { current.withLock { $0.router } }
        settings.refusal = { request, language in
            current.withLock { $0.server }.response(to: request, acceptLanguage: language)
        }
        let respond: @Sendable (HTTPRequest) async -> HTTPResponse = { request in
            await followed?.clock.refresh()
            return await router().respond(to: request)
        }
        do {
            listener = try Listener(
                configuration: settings, bodyLimit: { router().bodyLimit(method: $0, path: $1) },
                admission: { router().admission(of: $0, length: $1) }, handler: respond)
        } catch {
            for thread in workThreads { thread.stop() }
            throw error.failure(address: configuration.listen.description)
        }
    }

    private static func open(_ location: LedgerLocation, _ monitoring: Monitoring) throws -> OpenLedger {
        do {
            return try location.open(as: .server, .served, watch: monitoring.commitWatch)
        } catch {
            throw location.failure(error)
        }
    }

    private static func listenerSettings(
        _ configuration: Configuration, _ socket: ListeningSocket?
    ) -> ListenerConfiguration {
        var settings = ListenerConfiguration()
        settings.address = configuration.listen.host
        settings.port = configuration.listen.port
        settings.socket = socket
        settings.takesUnknownLibrary = configuration.unsafeHTTP
        settings.trustedProxies = configuration.trustedProxies
        return settings
    }

    private static func requireOwnLedger(_ server: Server, _ configuration: Configuration) async throws {
        try await configuration.database.requireComplete(server.database)
        let ledger = configuration.database.name
        if let refused = try await server.ledger.environmentToRefuse() { throw failure(ledger: ledger, holds: refused) }
        if let other = try await server.ledger.bundleToRefuse() {
            throw CommandError(LedgerIdentity.sentence(ledger, of: other, not: configuration.apple.bundleID))
        }
    }

    private static func failure(ledger: String, holds environment: StoreEnvironment) -> CommandError {
        environment == .xcode
            ? CommandError(
                LocalizedText(
                    en: "the ledger \(ledger) holds purchases from Xcode's local testing, which were not paid; a "
                        + "server for the App Store never serves them. Name another database",
                    zh: "账本 \(ledger) 含有 Xcode 本地测试中的购买，它们没有真实付款；"
                        + "面向 App Store 的服务器绝不使用它。请换一个数据库"))
            : CommandError(
                LocalizedText(
                    en: "the ledger \(ledger) holds purchases of \(environment.rawValue), and this configuration "
                        + "accepts only Xcode's local testing; the two never share a ledger. Name another database",
                    zh: "账本 \(ledger) 含有 \(environment.rawValue) 环境的购买，而此配置只接受 Xcode 本地测试；"
                        + "两者绝不共用账本。请换一个数据库"))
    }

    /// Reads the clock of the emulated store, before the first request.
    /// - Returns: why that is not possible.
    func readStoreClock() async -> LocalizedText? { await followed?.clock.read() }

    /// Runs the background jobs until the task is cancelled.
    func runJobs() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.jobs.run() }
            group.addTask { await self.state.run() }
            guard let clock = followed?.clock else { return }
            group.addTask {
                while !Task.isCancelled {
                    if let fault = await clock.read() {
                        self.server.log.write(.jobFailed, ["job": "storeClock", "cause": .text(fault.en)])
                    }
                    await self.apple.effects.pause(EmulatorClock.interval)
                }
            }
        }
    }

    /// Runs the background jobs in a task of their own until the server stops.
    func startJobs() {
        jobRun.withLock { $0 = JobRun { await self.runJobs() } }
    }
}

extension LedgerIdentity {
    /// Why a server for one app refuses the ledger of another.
    static func sentence(_ ledger: String, of bundleID: String, not configured: String) -> LocalizedText {
        LocalizedText(
            en: "the ledger \(ledger) belongs to the app \(shown(bundleID)), and apple.bundleId is "
                + "\(shown(configured)); name this app's own database, or correct apple.bundleId",
            zh: "账本 \(ledger) 属于 App \(shown(bundleID))，而 apple.bundleId 为 \(shown(configured))；"
                + "请指明此 App 自己的数据库，或更正 apple.bundleId")
    }
}

extension Fetch {
    /// The client for webhooks: it connects to permitted addresses only, without a proxy and with a short timeout.
    ///
    /// - Throws: `CommandError` if no HTTP client can be started.
    static func forWebhooks(_ webhooks: WebhookSettings) throws -> Fetch {
        var settings = FetchConfiguration()
        settings.addresses = webhooks.allowsPrivate ? .internetAndOwnNetworks : .internet
        settings.totalTimeout = 15_000
        // Waiting for a connection would count as a timeout of the endpoint, so there is one for each concurrent
        // delivery, also of endpoints that are added later.
        settings.connectionLimit = ConfigurationReader.maximumEndpoints * WebhookDeliveries.width
        // Only the start of an endpoint's answer is used.
        settings.responseLimit = 256 << 10
        do {
            return try Fetch(configuration: settings)
        } catch {
            throw CommandError(
                LocalizedText(
                    en: "the HTTP client can't be started: \(error.detail)", zh: "无法启动 HTTP 客户端：\(error.detail)"))
        }
    }
}

extension ListenerError {
    /// The failure with its cure.
    func failure(address: String) -> CommandError {
        switch self {
        case .addressInUse:
            CommandError(
                LocalizedText(
                    en: "\(address) is in use by another program; stop that program or choose another port",
                    zh: "\(address) 已被其他程序占用；请结束它或换一个端口"))
        case .badAddress:
            CommandError(
                LocalizedText(en: "\(address) is not an address of this machine", zh: "\(address) 不是本机的地址"))
        case .notPermitted(let port):
            CommandError(
                LocalizedText(
                    en: "this process has no permission to use port \(port); choose a port from 1024 up",
                    zh: "端口 \(port) 需要本进程没有的权限；请选择 1024 及以上的端口"))
        case .notListening(let descriptor, let reason):
            CommandError(
                LocalizedText(
                    en: "descriptor \(descriptor), which LISTEN_FDS passes to this process: \(reason)",
                    zh: "LISTEN_FDS 传给本进程的描述符 \(descriptor) 不可用（\(reason)）"))
        case .unknownLibrary(let version):
            Self.unknownLibrary(version, known: ListenerConfiguration.knownLibraryVersion)
        case .system(let step, let code):
            CommandError(LocalizedText(en: "can't listen: \(step), error \(code)", zh: "无法监听：\(step)，错误 \(code)"))
        }
    }

    private static func unknownLibrary(_ version: String, known: String) -> CommandError {
        CommandError(
            LocalizedText(
                en: """
                    the checks against request smuggling were tested with libmicrohttpd \(known), and this machine has \
                    \(version): install \(known), or put a proxy in front that refuses ambiguous requests and start \
                    with --unsafe-http
                    """,
                zh: """
                    防请求走私的检查只适用于 libmicrohttpd \(known)，而本机是 \(version)：请安装 \(known)；\
                    或在前面放置拒绝歧义请求的代理，并加 --unsafe-http 启动
                    """))
    }
}
