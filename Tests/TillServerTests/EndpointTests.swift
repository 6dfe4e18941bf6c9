import Foundation
import Testing
import TillAPI
import TillBilling
import TillCrypto
import TillHTTP

@testable import TillJSON
@testable import TillServer

@Suite("Endpoints and bodies are declared once") struct EndpointTests {
    @Test("Every member of a body is described, and every description has its member", arguments: Body.all.map(\.name))
    func members(_ name: String) throws {
        let body = try #require(Body.all.first { $0.name == name })
        #expect(body.differences.isEmpty, "\(name): \(body.differences)")
        #expect(Body.all.count { $0.name == name } == 1)
        if let type = body.type {
            #expect(Body.all.compactMap(\.type).count { ObjectIdentifier($0) == ObjectIdentifier(type) } == 1)
        }
    }

    @Test("Every Codable type of TillAPI is a body of the document")
    func types() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/TillAPI")
        let declared = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .flatMap { try String(contentsOf: $0, encoding: .utf8).matches(of: /public struct (\w+)[^{]*Codable/) }
            .map { String($0.1) }
        let described = Set(Body.all.compactMap(\.type).map { String(describing: $0) })
        let missing = Set(declared).subtracting(described).subtracting(["Page"])
        #expect(declared.count > 70 && missing.isEmpty, "not described: \(missing)")
    }

    @Test("The recorded members are those in the JSON of the type")
    func learnt() {
        let members = CodableMembers.of(CorrectionBody.self)
        #expect(
            members.map(\.name).sorted() == ["allowDebt", "amount", "currency", "operator", "reason", "reference"])
        #expect(members.filter(\.isOptional).map(\.name) == ["allowDebt"])
        #expect(CodableMembers.schema(of: [Money].self)["items"] == OpenAPI.ref("Money"))
        #expect(CodableMembers.schema(of: [String: Int64].self)["additionalProperties"]?["type"]?.string == "integer")
        #expect(CodableMembers.schema(of: OfferForm.self)["enum"] == ["classic", "jws"])
    }

    @Test(
        "A request beyond a declared bound is refused, with the member and its allowed values",
        arguments: [
            ("/v1/users/u1/wallet/debits", debit(["amount": 0]), 400, "amount: 1 to 1000000000000"),
            ("/v1/users/u1/wallet/debits", debit(["amount": 2e12]), 400, "amount: 1 to 1000000000000"),
            ("/v1/users/u1/wallet/debits", debit(["amount": "5"]), 400, "amount: wrong type"),
            ("/v1/users/u1/wallet/debits", debit(["amount": nil]), 400, "amount: wrong type"),
            ("/v1/users/u1/wallet/debits", debit(["currency": ""]), 400, "currency: 1 to 64 bytes"),
            ("/v1/users/u1/wallet/debits", debit(["reference": long(129)]), 400, "reference: 1 to 128 bytes"),
            ("/v1/users/u1/wallet/debits", ["currency": "points", "amount": 1], 400, "reference: missing"),
            ("/v1/users/u1/wallet/bonuses", debit(["reason": long(501)]), 400, "reason: 1 to 500 bytes"),
            ("/v1/users/u1/wallet/bonuses", debit(["reason": "a\u{7}"]), 400, "reason: no control characters"),
            ("/v1/users/u1/wallet/corrections", correction(0), 400, "amount: not 0, at most 1000000000000 either way"),
            (
                "/v1/users/u1/wallet/corrections", correction(.min), 400,
                "amount: -1000000000000 to 1000000000000"
            ),
            (Paths.orders, order(["quantity": 11]), 422, nil), (Paths.orders, order(["quantity": 0]), 422, nil),
            (Paths.orders, order(["deviceId": ""]), 400, "deviceId: 1 to 128 bytes"),
            (Paths.orders, order(["orderNumber": long(256)]), 400, "orderNumber: 1 to 255 bytes"),
            (Paths.restores, ["userId": "u1", "signedTransactions": []], 400, "signedTransactions: 1 to 100"),
            (Paths.transfers, transfer(["from": ""]), 400, "from: 1 to 128 bytes"),
            (
                Paths.transfers, transfer(["operator": "a\u{202E}"]), 400,
                "operator: holds U+202E. Control characters, line separators and marks that change the direction of "
                    + "text are not allowed"
            ),
            (Paths.transfers, transfer(["environment": "moon"]), 400, "environment: production or sandbox, not moon"),
            (Paths.planPreview, ["userId": "u1", "planId": ""], 400, "planId: 1 to 255 bytes"),
        ] as [(String, JSONValue, Int, String?)])
    func bounds(_ path: String, _ body: JSONValue, _ status: Int, _ detail: String?) async throws {
        try await DashboardServer.open { dashboardServer async throws in
            var request = HTTPRequest(method: .post, path: path)
            request.headers.add("Authorization", "Bearer \(DashboardServer.secretKey)")
            request.body = Array(body.encoded().utf8)
            let reply = await dashboardServer.server.respond(to: request)
            #expect(reply.status == status)
            #expect(try JSONValue(decoding: reply.body)["detail"]?.string == detail)
        }
    }

    @Test("The reason for closing an order may be empty, and its length is limited")
    func reasons() async throws {
        try await DashboardServer.open { dashboardServer async throws in
            let order = try await dashboardServer.openOrder(user: "u1")
            let long = try await dashboardServer.call(.post, "/v1/orders/\(order)/cancel", ["reason": Self.long(501)])
            #expect(long["detail"]?.string == "reason: at most 500 bytes")
            let empty = try await dashboardServer.call(.post, "/v1/orders/\(order)/cancel", ["reason": ""])
            #expect(empty["status"]?.string == "cancelled")
        }
    }

    @Test("The addresses for backends refuse an app's user")
    func backends() async throws {
        try await DashboardServer.open { dashboardServer async throws in
            let token = Self.userToken("u1", expires: dashboardServer.time.now.seconds + 600)
            for endpoint in Endpoint.all where endpoint.caller == .backend {
                let path = endpoint.path.replacing("{userId}", with: "u1").replacing("{id}", with: "x")
                var request = HTTPRequest(method: endpoint.method, path: path)
                request.headers.add("Authorization", "Bearer \(token)")
                #expect(await dashboardServer.server.respond(to: request).status == 403, "\(endpoint.id)")
            }
        }
    }

    private static func debit(_ change: [String: JSONValue]) -> JSONValue {
        .object(["currency": "points", "amount": 1, "reference": "r"].merging(change) { $1 })
    }

    private static func correction(_ amount: Int64) -> JSONValue {
        debit(["amount": .int(amount), "reason": "why", "operator": "anna"])
    }

    private static func order(_ change: [String: JSONValue]) -> JSONValue {
        .object(["userId": "u1", "productId": .string(DashboardServer.points60)].merging(change) { $1 })
    }

    private static func transfer(_ change: [String: JSONValue]) -> JSONValue {
        let whole: [String: JSONValue] = [
            "from": "u1", "to": "u2", "originalTransactionId": "1", "reason": "r", "operator": "li",
        ]
        return .object(whole.merging(change) { $1 })
    }

    private static func long(_ count: Int) -> JSONValue { .string(String(repeating: "a", count: count)) }

    private static func userToken(_ user: String, expires: Int64) -> String {
        let claims: JSONValue = ["sub": .string(user), "exp": .int(expires)]
        let parts = [#"{"alg":"HS256"}"#, claims.encoded()].map { Base64.encode(Array($0.utf8), .url) }
        let signed = parts.joined(separator: ".")
        let mark = HMACSHA256.code(for: Array(signed.utf8), key: DashboardServer.userSecret)
        return signed + "." + Base64.encode(mark, .url)
    }
}
