import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillServer

@Suite("Limits on the requests of a user, a key and an address (R8)") struct RequestLimitJourneys {
    private static let operatorToken = "op_limits_0123456789abcdef"

    private static func small(_ configuration: inout ServerConfiguration) {
        configuration.limits.user = RequestLimits.Rate(perSecond: 1, burst: 5)
        configuration.limits.key = RequestLimits.Rate(perSecond: 2, burst: 10)
        configuration.limits.address = RequestLimits.Rate(perSecond: 1, burst: 4)
        configuration.operators = [SecretKey(id: "anna", sha256: Digest.sha256.hash(operatorToken.utf8))]
    }

    private static func wallet(_ shop: Shop, of user: String, as party: Party) async throws -> Reply {
        try await shop.send(.get, "/v1/users/\(user)/wallet", as: party)
    }

    private static func products(_ shop: Shop, for client: String) async throws -> Int {
        try await shop.deliver(HTTPRequest(method: .get, path: "/v1/products", client: client)).status
    }

    private static func expectLimited(_ reply: Reply, seconds: String) {
        #expect(reply.status == 429 && reply.code == "too_many_requests" && reply["retryable"] == true)
        #expect(reply.headers["Retry-After"] == seconds)
        #expect(reply.headers["Content-Type"] == "application/problem+json")
    }

    @Test("A user's flood is refused with the seconds to wait; another user still buys (R8)", arguments: Reach.allCases)
    func user(_ reach: Reach) async throws {
        try await Shop.open(reach, change: Self.small) { shop in
            for _ in 0..<5 { #expect(try await Self.wallet(shop, of: "eve", as: .user("eve")).status == 200) }
            Self.expectLimited(try await Self.wallet(shop, of: "eve", as: .user("eve")), seconds: "1")
            let order = try await shop.openOrder(as: "ann")
            let bought = try await shop.submit(try await shop.pay(token: order).signed, as: .user("ann"))
            #expect(bought["outcome"].text == "granted")
            shop.time.advance(seconds: 1)
            #expect(try await Self.wallet(shop, of: "eve", as: .user("eve")).status == 200)
            Self.expectLimited(try await Self.wallet(shop, of: "eve", as: .user("eve")), seconds: "1")
        }
    }

    @Test("A key's flood leaves users alone; what was refused succeeds after the stated seconds (R8)")
    func key() async throws {
        try await Shop.open(.socket, change: Self.small) { shop in
            let body: JSONValue = ["userId": "ann", "productId": .string(Shop.points60)]
            for number in 0..<10 {
                let reply = try await shop.send(.post, "/v1/orders", body, headers: [("Idempotency-Key", "\(number)")])
                #expect(reply.status == 201)
            }
            let refused = try await shop.send(.post, "/v1/orders", body, headers: [("Idempotency-Key", "x")])
            Self.expectLimited(refused, seconds: "1")
            #expect(try await Self.wallet(shop, of: "ann", as: .user("ann")).status == 200)
            shop.time.advance(seconds: 1)
            let again = try await shop.send(.post, "/v1/orders", body, headers: [("Idempotency-Key", "x")])
            #expect(again.status == 201 && again.headers["Idempotency-Replayed"] == nil)
        }
    }

    @Test("Wrong credentials use up their address; keys, operators and valid tokens from there still pass (V7)")
    func address() async throws {
        try await Shop.open(change: Self.small) { shop in
            func ask(_ authorization: String?, _ client: String, _ path: String = "/v1/users/ann/wallet") async throws
                -> Reply
            {
                var request = shop.made(.get, path, nil, as: .anonymous)
                request.client = client
                if let authorization { request.headers.add("Authorization", authorization) }
                return try await Reply(shop.deliver(request))
            }
            let (crowd, elsewhere) = ("198.51.100.7", "203.0.113.9")
            let ann = try #require(Party.user("ann").authorization(now: shop.time.now))
            for _ in 0..<30 { #expect(try await ask(ann, crowd, "/v1/users/ann/orders").status != 401) }
            shop.time.advance(seconds: 60)
            let forged = "Bearer \(ann.dropFirst(7).dropLast(4))AAAA"
            for _ in 0..<4 { #expect(try await ask(forged, crowd).status == 401) }
            Self.expectLimited(try await ask(forged, crowd), seconds: "1")
            Self.expectLimited(try await ask("Bearer sk_wrong", crowd), seconds: "1")
            Self.expectLimited(try await ask(nil, crowd), seconds: "1")
            Self.expectLimited(try await ask(nil, crowd, "/v1/products"), seconds: "1")
            Self.expectLimited(try await ask(nil, crowd, "/v1/nowhere"), seconds: "1")
            #expect(try await ask(forged, elsewhere).status == 401)
            // What is right passes, so that no flood from a shared address locks a customer out.
            #expect(try await ask(ann, crowd).status == 200)
            #expect(try await ask("Bearer \(Shop.secretKey)", crowd).status == 200)
            for path in ["/healthz", "/readyz"] { #expect(try await ask(nil, crowd, path).status == 200) }
            var request = HTTPRequest(method: .get, path: "/metrics", client: crowd)
            request.headers.add("Authorization", "Bearer \(Self.operatorToken)")
            #expect(try await shop.deliver(request).status == 200)
            shop.time.advance(seconds: 2)
            for _ in 0..<2 { #expect(try await ask(forged, crowd).status == 401) }
            #expect(try await ask(forged, crowd).status == 429)
        }
    }

    @Test("Addresses of one IPv6 /64 count together, because one client has all of them")
    func network() async throws {
        try await Shop.open(change: Self.small) { shop in
            for number in 1...4 { #expect(try await Self.products(shop, for: "2001:db8:0:7::\(number)") == 200) }
            let neighbour = try await Self.products(shop, for: "2001:db8:0:7:ffff::1")
            #expect(neighbour == 429)
            #expect(try await Self.products(shop, for: "2001:db8:0:8::1") == 200)
            #expect(try await Self.products(shop, for: "192.0.2.1") == 200)
        }
    }

    @Test("Apple's notifications are not refused for their address, whatever else comes from it")
    func notifications() async throws {
        try await Shop.open(.socket, change: Self.small) { shop in
            let notification = try await shop.notification(of: try await shop.openOrder(as: "ann"))
            for _ in 0..<20 {
                let reply = try await shop.send(
                    .post, "/v1/notifications/apple", ["signedPayload": "e30.e30.e30"], as: .anonymous)
                #expect(reply.status == 422)
            }
            for _ in 0..<9 { _ = try await shop.send(.get, "/v1/products", as: .anonymous) }
            #expect(try await shop.send(.get, "/v1/products", as: .anonymous).status == 429)
            let body: JSONValue = ["signedPayload": .string(notification)]
            #expect(try await shop.send(.post, "/v1/notifications/apple", body, as: .anonymous).status == 200)
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("Released apps: the token in the body counts for its user, and /verifyReceipt answers with Apple's 21005")
    func releasedApps() async throws {
        try await Shop.open(.socket, change: Self.small) { shop in
            func post(_ token: String) async throws -> Reply {
                try await shop.send(.post, "/postPay/ios", ["token": .string(token)], as: .anonymous)
            }
            let eve = UserToken.hs256(subject: "eve", expires: shop.time.now.seconds + 600)
            for _ in 0..<5 { #expect(try await post(eve).status == 400) }
            Self.expectLimited(try await post(eve), seconds: "1")
            for _ in 0..<4 { #expect(try await post("e30.e30.AAAA").status == 401) }
            Self.expectLimited(try await post("e30.e30.AAAA"), seconds: "1")
            let ann = UserToken.hs256(subject: "ann", expires: shop.time.now.seconds + 600)
            #expect(try await post(ann).status == 400, "a valid token passes")
            let verdict = try await shop.send(.post, "/verifyReceipt", ["receipt-data": "AAAA"], as: .anonymous)
            #expect(verdict.status == 200 && verdict["status"] == 21_005)
        }
    }

    @Test("A long body is refused before it is read, and that refusal counts nothing (V5)")
    func longBodies() async throws {
        try await Shop.open(change: Self.small) { shop in
            let head = shop.made(.post, "/v1/transactions", nil, as: .user("eve"))
            func isRefused() -> Int? {
                guard case .refused(let response) = shop.server.router.admission(of: head, length: 1 << 20) else {
                    return nil
                }
                return response.status
            }
            for _ in 0..<20 { #expect(isRefused() == nil) }
            for _ in 0..<5 { _ = try await Self.wallet(shop, of: "eve", as: .user("eve")) }
            #expect(isRefused() == 429)
            shop.time.advance(seconds: 1)
            #expect(isRefused() == nil)
            #expect(try await Self.wallet(shop, of: "eve", as: .user("eve")).status == 200)
        }
    }

    @Test("A user's new idempotency keys are bounded; a known key is still answered, and other users are not affected")
    func idempotencyKeys() async throws {
        let change: (inout ServerConfiguration) -> Void = {
            $0.limits.user = RequestLimits.Rate(perSecond: 10_000, burst: 10_000)
        }
        try await Shop.open(change: change) { shop in
            let order = try await shop.openOrder(as: "eve")
            func fail(_ key: Int, as user: String = "eve") async throws -> Reply {
                try await shop.send(
                    .post, "/v1/orders/\(order)/cancel", as: .user(user), headers: [("Idempotency-Key", "\(key)")])
            }
            for key in 0..<1_000 { #expect(try await fail(key).status == 200) }
            Self.expectLimited(try await fail(1_000), seconds: "60")
            let known = try await fail(7)
            #expect(known.status == 200 && known.headers["Idempotency-Replayed"] == "true")
            #expect(try await fail(1, as: "bob").status == 404)
            shop.time.advance(seconds: 60)
            #expect(try await fail(1_000).status == 200)
            #expect(try await fail(1_001).status == 429)
        }
    }
}
