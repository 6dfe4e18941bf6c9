import Testing
import TillBilling
import TillHTTP
import TillJSON

@Suite("Bad input is answered clearly") struct BadInputJourneys {
    @Test(
        "An invalid body is answered 400 with the reason",
        arguments: [
            ("", "malformed_json"), ("{", "malformed_json"), ("null", "invalid_field"), ("[]", "invalid_field"),
            ("\"x\"", "invalid_field"), ("{\"productId\":", "malformed_json"),
            ("{\"productId\":null}", "invalid_field"),
            ("{\"productId\":{}}", "invalid_field"), ("\u{FEFF}", "malformed_json"), ("\0\0\0", "malformed_json"),
        ])
    func bodies(_ text: String, _ code: String) async throws {
        try await Shop.open { shop in
            let request = HTTPRequest(
                method: .post, path: "/v1/orders",
                headers: HTTPHeaders([(name: "Authorization", value: "Bearer \(Shop.secretKey)")]),
                body: Array(text.utf8))
            let reply = try Reply(await shop.server.respond(to: request))
            #expect(reply.status == 400)
            #expect(reply.code == code)
        }
    }

    @Test("Deep nesting, huge numbers and invalid UTF-8 are refused without a crash")
    func hostileJSON() async throws {
        try await Shop.open { shop in
            let bodies: [[UInt8]] = [
                Array(String(repeating: "[", count: 200_000).utf8),
                Array("{\"productId\":\"a\",\"metadata\":\(String(repeating: "[", count: 100_000))".utf8),
                Array("{\"productId\":\"a\",\"quantity\":1e999}".utf8),
                Array("{\"productId\":\"a\",\"quantity\":99999999999999999999}".utf8),
                Array("{\"productId\":\"".utf8) + [0xC0, 0x80, 0xFF] + Array("\"}".utf8),
            ]
            for body in bodies {
                let request = HTTPRequest(
                    method: .post, path: "/v1/orders",
                    headers: HTTPHeaders([(name: "Authorization", value: "Bearer \(Shop.secretKey)")]), body: body)
                let status = await shop.server.respond(to: request).status
                #expect((400..<500).contains(status))
            }
        }
    }

    @Test("A body over the limit is 413, one under it is read (CONTRACT §2)")
    func oversized() async throws {
        try await Shop.open(.socket) { shop in
            let long = JSONValue.string(String(repeating: "x", count: 2 << 20))
            let refused = try await shop.send(.post, "/v1/orders", ["productId": long], as: .user("u1"))
            #expect(refused.status == 413)
            let receipt: JSONValue = ["receipt": long, "transactionId": "1", "productId": "p"]
            #expect(try await shop.send(.post, "/v1/transactions", receipt, as: .user("u1")).code == "malformed")
        }
    }

    @Test("Problems are in the reader's language, with a stable code (RFC 9457)", arguments: Reach.allCases)
    func languages(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let missing = "/v1/orders/3f2c4d5e-0011-4a2b-8c3d-0123456789ab"
            let chinese = try await shop.send(.get, missing, headers: [("Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8")])
            let english = try await shop.send(.get, missing, headers: [("Accept-Language", "en")])
            #expect(chinese["title"].text == "没有这个订单。")
            #expect(english["title"].text == "There is no such order.")
            for reply in [chinese, english] {
                #expect(reply.status == 404)
                #expect(reply.code == "unknown_order")
                #expect(reply["type"].text == "urn:till:problem:unknown_order")
                #expect(reply["status"].int == 404)
                #expect(reply["retryable"] == false)
                #expect(!reply["requestId"].text.isEmpty)
                #expect(reply.headers["Content-Type"] == "application/problem+json")
            }
        }
    }

    @Test("Unknown addresses are 404, other methods 405 with a list of the allowed ones", arguments: Reach.allCases)
    func addresses(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            #expect(try await shop.send(.get, "/v1/nothing").code == "not_found")
            let wrong = try await shop.send(.delete, "/v1/orders")
            #expect(wrong.status == 405)
            #expect(wrong.headers["Allow"] == "POST")
            #expect(try await shop.send(.get, "/v1/orders/nonsense").code == "unknown_order")
            #expect(try await shop.send(.get, "/healthz", as: .anonymous).status == 200)
            #expect(try await shop.send(.get, "/readyz", as: .anonymous)["status"].text == "ready")
        }
    }

    @Test("A refusal states its cause in the language of the request", arguments: Reach.allCases)
    func detailLanguage(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            for (language, detail) in [("en", "productId: missing"), ("zh", "productId：缺失")] {
                let reply = try await shop.send(.post, "/v1/orders", [:], headers: [("Accept-Language", language)])
                #expect(reply.status == 400)
                #expect(reply.headers["Content-Language"] == language)
                #expect(reply["detail"].text == detail)
            }
            for (language, detail) in [("en", "not a compact JWS"), ("zh", "不是紧凑格式的 JWS")] {
                let reply = try await shop.send(
                    .post, "/v1/transactions", ["signedTransaction": "forged"], as: .user("u1"),
                    headers: [("Accept-Language", language)])
                #expect(reply.code == "malformed" && reply["detail"].text == detail)
            }
        }
    }

    @Test("The catalogue is public, and an unchanged one is 304 (P1, G2)", arguments: Reach.allCases)
    func products(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let first = try await shop.send(.get, "/v1/products", as: .anonymous)
            #expect(first["data"].list.count == Shop.catalog.products.count)
            #expect(first["data"].list.first?.at("names").at("zh").text == "60 学点")
            let tag = try #require(first.headers["ETag"])
            let again = try await shop.send(.get, "/v1/products", as: .anonymous, headers: [("If-None-Match", tag)])
            #expect(again.status == 304)
            #expect(again.body == .null)
        }
    }
}
