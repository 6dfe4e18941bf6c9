import TillAppStore
import TillBilling
import TillHTTP
import TillServer
import TillThreads

/// Asks Apple, or the configured emulator, with short time limits, and compares the clocks in passing.
final class AppleProbe: Sendable {
    /// Nil without an In-App Purchase Key.
    let api: ServerAPI?
    let verifyReceipt: VerifyReceiptClient?
    let effects: AppleEffects
    private let hosts: AppleHosts
    private let skews: Locked<[Int64]>

    init(_ configuration: Configuration, process: ProcessEffects, send: @escaping HTTPSend) {
        let skews = Locked<[Int64]>([])
        self.skews = skews
        let exchange = appleExchange(over: send)
        let clock = process.clock
        let effects = AppleEffects(
            exchange: { (request) async throws(AppleConnectionError) -> AppleResponse in
                let before = clock()
                let answer = try await exchange(request)
                let after = clock()
                if let date = answer.header("Date").flatMap({ RetryAfter.date($0) }) {
                    // The field has no fractions of a second.
                    let middle = before.milliseconds + (after.milliseconds - before.milliseconds) / 2
                    skews.withLock { $0.append(middle - date.milliseconds - 500) }
                }
                return answer
            }, clock: clock, entropy: process.entropy, pause: { try? await Task.sleep(for: .milliseconds($0)) })
        self.effects = effects
        let service = configuration.appleService
        hosts = service.hosts
        api = service.key.map { key in
            ServerAPI(
                key: key, bundleID: configuration.apple.bundleID, hosts: service.hosts,
                environments: configuration.apple.environments, effects: effects,
                budget: RequestBudget(effects: effects))
        }
        verifyReceipt = service.sharedSecret.map {
            VerifyReceiptClient(exchange: effects.exchange, hosts: service.hosts, secret: AppSharedSecret($0))
        }
    }

    /// Milliseconds that this machine's clock is ahead of Apple's; negative if it is behind. Nil before an answer.
    var skew: Int64? {
        let known = skews.withLock { $0.sorted() }
        return known.isEmpty ? nil : known[known.count / 2]
    }

    /// A request without a credential, for the time in its answer.
    func greet(_ environment: StoreEnvironment) async throws(AppleConnectionError) {
        guard let host = hosts.serverAPI[environment] else { return }
        _ = try await effects.exchange(
            AppleRequest(.get, host + "/", headers: [.init("User-Agent", "till")], responseLimit: 1 << 20))
    }
}
