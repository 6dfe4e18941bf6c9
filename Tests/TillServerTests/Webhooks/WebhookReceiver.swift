import Foundation
import Testing
import TillAPI
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillSQL
import TillTestDatabases
import TillThreads

@testable import TillLedger
@testable import TillServer

/// A server with webhook endpoints and an outbox only: the test writes events to the outbox, and simulated receivers
/// get the pushed ones.
final class WebhookReceiver: Sendable {
    /// One attempt, as the receiver saw it.
    struct Attempt: Sendable {
        let url: String
        let request: HTTPRequest
        let at: Instant
        let event: JSONValue

        var id: String { request.headers["webhook-id"] ?? "" }
        /// `u1#2`: the user's second event.
        var name: String {
            "\(event["userId"]?.string ?? "nobody")#\(event["userSequence"]?.int ?? event["sequence"]?.int ?? 0)"
        }
    }

    typealias Handler = @Sendable (Attempt) async throws(HTTPError) -> HTTPResponse

    static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    static let olderSecret = "whsec_" + Base64.encode([UInt8](repeating: 7, count: 32))
    static let secretKey = "sk_mailroom_0123456789abcdef"

    let ledger: any Database
    let faulty: FaultyLedger
    let time = StandingClock()
    let server: Server
    private let got = Locked<[Attempt]>([])
    private let receiver = Locked<Handler> { _ in HTTPResponse(status: 204) }
    private let job = Locked<WebhookDeliveries?>(nil)

    private init(_ ledger: any Database, _ endpoints: [WebhookEndpoint]) throws {
        self.ledger = ledger
        faulty = FaultyLedger(ledger)
        var configuration = ServerConfiguration(
            catalog: Catalog(products: []),
            apple: AppleTrust(bundleID: "com.example.learn", appAppleID: nil, environments: [.sandbox]),
            secretKeys: [SecretKey(id: "backend", sha256: Digest.sha256.hash(Self.secretKey.utf8))])
        configuration.webhooks.endpoints = endpoints
        let (got, receiver, time) = (got, receiver, time)
        server = try Server(
            configuration: configuration, database: faulty, clock: { time.now }, entropy: RandomBytes.make,
            webhookSend: { url, request async throws(HTTPError) in
                let event = (try? JSONValue(decoding: request.body)) ?? .null
                let attempt = Attempt(url: url, request: request, at: time.now, event: event)
                got.withLock { $0.append(attempt) }
                return try await receiver.withLock { $0 }(attempt)
            })
        restart()
    }

    static func endpoint(_ id: String, host: String? = nil, secrets: [String] = [secret]) throws -> WebhookEndpoint {
        WebhookEndpoint(
            id: id, url: try WebhookURL("https://\(host ?? id).example/hook", allowsPlain: false),
            secrets: secrets.compactMap { WebhookSecret($0) })
    }

    static func open(_ endpoints: [WebhookEndpoint]? = nil, _ visit: (WebhookReceiver) async throws -> Void)
        async throws
    {
        try await withLedger { ledger in
            try await visit(WebhookReceiver(ledger, try endpoints ?? [endpoint("backend")]))
        }
    }

    /// Restarts as after a crash: only the ledger remains.
    func restart() { job.withLock { $0 = WebhookDeliveries(server) } }

    /// Sets the receiver that answers from now on.
    func answer(_ receiver: @escaping Handler) { self.receiver.withLock { $0 = receiver } }
    func answer(_ status: Int) { answer { _ async throws(HTTPError) in HTTPResponse(status: status) } }

    /// The attempts received since the last call; the record is then empty.
    func received() -> [Attempt] {
        got.withLock { all in
            defer { all = [] }
            return all
        }
    }

    /// Writes an event for each of these users; nil writes one without a user.
    func happen(_ users: String?..., type: String = "subscription.updated") async throws {
        let now = time.now
        try await ledger.write { connection in
            for user in users {
                try EventRecorder(connection).record(
                    type: type, user: user.map { UserID($0) }, body: ["environment": "Sandbox"], at: now)
            }
        }
    }

    @discardableResult
    func pass() async throws -> Int {
        guard let job = job.withLock({ $0 }) else { return 0 }
        return try await job.deliverAll()
    }

    /// Runs one pass and returns the received events: `u1#1 u2#1`.
    func passed() async throws -> String {
        _ = received()
        try await pass()
        return received().map(\.name).joined(separator: " ")
    }

    func call(_ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil) async throws -> (Int, JSONValue) {
        let parts = path.split(separator: "?").map(String.init)
        var request = HTTPRequest(
            method: method, path: parts[0],
            query: parts.count == 2 ? try PercentEncoding.items(parts[1].utf8) : [])
        request.headers.add("Authorization", "Bearer \(Self.secretKey)")
        request.body = body.map { Array($0.encoded().utf8) } ?? []
        let reply = await server.respond(to: request)
        return (reply.status, try JSONValue(decoding: reply.body))
    }

    /// The status of one endpoint, as an operator sees it.
    func state(_ id: String = "backend") async throws -> JSONValue {
        let (_, list) = try await call(.get, Paths.webhooks)
        return try #require(list["data"]?.array?.first { $0["id"]?.string == id })
    }

    /// The state of each event, newest first: `u1#1 dead 10`.
    func deliveries(_ query: String = "", of id: String = "backend") async throws -> [String] {
        let (_, list) = try await call(.get, "/v1/webhooks/\(id)/deliveries\(query)")
        return (list["data"]?.array ?? []).map { delivery in
            "\(delivery["sequence"]?.int ?? 0) \(delivery["state"]?.string ?? "") \(delivery["attempts"]?.int ?? 0)"
        }
    }
}

/// A ledger whose writes fail on demand, as if the process had died before them.
final class FaultyLedger: Database {
    private let ledger: any Database
    private let isBroken = Locked(false)

    init(_ ledger: any Database) { self.ledger = ledger }

    var isShared: Bool { ledger.isShared }

    func breakDown(_ broken: Bool = true) { isBroken.withLock { $0 = broken } }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        if isBroken.withLock({ $0 }) { throw DatabaseError(.full, "there is no room") }
        return try await ledger.write(locking: keys(), body)
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        try await ledger.read(body)
    }

    func close() async {}
}
