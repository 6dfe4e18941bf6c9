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

    /// Opens orders, pays each in one of several ways, then reads and forges.
    private func requests(_ issuer: LoadIssuer, _ port: UInt16, _ server: Int32) async throws -> String {
        // The signer's chain is verified once.
        try sendAll([submission(try issuer.proof(9_999_999))], to: port) { $0 == 200 || $0 == 202 }
        // A receipt is granted by an order that was opened at most five minutes after the purchase.
        let receipts = try self.receipts(issuer)
        for kind in receipts { try open(kind.numbers, LoadSet.productID, port, of: LoadSet.user) }
        let proofs = try numbers(0).map { try issuer.proof($0) }
        let orders = numbers(0).map { order($0, LoadSet.productID, of: LoadSet.user($0)) }
        let forged = zip(proofs, proofs.dropFirst() + proofs.prefix(1)).map { proof, other in
            submission(
                proof.split(separator: ".").dropLast().joined(separator: ".") + "."
                    + (other.split(separator: ".").last ?? ""))
        }
        let kinds: [(String, [[UInt8]], @Sendable (Int) -> Bool)] = [
            ("order", orders, { $0 == 201 }),
            ("grant", proofs.map(submission), { $0 == 200 }),
            ("repeated grant", proofs.map(submission), { $0 == 200 }),
            ("refused forgery", forged, { $0 == 400 || $0 == 422 }),
            ("wallet", (0..<count).map { read("wallet", LoadSet.user($0)) }, { $0 == 200 }),
        ]
        var lines: [String] = []
        for (name, requests, isRight) in kinds { lines.append(try line(name, requests, port, server, isRight)) }
        try open(numbers(1), LoadSet.productID, port, of: LoadSet.user)
        let paid = try numbers(1).map { notification(try issuer.notification($0, about: issuer.proof($0))) }
        lines.append(try line("notification with two tokens", paid, port, server) { $0 == 200 })
        for (name, kind, user) in [
            ("notification with three tokens", 2, Self.newUser),
            ("notification with three tokens, twenty subscriptions", 3, LoadSet.user),
        ] as [(String, Int, (Int) -> String)] {
            try open(numbers(kind), LoadSet.monthlyID, port, of: user)
            let begun = try numbers(kind).map { notification(try issuer.subscriptionNotification($0)) }
            lines.append(try line(name, begun, port, server) { $0 == 200 })
        }
        lines += try entitlements(issuer, port, server)
        for kind in receipts { lines.append(try line(kind.name, kind.requests, port, server) { $0 == 200 }) }
        return lines.joined(separator: "\n")
    }

    /// A customer with one subscription.
    private static func newUser(_ number: Int) -> String { "new-\(number)" }

    /// Reads the entitlements of customers with one purchase, with three, and with many.
    private func entitlements(_ issuer: LoadIssuer, _ port: UInt16, _ server: Int32) throws -> [String] {
        let newUsers = numbers(2).map(Self.newUser)
        let reads = newUsers.map { read("entitlements", $0) }
        var lines = [try line("entitlements of one purchase", reads, port, server) { $0 == 200 }]
        for kind in [4, 5] {
            try open(numbers(kind), LoadSet.productID, port, of: { newUsers[$0 % count] })
            let proofs = try numbers(kind).map { submission(try issuer.proof($0)) }
            try sendAll(proofs, to: port, connections: 32) { $0 == 200 }
        }
        lines.append(try line("entitlements of three purchases", reads, port, server) { $0 == 200 })
        let many = (0..<count).map { read("entitlements", LoadSet.user($0)) }
        lines.append(try line("entitlements of twenty subscriptions", many, port, server) { $0 == 200 })
        return lines
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
        let before = try ProcessFigures(of: server).processorSeconds
        do {
            try sendAll(requests, to: port, connections: 32, isRight)
        } catch {
            throw LoadError("\(name): \(error)")
        }
        let spent = try ProcessFigures(of: server).processorSeconds - before
        return "\(name): " + String(format: "%.1f", spent * 1_000_000 / Double(requests.count))
    }

    private func order(_ number: Int, _ product: String, of user: String) -> [UInt8] {
        let body = #"{"id":"\#(LoadSet.order(number))","userId":"\#(user)","productId":"\#(product)"}"#
        return RawClient.request("/v1/orders", body: Array(body.utf8), key: LoadSet.secretKey)
    }

    private func submission(_ receipt: String, of number: Int) -> [UInt8] {
        let body = """
            {"receipt":"\(receipt)","transactionId":"\(LoadIssuer.transactionID(number))",\
            "productId":"\(LoadSet.productID)","orderId":"\(LoadSet.order(number))"}
            """
        return RawClient.request("/v1/transactions", body: Array(body.utf8), key: LoadSet.secretKey)
    }

    private func submission(_ proof: String) -> [UInt8] {
        RawClient.request(
            "/v1/transactions", body: Array(#"{"signedTransaction":"\#(proof)"}"#.utf8), key: LoadSet.secretKey)
    }

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
