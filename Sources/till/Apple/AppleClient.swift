import TillAppStore
import TillBilling
import TillHTTP
import TillLedger
import TillServer

/// Calls Apple, or the configured emulator, over real HTTP: the effects of the Apple modules, and the clients built on
/// them.
struct AppleClient: Sendable {
    let effects: AppleEffects
    /// Nil without an In-App Purchase Key.
    let api: ServerAPI?
    /// Nil with an In-App Purchase Key, or without a shared secret.
    let verifyReceipt: VerifyReceiptClient?
    private let fetch: Fetch

    /// - Parameters:
    ///   - store: the clock of the emulated store in `apple.emulator`, if the configuration names one.
    ///   - log: takes a line about each request.
    ///   - figures: counts the requests.
    /// - Throws: `CommandError` if no HTTP client can be started.
    init(
        _ configuration: Configuration, process: ProcessEffects, following store: EmulatorClock?, log: Log = .none,
        figures: AppleFigures? = nil
    ) throws {
        var settings = FetchConfiguration()
        // The longest answers are pages of twenty proofs, and receipts with years of purchases.
        settings.responseLimit = 32 << 20
        // A buyer waits for some of these requests; the others are retried anyway.
        settings.totalTimeout = 15_000
        do {
            fetch = try Fetch(configuration: settings)
        } catch {
            throw CommandError(
                LocalizedText(
                    en: "the HTTP client can't be started: \(error.detail)", zh: "无法启动 HTTP 客户端：\(error.detail)"))
        }
        let exchange = appleExchange(over: fetch.send)
        let counted = figures?.counting(exchange, clock: process.clock) ?? exchange
        let clock: @Sendable () -> Instant
        if let store { clock = { store.now } } else { clock = process.clock }
        effects = AppleEffects(
            exchange: logging(store?.following(counted) ?? counted, in: log, clock: process.clock), clock: clock,
            entropy: process.entropy, pause: { try? await Task.sleep(for: .milliseconds($0)) })
        let service = configuration.appleService
        let isKeyless = service.key == nil
        verifyReceipt = service.sharedSecret.flatMap { [effects] secret in
            isKeyless
                ? VerifyReceiptClient(
                    exchange: effects.exchange, hosts: service.hosts, secret: AppSharedSecret(secret)) : nil
        }
        api = service.key.map { [effects] key in
            ServerAPI(
                key: key, bundleID: configuration.apple.bundleID, hosts: service.hosts,
                environments: configuration.apple.environments, effects: effects,
                budget: RequestBudget(effects: effects))
        }
    }

    func stop() { fetch.stop() }
}
