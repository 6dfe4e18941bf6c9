import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger
import TillServer

@Suite("Unauthenticated posts take nothing from users and operators", .serialized) struct EvidenceJourneys {
    private static let operatorToken = "op_0123456789abcdef"

    private static func withOperator(_ configuration: inout ServerConfiguration) {
        configuration.operators = [SecretKey(id: "anna", sha256: Digest.sha256.hash(operatorToken.utf8))]
    }

    @Test("Anonymous posts of 25 bytes displace no record of a fraud from the evidence (10,400 posts)")
    func refusals() async throws {
        try await Shop.open(.socket) { shop in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            let altered = String(payment.signed.dropLast(6)) + "AAAAAA"
            #expect(try await shop.submit(altered, as: .user("eve"), orderID: order).status == 422)
            try await shop.ledger.write { connection in
                let table = RefusedProofTable(connection)
                for number in 0..<10_000 {
                    try table.insert(
                        .init(
                            at: Instant(seconds: 1_790_000_000), source: "notification", caller: "apple",
                            claimedOrder: nil, code: "malformed", detail: "",
                            digest: Digest.sha256.hash("\(number)".utf8)))
                }
            }
            for number in 0..<400 {
                let reply = try await shop.send(
                    .post, "/v1/notifications/apple", ["signedPayload": .string("\(number)")], as: .anonymous)
                #expect(reply.status == 422)
            }
            let stored = try await shop.ledger.read { connection in
                let table = RefusedProofTable(connection)
                return (try table.list(claiming: order, limit: 9), try table.anonymous(limit: 20_000).count)
            }
            #expect(stored.0.map(\.caller) == ["user:eve"])
            #expect(stored.0.first?.record != nil)
            #expect(stored.1 == Int(RefusedProofTable.Quota.anonymous.rows))
        }
    }

    @Test("The same forged notification posted many times is one row with a count")
    func repeated() async throws {
        try await Shop.open(.socket) { shop in
            for _ in 0..<30 {
                _ = try await shop.send(
                    .post, "/v1/notifications/apple", ["signedPayload": "a.b.c"], as: .anonymous)
            }
            let entries = try await shop.ledger.read { try RefusedProofTable($0).anonymous(limit: 100) }
            #expect(entries.map(\.count) == [30])
        }
    }

    @Test("Wrong bearer tokens from the same address lock out neither the operator nor the metrics")
    func lockOut() async throws {
        try await Shop.open(.socket, change: Self.withOperator) { shop in
            var wrong: [Int] = []
            for _ in 0..<15 { wrong.append(try await shop.status(.get, "/metrics", as: .bearer("op_wrong"))) }
            #expect(wrong == [Int](repeating: 401, count: 10) + [Int](repeating: 429, count: 5))
            for page in ["/metrics", "/dashboard", "/dashboard/refusals"] {
                #expect(try await shop.status(.get, page, as: .bearer("op_wrong")) == 429)
                #expect(try await shop.status(.get, page, as: .bearer(Self.operatorToken)) == 200)
            }
        }
    }

    @Test("Behind a trusted proxy each client is counted separately, and no client can forge another address")
    func proxy() async throws {
        var proxies = ListenerConfiguration()
        proxies.trustedProxies = TrustedProxies([try #require(AddressBlock("127.0.0.1"))])
        try await Shop.open(change: Self.withOperator) { shop in
            let router = shop.server.router
            let listener = try Listener(
                configuration: proxies, bodyLimit: router.bodyLimit(method:path:), handler: router.respond(to:))
            let fetch = try Fetch(configuration: FetchConfiguration())
            func status(_ forwarded: String) async throws -> Int {
                let request = HTTPRequest(
                    method: .get, path: "/metrics",
                    headers: HTTPHeaders([
                        ("Authorization", "Bearer op_wrong"), ("X-Forwarded-For", forwarded),
                    ]))
                return try await fetch.send("http://127.0.0.1:\(listener.port)/metrics", request).status
            }
            var seen: [Int] = []
            for number in 0..<12 { seen.append(try await status("198.51.100.\(number), 8.8.8.8")) }
            #expect(seen == [Int](repeating: 401, count: 10) + [429, 429])
            #expect(try await status("8.8.8.8, 1.1.1.1") == 401)
            fetch.stop()
            await listener.stop(grace: 1)
        }
    }
}
