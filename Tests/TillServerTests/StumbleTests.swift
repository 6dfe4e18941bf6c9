import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillThreads

@testable import TillServer

@Suite("What a stranger stumbled over (issue 20)")
struct StumbleTests {
    private func send(
        _ server: Server, _ method: HTTPMethod, _ path: String, _ body: String = "", language: String = "en"
    ) async -> HTTPResponse {
        var request = HTTPRequest(method: method, path: path, body: Array(body.utf8))
        request.headers.add("Authorization", "Bearer \(DashboardServer.secretKey)")
        request.headers.add("Accept-Language", language)
        return await server.respond(to: request)
    }

    @Test("A body that is not JSON is refused with the line and the column of the mistake, in both languages")
    func mistakes() async throws {
        try await DashboardServer.open { world in
            let body = "{\"userId\": \"ann\",\n \"productId\": }"
            let english = try JSONValue(decoding: await send(world.server, .post, "/v1/orders", body).body)
            #expect(english["code"] == "malformed_json" && english["detail"] == "is not valid JSON (line 2, column 15)")
            let answer = await send(world.server, .post, "/v1/transactions", body, language: "zh")
            #expect(try JSONValue(decoding: answer.body)["detail"] == "不是合法的 JSON（第 2 行第 15 列）")
        }
    }

    @Test("The members of every answer are sorted, so that equal answers are equal texts")
    func order() async throws {
        try await DashboardServer.open { world in
            let opened = await send(
                world.server, .post, "/v1/orders", #"{"userId": "ann", "productId": "\#(DashboardServer.points60)"}"#)
            let id = try #require(try JSONValue(decoding: opened.body)["id"]?.string)
            for path in [
                "/v1/orders/\(id)", "/v1/users/ann/orders", "/v1/users/ann/wallet", "/v1/products", "/openapi.json",
                "/v1/users/ann/entitlements", "/v1/users/ann/subscriptions", "/v1/users/ann/claims", "/healthz",
                "/v1/finance/calendar", "/v1/users/ann/wallet/postings", "/v1/webhooks", "/v1/orders/unknown",
            ] {
                let answer = await send(world.server, .get, path)
                // `JSONValue` writes members in the order of their names.
                let sorted = try JSONValue(decoding: answer.body)
                let names = try memberNames(String(decoding: answer.body, as: UTF8.self))
                #expect(names == (try memberNames(sorted.encoded())), "\(path)")
            }
        }
    }

    /// The names of all members, in the order of the text.
    private func memberNames(_ text: String) throws -> [Substring] {
        text.matches(of: #/"((?:[^"\\]|\\.)*)" ?:/#).map(\.1)
    }

    @Test("An English shop is enough, further languages are offered by Accept-Language, and answers vary by it")
    func names() async throws {
        let names = ["en": "60 points", "fr": "60 points de fidélité"]
        try await DashboardServer.open {
            $0.catalog = Catalog(products: [
                CatalogProduct(
                    id: ProductID("p"), type: .consumable, names: ProductNames(names),
                    price: Money(amount: 600, currency: Currency("USD")), points: ["points": 60])
            ])
        } _: { world in
            let french = await send(world.server, .get, "/v1/products", language: "fr-CA, en;q=0.5")
            let product = try JSONValue(decoding: french.body)["data"]?.array?.first
            #expect(product?["name"] == "60 points de fidélité" && product?["names"]?["en"] == "60 points")
            #expect(product?["names"]?["fr"] == "60 points de fidélité" && product?["names"]?["zh"] == "60 points")
            #expect(french.headers["Vary"] == "Accept-Language")
            let chinese = await send(world.server, .get, "/v1/products", language: "zh")
            #expect(try JSONValue(decoding: chinese.body)["data"]?.array?.first?["name"] == "60 points")
            #expect(french.headers["ETag"] != chinese.headers["ETag"])
        }
    }

    @Test("A forged notification is listed as posted by an unknown sender, not as Apple's")
    func forgedNotification() async throws {
        try await DashboardServer.open { world in
            let payload = "eyJhbGciOiJFUzI1NiJ9.eyJub3RpZmljYXRpb25UeXBlIjoiVEVTVCJ9.AAAA"
            let refused = await send(
                world.server, .post, "/v1/notifications/apple", #"{"signedPayload": "\#(payload)"}"#)
            #expect(refused.status == 422 || refused.status == 400)
            let page = try await DashboardBrowser.loggedIn(world).get("/dashboard/refusals").text
            #expect(page.contains("Posted as a notification by an unknown sender"))
            #expect(!page.contains("Apple's notification") && !page.contains(", by "))
        }
    }

    @Test("Limits, logins and user tokens follow the machine's clock, orders the store's")
    func clocks() async throws {
        try await DashboardServer.open { world in
            let machine = world.time.now
            let store = Locked(machine.adding(seconds: 40 * 86_400))
            let server = try Server(
                configuration: world.server.configuration, database: world.ledger, clock: { store.withLock { $0 } },
                machineClock: { machine }, entropy: RandomBytes.make)
            let opened = await send(
                server, .post, "/v1/orders", #"{"userId": "ann", "productId": "\#(DashboardServer.points60)"}"#)
            let createdAt = store.withLock { $0.rfc3339 }
            #expect(try JSONValue(decoding: opened.body)["createdAt"] == .string(createdAt))
            let claims: JSONValue = ["sub": "ann", "exp": .int(machine.seconds + 60)]
            let message = [#"{"alg":"HS256"}"#, claims.encoded()].map { Base64.encode(Array($0.utf8), .url) }
                .joined(separator: ".")
            let code = HMACSHA256.code(for: message.utf8, key: DashboardServer.userSecret)
            var request = HTTPRequest(method: .get, path: "/v1/users/ann/wallet")
            request.headers.add("Authorization", "Bearer \(message).\(Base64.encode(code, .url))")
            #expect(await server.respond(to: request).status == 200, "the token is valid on this machine")
            func attempt() -> Refusal? {
                do {
                    _ = try server.operators.key(token: "wrong", from: HTTPRequest(method: .post, path: "/"))
                    return nil
                } catch {
                    return (error as? RefusalError)?.refusal
                }
            }
            for _ in 0..<10 { #expect(attempt() == .unauthorized) }
            store.withLock { $0 = $0.adding(seconds: 365 * 86_400) }
            #expect(attempt() == .tooManyRequests, "a year at the store is no time for a throttle")
        }
    }
}
