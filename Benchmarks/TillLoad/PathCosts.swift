import Foundation
import TillCrypto
import TillHTTP
import TillThreads

/// The processor time that a server takes for one request of each kind, and for one webhook delivery. Ends by itself.
struct PathCosts {
    let set: LoadSet
    let till: String
    /// How many requests of each kind.
    let count: Int
    /// The one kind that is measured; nil for all of them and the deliveries.
    let only: String?

    private static let receiver = "backend"

    func lines() async throws -> String {
        let issuer = try LoadIssuer()
        try set.prepare(issuer)
        let database = FileManager.default.temporaryDirectory.appendingPathComponent("till-paths-\(getpid()).db").path
        defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + end) } }
        // Without a key for Apple's server API, a receipt is granted by the order id beside it only if this is set.
        let requests = try await served(database, ["TILL_RECEIPTS_POLICY": "provisional"]) { port, server in
            try await self.requests(issuer, port, server)
        }
        guard only == nil else { return requests }
        // A second server on the same ledger delivers all events that the first one recorded.
        let receiver = CountingReceiver()
        let listener = try receiver.listen()
        let endpoint = """
            [{"id":"\(Self.receiver)","url":"http://127.0.0.1:\(listener.port)/events",\
            "secret":"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=","from":"2020-01-01T00:00:00Z"}]
            """
        let environment = ["TILL_WEBHOOKS_ENDPOINTS": endpoint, "TILL_WEBHOOKS_ALLOW_PRIVATE": "true"]
        let deliveries = try await served(database, environment) { _, server in
            try await receiver.delivered(3 * count, of: server)
        }
        await listener.stop(grace: 1)
        return requests + "\n" + deliveries
    }

    private func served(
        _ database: String, _ environment: [String: String] = [:], _ measure: (UInt16, Int32) async throws -> String
    ) async throws -> String {
        let server = try ServerProcess(till: till, set: set, database: database, environment: environment)
        do {
            let url = try server.listening()
            guard let port = url.split(separator: ":").last.flatMap({ UInt16($0) }) else {
                throw LoadError("no port in \(url)")
            }
            let lines = try await measure(port, server.id)
            try server.stop()
            return lines
        } catch {
            server.kill()
            throw error
        }
    }

    /// The numbers of one kind of purchase.
    private func numbers(_ kind: Int) -> Range<Int> { (kind * count)..<((kind + 1) * count) }

    /// One kind of request.
    private struct Kind {
        let name: String
        var isRight: @Sendable (Int) -> Bool = { $0 == 200 }
        /// Sends what the requests rest on, and returns them.
        let requests: () throws -> [[UInt8]]
    }

    /// What was sent already: kinds rest on earlier ones, and each is measured without them too.
    private final class Sent {
        private var steps: Set<String> = []
        func once(_ step: String, _ send: () throws -> Void) rethrows {
            if steps.insert(step).inserted { try send() }
        }
    }

    /// Opens orders, pays each in one of several ways, then reads and forges.
    private func requests(_ issuer: LoadIssuer, _ port: UInt16, _ server: Int32) async throws -> String {
        // The signer's chain is verified once.
        try sendAll([submission(try issuer.proof(9_999_999))], to: port) { $0 == 200 || $0 == 202 }
        // A receipt is granted by an order that was opened at most five minutes after the purchase.
        let receipts = try self.receipts(issuer)
        for kind in receipts { try open(kind.numbers, LoadSet.productID, port, of: LoadSet.user) }
        let kinds =
            try purchases(issuer, port) + notifications(issuer, port) + entitlements(issuer, port)
            + receipts.map { kind in Kind(name: kind.name) { kind.requests } }
        let measured = kinds.filter { kind in only.map { kind.name == $0 } ?? true }
        guard !measured.isEmpty else {
            throw LoadError("there are only the kinds \(kinds.map(\.name).joined(separator: ", "))")
        }
        return try measured.map { try line($0.name, $0.requests(), port, server, $0.isRight) }.joined(separator: "\n")
    }

    private func purchases(_ issuer: LoadIssuer, _ port: UInt16) throws -> [Kind] {
        let sent = Sent()
        let proofs = try numbers(0).map { try issuer.proof($0) }
        let orders = numbers(0).map { order($0, LoadSet.productID, of: LoadSet.user($0)) }
        let grants = proofs.map(submission)
        let forged = zip(proofs, proofs.dropFirst() + proofs.prefix(1)).map { proof, other in
            submission(
                proof.split(separator: ".").dropLast().joined(separator: ".") + "."
                    + (other.split(separator: ".").last ?? ""))
        }
        func sendOrders() throws {
            try sent.once("orders") { try sendAll(orders, to: port, connections: 32) { $0 == 201 } }
        }
        func sendGrants() throws {
            try sendOrders()
            try sent.once("grants") { try sendAll(grants, to: port, connections: 32) { $0 == 200 } }
        }
        return [
            Kind(name: "order", isRight: { $0 == 201 }) {
                sent.once("orders") {}
                return orders
            },
            Kind(name: "grant") {
                try sendOrders()
                sent.once("grants") {}
                return grants
            },
            Kind(name: "repeated grant") {
                try sendGrants()
                return grants
            },
            Kind(name: "refused forgery", isRight: { $0 == 400 || $0 == 422 }) { forged },
            Kind(name: "wallet") {
                try sendGrants()
                return (0..<count).map { read("wallet", LoadSet.user($0)) }
            },
        ]
    }

    private func notifications(_ issuer: LoadIssuer, _ port: UInt16) -> [Kind] {
        let paid = Kind(name: "notification with two tokens") {
            try open(numbers(1), LoadSet.productID, port, of: LoadSet.user)
            return try numbers(1).map { notification(try issuer.notification($0, about: issuer.proof($0))) }
        }
        let kinds: [(String, Int, (Int) -> String)] = [
            ("notification with three tokens", 2, Self.newUser),
            ("notification with three tokens, twenty subscriptions", 3, LoadSet.user),
        ]
        return [paid] + kinds.map { name, kind, user in Kind(name: name) { try begun(kind, issuer, port, of: user) } }
    }

    /// Notifications of subscriptions that begin, whose orders it opens.
    private func begun(
        _ kind: Int, _ issuer: LoadIssuer, _ port: UInt16, of user: (Int) -> String
    ) throws -> [[UInt8]] {
        try open(numbers(kind), LoadSet.monthlyID, port, of: user)
        return try numbers(kind).map { notification(try issuer.subscriptionNotification($0)) }
    }

    /// A customer with one subscription.
    private static func newUser(_ number: Int) -> String { "new-\(number)" }

    /// Reads what customers have with one purchase, with three, with many subscriptions, and with many orders.
    private func entitlements(_ issuer: LoadIssuer, _ port: UInt16) -> [Kind] {
        let sent = Sent()
        let newUsers = numbers(2).map(Self.newUser)
        let reads = newUsers.map { read("entitlements", $0) }
        func subscribe(_ kind: Int, _ user: (Int) -> String) throws {
            guard only != nil else { return }
            try sent.once("subscriptions \(kind)") {
                try sendAll(begun(kind, issuer, port, of: user), to: port, connections: 32) { $0 == 200 }
            }
        }
        return [
            Kind(name: "entitlements of one purchase") {
                try subscribe(2, Self.newUser)
                return reads
            },
            Kind(name: "entitlements of three purchases") {
                try subscribe(2, Self.newUser)
                for kind in [4, 5] {
                    try open(numbers(kind), LoadSet.productID, port, of: { newUsers[$0 % count] })
                    let proofs = try numbers(kind).map { submission(try issuer.proof($0)) }
                    try sendAll(proofs, to: port, connections: 32) { $0 == 200 }
                }
                return reads
            },
            Kind(name: "entitlements of twenty subscriptions") {
                try subscribe(3, LoadSet.user)
                return (0..<count).map { read("entitlements", LoadSet.user($0)) }
            },
            Kind(name: "entitlements of many orders") {
                try CustomersWithOrders.many.send(issuer, to: port)
                return (0..<count).map { read("entitlements", CustomersWithOrders.many.user($0)) }
            },
        ]
    }

    private struct ReceiptRequests {
        let name: String
        let numbers: Range<Int>
        let requests: [[UInt8]]
    }

    /// Receipts of one purchase each, and one receipt of a thousand purchases that is posted for several of them.
    private func receipts(_ issuer: LoadIssuer) throws -> [ReceiptRequests] {
        let (one, many) = (numbers(6).prefix((count + 3) / 4), numbers(7).prefix(min(1_000, (count + 99) / 100)))
        let long = Base64.encode(try issuer.receipt(many.lowerBound..<(many.lowerBound + 1_000)))
        return [
            ReceiptRequests(
                name: "receipt of one purchase", numbers: one,
                requests: try one.map { submission(Base64.encode(try issuer.receipt($0..<($0 + 1))), of: $0) }),
            ReceiptRequests(
                name: "receipt of 1,000 purchases", numbers: many, requests: many.map { submission(long, of: $0) }),
        ]
    }

    private func open(_ numbers: Range<Int>, _ product: String, _ port: UInt16, of user: (Int) -> String) throws {
        try sendAll(numbers.map { order($0, product, of: user($0)) }, to: port) { $0 == 201 }
    }

    private func line(
        _ name: String, _ requests: [[UInt8]], _ port: UInt16, _ server: Int32,
        _ isRight: @escaping @Sendable (Int) -> Bool
    ) throws -> String {
        let profile = try Profile(of: server)
        let before = try ProcessFigures(of: server).processorSeconds
        do {
            try sendAll(requests, to: port, connections: 32, isRight)
        } catch {
            throw LoadError("\(name): \(error)")
        }
        try profile?.end()
        let spent = try ProcessFigures(of: server).processorSeconds - before
        return "\(name): " + String(format: "%.1f", spent * 1_000_000 / Double(requests.count))
    }

    private func order(_ number: Int, _ product: String, of user: String) -> [UInt8] {
        LoadSet.opening(number, product, of: user)
    }

    private func submission(_ receipt: String, of number: Int) -> [UInt8] {
        let body = """
            {"receipt":"\(receipt)","transactionId":"\(LoadIssuer.transactionID(number))",\
            "productId":"\(LoadSet.productID)","orderId":"\(LoadSet.order(number))"}
            """
        return RawClient.request("/v1/transactions", body: Array(body.utf8), key: LoadSet.secretKey)
    }

    private func submission(_ proof: String) -> [UInt8] { LoadSet.submission(proof) }

    private func notification(_ payload: String) -> [UInt8] {
        RawClient.request("/v1/notifications/apple", body: Array(#"{"signedPayload":"\#(payload)"}"#.utf8))
    }

    private func read(_ what: String, _ user: String) -> [UInt8] {
        RawClient.get("/v1/users/\(user)/\(what)", key: LoadSet.secretKey)
    }
}

/// A receiver of webhooks that only counts them.
private final class CountingReceiver: Sendable {
    private let clock = ContinuousClock()
    private let state = Locked((count: 0, first: ContinuousClock.Instant?.none, last: ContinuousClock.Instant?.none))

    func listen() throws -> Listener {
        var configuration = ListenerConfiguration()
        configuration.address = "127.0.0.1"
        configuration.port = 0
        return try Listener(configuration: configuration, bodyLimit: { _, _ in 1 << 20 }) { [self] _ in
            let now = clock.now
            state.withLock { state in
                state.count += 1
                state.first = state.first ?? now
                state.last = now
            }
            return HTTPResponse(status: 204)
        }
    }

    /// Waits for so many deliveries.
    func delivered(_ wanted: Int, of server: Int32) async throws -> String {
        let deadline = clock.now + .seconds(120)
        let before = try ProcessFigures(of: server).processorSeconds
        while state.withLock({ $0.count }) < wanted {
            guard clock.now < deadline else {
                throw LoadError("\(state.withLock { $0.count }) of \(wanted) events were delivered in two minutes")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        let spent = try ProcessFigures(of: server).processorSeconds - before
        let (count, first, last) = state.withLock { $0 }
        guard let first, let last, last > first else { throw LoadError("no time between the deliveries") }
        return String(
            format: "deliveries a second: %.0f\ndelivery: %.1f", Double(count) / ((last - first) / .seconds(1)),
            spent * 1_000_000 / Double(count))
    }
}
