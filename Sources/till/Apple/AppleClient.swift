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

    /// - Throws: `CommandError` if no HTTP client can be started.
    ///
    /// - Parameter log: takes a line about each request.
    init(_ configuration: Configuration, process: ProcessEffects, log: Log = .none) throws {
        var settings = FetchConfiguration()
        // The longest answers are pages of twenty proofs, and receipts with years of purchases.
        settings.responseLimit = 32 << 20
        // A buyer waits for some of these requests; the others are retried anyway.
        settings.totalTimeout = 15_000
        do {
            fetch = try Fetch(configuration: settings)
        } catch {
            throw CommandError(
                LocalizedText(en: "no HTTP client: \(error.detail)", zh: "无法启动 HTTP 客户端：\(error.detail)"))
        }
        effects = AppleEffects(
            exchange: logging(appleExchange(over: fetch.send), in: log, clock: process.clock), clock: process.clock,
            entropy: process.entropy,
            pause: { try? await Task.sleep(for: .milliseconds($0)) })
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
