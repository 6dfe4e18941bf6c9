import Foundation
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
        let requests = try await served(database) { port, server in
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

    /// Opens orders, pays each in one of three ways, then reads and forges.
    private func requests(_ issuer: LoadIssuer, _ port: UInt16, _ server: Int32) async throws -> String {
        // The signer's chain is verified once.
        try sendAll([submission(try issuer.proof(9_999_999))], to: port) { $0 == 200 || $0 == 202 }
        let proofs = try (0..<count).map { try issuer.proof($0) }
        let orders = (0..<count).map { order($0, LoadSet.productID) }
        let notifications = try (count..<(2 * count)).map {
            notification(try issuer.notification($0, about: issuer.proof($0)))
        }
        let subscriptions = try ((2 * count)..<(3 * count)).map {
            notification(try issuer.subscriptionNotification($0))
        }
        let forged = zip(proofs, proofs.dropFirst() + proofs.prefix(1)).map { proof, other in
            submission(
                proof.split(separator: ".").dropLast().joined(separator: ".") + "."
                    + (other.split(separator: ".").last ?? ""))
        }
        let wallets = (0..<count).map { read("wallet", $0) }
        let entitlements = (0..<count).map { read("entitlements", $0) }
        let kinds: [(String, [[UInt8]], @Sendable (Int) -> Bool)] = [
            ("order", orders, { $0 == 201 }),
            ("grant", proofs.map(submission), { $0 == 200 }),
            ("repeated grant", proofs.map(submission), { $0 == 200 }),
            ("refused forgery", forged, { $0 == 400 || $0 == 422 }),
            ("wallet", wallets, { $0 == 200 }),
            ("entitlements", entitlements, { $0 == 200 }),
        ]
        var lines: [String] = []
        for (name, requests, isRight) in kinds { lines.append(try line(name, requests, port, server, isRight)) }
        for (name, requests, product) in [
            ("notification with two tokens", notifications, LoadSet.productID),
            ("notification with three tokens", subscriptions, LoadSet.monthlyID),
        ] {
            let first = product == LoadSet.productID ? count : 2 * count
            try sendAll((first..<(first + count)).map { order($0, product) }, to: port) { $0 == 201 }
            lines.append(try line(name, requests, port, server) { $0 == 200 })
        }
        return lines.joined(separator: "\n")
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

    private func order(_ number: Int, _ product: String) -> [UInt8] {
        let body = #"{"id":"\#(LoadSet.order(number))","userId":"\#(LoadSet.user(number))","productId":"\#(product)"}"#
        return RawClient.request("/v1/orders", body: Array(body.utf8), key: LoadSet.secretKey)
    }

    private func submission(_ proof: String) -> [UInt8] {
        RawClient.request(
            "/v1/transactions", body: Array(#"{"signedTransaction":"\#(proof)"}"#.utf8), key: LoadSet.secretKey)
    }

    private func notification(_ payload: String) -> [UInt8] {
        RawClient.request("/v1/notifications/apple", body: Array(#"{"signedPayload":"\#(payload)"}"#.utf8))
    }

    private func read(_ what: String, _ number: Int) -> [UInt8] {
        RawClient.get("/v1/users/\(LoadSet.user(number))/\(what)", key: LoadSet.secretKey)
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
