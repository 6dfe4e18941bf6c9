import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillServer

/// The permissions of each kind of caller (CONTRACT §2), address by address.
@Suite("Permissions by caller") struct AuthorizationJourneys {
    private static let columns = [
        "no credential", "wrong key", "expired token", "the owner", "another user", "an ES256 token of the owner",
        "a backend",
    ]

    /// Method, address, body, and the status of each column; columns beyond a short row are not tried.
    private static let matrix: [(method: HTTPMethod, target: String, body: JSONValue?, statuses: [Int])] = [
        (.get, "/healthz", nil, [200, 200, 200, 200, 200, 200, 200]),
        (.get, "/readyz", nil, [200, 200, 200, 200, 200, 200, 200]),
        (.get, "/v1/products", nil, [200, 200, 200, 200, 200, 200, 200]),
        // A backend must name the user; an app's user need not.
        (.post, "/v1/orders", order(nil), [401, 401, 401, 201, 201, 201, 400]),
        (.post, "/v1/orders", order("owner"), [401, 401, 401, 201, 403, 201, 201]),
        // To other users, an order is unknown.
        (.get, "/v1/orders/ORDER", nil, [401, 401, 401, 200, 404, 200, 200]),
        (.post, "/v1/orders/ORDER/cancel", nil, [401, 401, 401, 200, 404, 200, 200]),
        (.post, "/v1/orders/ORDER/fail", nil, [401, 401, 401, 409, 404, 409, 409]),
        (.get, "/v1/users/owner/orders", nil, [401, 401, 401, 200, 403, 200, 200]),
        (.get, "/v1/users/owner/wallet", nil, [401, 401, 401, 200, 403, 200, 200]),
        (.get, "/v1/users/owner/wallet/postings", nil, [401, 401, 401, 200, 403, 200, 200]),
        (.post, "/v1/users/owner/wallet/debits", debit, [401, 401, 401, 403, 403, 403, 409]),
        // Any signed-in user may submit a proof (P8); a bad one is still refused.
        (.post, "/v1/transactions", ["signedTransaction": "a.b.c"], [401, 401, 401, 422, 422, 422, 422]),
        // Apple shows no key: its signature is checked.
        (.post, "/v1/notifications/apple", ["signedPayload": "a.b.c"], [422, 422, 422, 422, 422, 422, 422]),
        // Operators have a login and tokens of their own; no key of the API opens their pages, and guessing is limited.
        (.get, "/dashboard", nil, [303, 401, 401, 401, 401, 401, 401]),
        (.get, "/dashboard/orders/ORDER", nil, [303]), (.get, "/dashboard/transactions/1", nil, [303]),
        (.get, "/dashboard/quarantine", nil, [303]), (.get, "/dashboard/refusals", nil, [303]),
        (.get, "/dashboard/live", nil, [401]), (.get, "/dashboard/login", nil, [200]),
        (.get, "/v1/nothing", nil, [404, 404, 404, 404, 404, 404, 404]),
    ]

    private static func order(_ user: String?) -> JSONValue {
        guard let user else { return ["productId": .string(Shop.points60)] }
        return ["productId": .string(Shop.points60), "userId": .string(user)]
    }

    private static let debit: JSONValue = ["currency": "points", "amount": 10, "reference": "r"]

    @Test("Every address answers each kind of caller as the table says", arguments: Reach.allCases)
    func table(_ reach: Reach) async throws {
        let key = try PrivateKey.generate(.p256)
        let publicKey = try #require(PublicKey(der: key.publicKeyInfo()))
        try await Shop.open(
            reach,
            change: { $0.userTokens.append(UserTokenKey(id: "phone", algorithm: .es256(publicKey))) }
        ) { shop in
            let now = shop.time.now.seconds
            let callers: [Party] = [
                .anonymous, .bearer("sk_journey_0123456789abcdeg"),
                .bearer(UserToken.hs256(subject: "owner", expires: now - 1)), .user("owner"), .user("other"),
                .bearer(try UserToken.es256(subject: "owner", expires: now + 600, key: key)), .backend,
            ]
            for (method, target, body, statuses) in Self.matrix {
                try #require(!statuses.isEmpty && statuses.count <= callers.count)
                // One order for each row, because some rows change its status.
                let owned = try await shop.openOrder(as: "owner")
                let address = target.replacing("ORDER", with: owned.description)
                if target.hasSuffix("/fail") {
                    _ = try await shop.send(.post, "/v1/orders/\(owned)/cancel", nil, as: .user("owner"))
                }
                for (column, caller) in callers.prefix(statuses.count).enumerated() {
                    let status = try await shop.status(method, address, body, as: caller)
                    #expect(
                        status == statuses[column],
                        "\(method.rawValue) \(target) by \(Self.columns[column]): \(status), not \(statuses[column])")
                }
            }
        }
    }

    /// ES256 tokens with one flaw each: how they are made, and whether they are accepted.
    static let tokens: [(kind: String, isGood: Bool)] = [
        ("good", true), ("good, named by kid", true), ("good, audience in a list", true),
        ("kid of another key", false), ("kid of no key", false), ("another private key", false),
        ("public key as HS256 secret", false), ("public key's PEM as HS256 secret", false),
        ("ES256 of the HS256 key", false), ("none", false),
        ("crit", false), ("crit, empty", false), ("DER signature", false), ("zero signature", false),
        ("wrong issuer", false), ("no issuer", false), ("wrong audience", false), ("no audience", false),
        ("expired", false), ("not yet", false), ("expiry as text", false), ("no subject", false),
        ("empty subject", false), ("subject with a line feed", false), ("payload of another token", false),
        ("header of another token", false), ("two headers", false), ("a fourth part", false), ("padded", false),
    ]

    @Test("An ES256 user token is accepted only if every part of it is right", arguments: tokens)
    func es256(_ token: (kind: String, isGood: Bool)) async throws {
        let key = try PrivateKey.generate(.p256)
        let der = try key.publicKeyInfo()
        let publicKey = try #require(PublicKey(der: der))
        try await Shop.open(
            change: {
                $0.userTokens.append(
                    UserTokenKey(
                        id: "phone", algorithm: .es256(publicKey), issuer: "https://id.example.com", audience: "till"))
            }
        ) { shop in
            let text = try Self.make(token.kind, key, der, now: shop.time.now.seconds)
            let reply = try await shop.send(.get, "/v1/users/A/wallet", as: .bearer(text))
            #expect(reply.status == (token.isGood ? 200 : 401) || (!token.isGood && reply.status == 400))
            guard !token.isGood else { return }
            let order = try await shop.send(
                .post, "/v1/orders", ["productId": .string(Shop.points60)], as: .bearer(text))
            #expect([400, 401].contains(order.status))
            #expect(try await shop.send(.get, "/v1/users/A/orders")["data"].list.isEmpty)
        }
    }

    private static func make(_ kind: String, _ key: PrivateKey, _ der: [UInt8], now: Int64) throws -> String {
        let good = #""sub":"A","exp":\#(now + 60),"iss":"https://id.example.com","aud":"till""#
        func token(_ claims: String = good, header: String = #"{"alg":"ES256"}"#) throws -> String {
            try UserToken.es256(header: header, claims: "{\(claims)}", key: key)
        }
        func without(_ member: String, _ instead: String = "") -> String {
            good.split(separator: ",").filter { !$0.hasPrefix("\"\(member)\"") }.joined(separator: ",")
                + (instead.isEmpty ? "" : ",\(instead)")
        }
        let parts = try token().split(separator: ".").map(String.init)
        switch kind {
        case "good, named by kid": return try token(header: #"{"alg":"ES256","kid":"phone"}"#)
        case "good, audience in a list": return try token(without("aud", #""aud":["shop","till"]"#))
        case "kid of another key": return try token(header: #"{"alg":"ES256","kid":"app"}"#)
        case "kid of no key": return try token(header: #"{"alg":"ES256","kid":"nothing"}"#)
        case "another private key":
            return try UserToken.es256(header: #"{"alg":"ES256"}"#, claims: "{\(good)}", key: .generate(.p256))
        case "public key as HS256 secret": return UserToken.hs256(subject: "A", expires: now + 60, secret: der)
        case "public key's PEM as HS256 secret":
            let pem = "-----BEGIN PUBLIC KEY-----\n\(Base64.encode(der))\n-----END PUBLIC KEY-----\n"
            return UserToken.hs256(subject: "A", expires: now + 60, secret: Array(pem.utf8))
        case "ES256 of the HS256 key": return UserToken.hs256(subject: "A", expires: now + 60, algorithm: "ES256")
        case "none": return try token(header: #"{"alg":"none"}"#)
        case "crit": return try token(header: #"{"alg":"ES256","crit":["exp"]}"#)
        case "crit, empty": return try token(header: #"{"alg":"ES256","crit":[]}"#)
        case "DER signature":
            let signature = try key.signSHA256(Array("\(parts[0]).\(parts[1])".utf8))
            return "\(parts[0]).\(parts[1]).\(Base64.encode(signature, .url))"
        case "zero signature": return "\(parts[0]).\(parts[1]).\(Base64.encode([UInt8](repeating: 0, count: 64), .url))"
        case "wrong issuer": return try token(without("iss", #""iss":"https://id.example.org""#))
        case "no issuer": return try token(without("iss"))
        case "wrong audience": return try token(without("aud", #""aud":"till2""#))
        case "no audience": return try token(without("aud"))
        case "expired": return try token(without("exp", "\"exp\":\(now)"))
        case "not yet": return try token(good + ",\"nbf\":\(now + 30)")
        case "expiry as text": return try token(without("exp", "\"exp\":\"\(now + 60)\""))
        case "no subject": return try token(without("sub"))
        case "empty subject": return try token(without("sub", #""sub":"""#))
        case "subject with a line feed": return try token(without("sub", #""sub":"A\n""#))
        case "payload of another token":
            let other = try token(without("sub", #""sub":"B""#)).split(separator: ".")
            return "\(parts[0]).\(other[1]).\(parts[2])"
        case "header of another token":
            let other = try token(header: #"{"alg":"ES256","kid":"phone"}"#).split(separator: ".")
            return "\(other[0]).\(parts[1]).\(parts[2])"
        case "two headers": return "\(parts[0]).\(parts.joined(separator: "."))"
        case "a fourth part": return "\(parts.joined(separator: "."))."
        case "padded": return "\(parts[0])=.\(parts[1]).\(parts[2])"
        default: return try token()
        }
    }
}
