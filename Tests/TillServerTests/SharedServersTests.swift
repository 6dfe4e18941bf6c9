import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillThreads

@testable import TillServer

@Suite("Several servers on one ledger: what a proxy may send to any of them")
struct SharedServersTests {
    /// Two servers on the dashboard server's ledger, with one configuration.
    private func pair(_ dashboard: DashboardServer) throws -> [Server] {
        try (0..<2).map { _ in
            try Server(
                configuration: dashboard.server.configuration, database: SharedLedger(dashboard.ledger),
                clock: { dashboard.time.now }, entropy: RandomBytes.make)
        }
    }

    // MARK: Sessions of operators

    @Test("A session that begins on one server is valid on the other, and a logout ends it on both")
    func sessions() async throws {
        try await DashboardServer.open { dashboard in
            let servers = try pair(dashboard)
            let visitor = DashboardBrowser(dashboard)
            dashboard.turn(to: servers[0])
            let form = try await visitor.get("/dashboard/login").formToken
            // The form of one server is accepted by the other.
            dashboard.turn(to: servers[1])
            let login = ["form": form, "token": DashboardServer.operatorToken]
            let origin = ["Origin": "http://\(DashboardServer.host)"]
            #expect(try await visitor.post("/dashboard/login", login, origin).status == 303)
            for server in servers + servers {
                dashboard.turn(to: server)
                #expect(try await visitor.get("/dashboard").status == 200)
            }
            let kept = try #require(visitor.cookies["till_session"])
            dashboard.turn(to: servers[0])
            let logout = try await visitor.get("/dashboard").formToken
            #expect(try await visitor.post("/dashboard/logout", ["form": logout], origin).status == 303)
            visitor.cookies["till_session"] = kept
            for server in servers {
                dashboard.turn(to: server)
                #expect(try await visitor.get("/dashboard").status == 303, "the old cookie opens nothing")
            }
            #expect(try await visitor.logIn().status == 303, "a new login is a new session")
            dashboard.turn(to: servers[0])
            #expect(try await visitor.get("/dashboard").status == 200)
            dashboard.time.advance(seconds: OperatorSessions.lifetimeSeconds)
            #expect(try await visitor.get("/dashboard").status == 303)
        }
    }

    @Test("A session ends with its operator's token, and a cookie that was changed is none")
    func forged() async throws {
        let (now, secret) = (Instant(seconds: 1_790_000_000), [UInt8](repeating: 7, count: 32))
        func key(_ id: String, _ byte: UInt8) -> SecretKey {
            SecretKey(id: id, sha256: [UInt8](repeating: byte, count: 32))
        }
        let (sessions, other) = (SharedSessions(), SharedSessions())
        #expect(sessions.begin(for: key("anna", 1), now: now, entropy: RandomBytes.make) == nil, "no secret yet")
        sessions.prepare(secret)
        other.prepare([UInt8](repeating: 8, count: 32))
        let cookie = try #require(sessions.begin(for: key("anna", 1), now: now, entropy: RandomBytes.make))
        let found = try #require(sessions.find(cookie, now: now, among: [key("bo", 2), key("anna", 1)]))
        #expect(found.operatorID == "anna" && found.formToken?.isEmpty == false)
        #expect(sessions.find(cookie, now: now, among: [key("anna", 2)]) == nil, "another token of this name")
        #expect(sessions.find(cookie, now: now, among: []) == nil, "a token that was removed")
        #expect(other.find(cookie, now: now, among: [key("anna", 1)]) == nil, "the secret of another ledger")
        for index in cookie.utf8.indices {
            var changed = Array(cookie.utf8)
            let offset = cookie.utf8.distance(from: cookie.utf8.startIndex, to: index)
            changed[offset] = changed[offset] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let text = String(decoding: changed, as: UTF8.self)
            // The last digit of a code has bits that mean nothing.
            guard text != cookie, offset != cookie.utf8.count - 1 else { continue }
            #expect(sessions.find(text, now: now, among: [key("anna", 1), key("Anna", 1)]) == nil, "\(offset)")
        }
    }

    // MARK: Idempotency keys

    private func order(_ key: String) -> HTTPRequest {
        var request = HTTPRequest(method: .post, path: "/v1/orders")
        request.headers.add("Authorization", "Bearer \(DashboardServer.secretKey)")
        request.headers.add("Idempotency-Key", key)
        let body: JSONValue = ["userId": "u", "productId": .string(DashboardServer.points60), "quantity": .int(1)]
        request.body = Array(body.encoded().utf8)
        return request
    }

    @Test("An answer of one server is repeated by the other")
    func answers() async throws {
        try await DashboardServer.open { dashboard in
            let servers = try pair(dashboard)
            let first = await servers[0].respond(to: order("k1"))
            let second = await servers[1].respond(to: order("k1"))
            #expect(first.status == 201 && second.status == 201 && first.body == second.body)
            #expect(second.headers["Idempotency-Replayed"] == "true")
            let rows = try await dashboard.ledger.read { connection in
                try connection.query("SELECT status, lease_until FROM idempotency_keys", []) {
                    ($0.optionalInteger("status"), $0.optionalInteger("lease_until"))
                }
            }
            #expect(rows.count == 1 && rows[0].0 == 201 && rows[0].1 == nil)
        }
    }

    @Test("A key that another server is working on is refused for a moment; the mark of a server that died ends")
    func inFlight() async throws {
        try await DashboardServer.open { dashboard in
            let servers = try pair(dashboard)
            #expect(await servers[0].respond(to: order("k2")).status == 201)
            // As if the first server had died in the middle of it.
            let until = dashboard.time.now.adding(milliseconds: Idempotency.markLength)
            _ = try await dashboard.ledger.write { connection in
                try connection.execute(
                    "UPDATE idempotency_keys SET status = NULL, body = NULL, lease_until = ?1",
                    [.integer(until.milliseconds)])
            }
            let refused = await servers[1].respond(to: order("k2"))
            #expect(refused.status == 409 && refused.headers["Retry-After"] != nil)
            #expect(try JSONValue(decoding: refused.body)["code"] == "idempotency_in_flight")
            dashboard.time.advance(seconds: Idempotency.markLength / 1_000 + 1)
            let again = await servers[1].respond(to: order("k2"))
            #expect(again.status == 201 || again.status == 200, "\(again.status)")
        }
    }

    @Test("A request whose answer is not kept leaves no mark")
    func givenUp() async throws {
        try await DashboardServer.open { dashboard in
            let servers = try pair(dashboard)
            var request = order("k3")
            request.body = Array("{}".utf8)
            let first = await servers[0].respond(to: request)
            #expect(first.status == 400 || first.status == 422)
            let marks = try await dashboard.ledger.read { connection in
                try connection.first(
                    "SELECT count(*) AS count FROM idempotency_keys WHERE status IS NULL", []
                ) { $0.integer("count") }
            }
            #expect(marks == 0)
        }
    }
}
