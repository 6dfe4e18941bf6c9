import TillAppStore
import TillBilling
import TillHTTP
import TillServer

/// Asks Apple, or the emulated store that the configuration names, over real HTTP: the effects of Apple's rooms, and
/// the clients on them.
struct AppleClient: Sendable {
    let effects: AppleEffects
    /// Nil without an In-App Purchase key.
    let api: ServerAPI?
    private let fetch: Fetch

    /// - Throws: `CommandFailure` if no HTTP client can be started.
    init(_ configuration: Configuration, process: ProcessEffects) throws {
        var settings = FetchConfiguration()
        // The longest answers are pages of twenty proofs, and receipts with years of purchases in them.
        settings.answerLimit = 32 << 20
        // A buyer waits for some of them; who does not is asked again anyway.
        settings.totalTimeout = 15_000
        do {
            fetch = try Fetch(configuration: settings)
        } catch {
            throw CommandFailure(Text(en: "no HTTP client: \(error.detail)", zh: "无法启动 HTTP 客户端：\(error.detail)"))
        }
        effects = AppleEffects(
            exchange: appleExchange(over: fetch.send), clock: process.clock, entropy: process.entropy,
            pause: { try? await Task.sleep(for: .milliseconds($0)) })
        let service = configuration.appleService
        api = service.key.map { [effects] key in
            ServerAPI(
                key: key, bundleID: configuration.apple.bundleID, hosts: service.hosts,
                environments: configuration.apple.environments, effects: effects,
                budget: RequestBudget(effects: effects))
        }
    }

    func stop() { fetch.stop() }
}
