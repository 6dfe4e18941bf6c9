import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillSQLite
import TillServer
import TillThreads

@testable import till

/// What a person on call looks at: the scrape, the alerts that fire on it, and `/readyz`.
struct Pager: Sendable {
    let shop: Shop
    let log: LogRecorder

    private static let token = "op_pager_0123456789abcdef"

    /// Opens a shop whose server measures itself.
    ///
    /// - Parameter volume: the space for the ledger.
    static func open(
        _ reach: Reach, ledger: SQLiteDatabase.Options? = nil, line: AppleProxy? = nil,
        volume: Monitoring.VolumeSpace? = Monitoring.VolumeSpace(free: 1 << 40, size: 1 << 41),
        webhookSend: HTTPSend? = nil, change: (inout ServerConfiguration) -> Void = { _ in },
        _ journey: (Pager) async throws -> Void
    ) async throws {
        let (nanoseconds, log) = (Locked<Int64>(0), LogRecorder())
        // A millisecond passes whenever somebody looks.
        var monitoring = Monitoring(
            stopwatch: {
                nanoseconds.withLock { time in
                    time += 1_000_000
                    return time
                }
            }, hosts: .emulator(at: "http://store.test"))
        monitoring.volume = { volume }
        monitoring.waitingWrites = { 0 }
        monitoring.version = Program.version
        try await Shop.open(
            reach, ledger: ledger,
            change: { configuration in
                configuration.operators = [SecretKey(id: "prometheus", sha256: Digest.sha256.hash(token.utf8))]
                change(&configuration)
            }, line: line, log: log, monitoring: monitoring, webhookSend: webhookSend
        ) { shop in
            try await journey(Pager(shop: shop, log: log))
        }
    }

    func scrape() async throws -> Scrape {
        var request = HTTPRequest(method: .get, path: "/metrics", peer: "127.0.0.1")
        request.headers.add("Authorization", "Bearer \(Self.token)")
        let response = try await shop.deliver(request)
        #expect(response.status == 200)
        return Scrape(text: String(decoding: response.body, as: UTF8.self))
    }

    func readiness() async throws -> Reply { try await shop.send(.get, "/readyz", as: .anonymous) }

    /// Whether Prometheus, with these scrapes a minute apart and the last one repeated, fires the alert, and did not on
    /// the first scrape alone.
    func expect(
        _ alert: String, _ scrapes: [Scrape], holding minutes: Int = 1,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let quiet = RuleTest(series: Scrape.series([scrapes[0]], holding: minutes + 2), minute: minutes, quiet: [alert])
        let firing = RuleTest(
            series: Scrape.series(scrapes, holding: minutes + 1), minute: scrapes.count - 1 + minutes, firing: [alert])
        #expect(try RuleTest.complaint([quiet, firing]) == nil, sourceLocation: sourceLocation)
    }
}
