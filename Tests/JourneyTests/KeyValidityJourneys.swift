import Testing
import TillBilling
import TillCrypto
import TillJSON
import TillServer

/// Keys that begin, end and are replaced while the server runs (issue 20).
@Suite("Keys with a beginning and an end") struct KeyValidityJourneys {
    private static func key(_ id: String, _ text: String, _ validity: KeyValidity = .always) -> SecretKey {
        SecretKey(id: id, sha256: Digest.sha256.hash(text.utf8), validity: validity)
    }

    private static let wallet = "/v1/users/u1/wallet"

    @Test("A secret key is accepted from its beginning until the moment it expires", arguments: Reach.allCases)
    func instants(_ reach: Reach) async throws {
        let time = TestClock()
        let (start, end) = (time.now.adding(seconds: 60), time.now.adding(seconds: 120))
        let next = Self.key("next", "sk_next", KeyValidity(notBefore: start, expires: end))
        try await Shop.open(reach, change: { $0.secretKeys.append(next) }, time: time) { shop in
            func answer(at moment: Instant) async throws -> Reply {
                time.advance(seconds: moment.seconds - time.now.seconds)
                return try await shop.send(.get, Self.wallet, as: .bearer("sk_next"))
            }
            let early = try await answer(at: start.adding(seconds: -1))
            #expect(early.status == 401)
            #expect(early["detail"].text == "the key next is accepted from \(start) on")
            #expect(try await answer(at: start).status == 200)
            #expect(try await answer(at: end.adding(seconds: -1)).status == 200)
            let late = try await answer(at: end)
            #expect(late.status == 401)
            #expect(late["detail"].text == "the key next expired at \(end)")
            #expect(try await shop.send(.get, Self.wallet).status == 200, "the other key is unaffected")
        }
    }

    @Test("An expired key for user tokens signs nothing any more, and its successor is accepted beside it before")
    func userTokens() async throws {
        let time = TestClock()
        let end = time.now.adding(seconds: 60)
        let secret = Array("successor-0123456789-0123456789-ab".utf8)
        try await Shop.open(
            change: {
                $0.userTokens[0].validity.expires = end
                $0.userTokens.append(UserTokenKey(id: "app-2", algorithm: .hs256(secret: secret)))
            }, time: time
        ) { shop in
            let expires = time.now.seconds + 600
            let old = UserToken.hs256(subject: "u1", expires: expires)
            let new = UserToken.hs256(subject: "u1", expires: expires, secret: secret)
            for token in [old, new] {
                #expect(try await shop.send(.get, Self.wallet, as: .bearer(token)).status == 200)
            }
            time.advance(seconds: 60)
            let refused = try await shop.send(.get, Self.wallet, as: .bearer(old))
            #expect(refused.status == 401)
            #expect(refused["detail"].text == "the key app expired at \(end)")
            #expect(try await shop.send(.get, Self.wallet, as: .bearer(new)).status == 200)
        }
    }

    @Test("After a reload a retired key is refused at once, and the new one is accepted", arguments: Reach.allCases)
    func rotation(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            try await shop.reload { $0.secretKeys.append(Self.key("next", "sk_next")) }
            #expect(try await shop.send(.get, Self.wallet).status == 200)
            #expect(try await shop.send(.get, Self.wallet, as: .bearer("sk_next")).status == 200)
            try await shop.reload { $0.secretKeys.removeFirst() }
            #expect(try await shop.send(.get, Self.wallet).status == 401)
            #expect(try await shop.send(.get, Self.wallet, as: .bearer("sk_next")).status == 200)
        }
    }

    @Test("The same Idempotency-Key repeats its first answer across a reload")
    func idempotency() async throws {
        try await Shop.open { shop in
            func open() async throws -> Reply {
                try await shop.send(
                    .post, "/v1/orders", ["productId": .string(Shop.points60), "userId": "u1"],
                    headers: [("Idempotency-Key", "k1")])
            }
            let first = try await open()
            #expect(first.status == 201)
            try await shop.reload { $0.orders.perHour = 1 }
            let second = try await open()
            #expect(second["id"].text == first["id"].text)
            #expect(second.headers["Idempotency-Replayed"] == "true")
        }
    }

    // MARK: Refused tokens

    /// A flawed token, and what its refusal says in both languages.
    private static let flaws: [(kind: String, english: String, chinese: String)] = [
        ("no header", "the header Authorization is missing", "缺少 Authorization 头"),
        ("no token", "Authorization: must be Bearer", "Authorization：应为 Bearer"),
        ("no JWT", "neither a secret key of this server nor a user token", "既不是本服务器的后端密钥"),
        ("header", "the token's header must be JSON", "令牌的头部应为 JSON"),
        ("kid", "kid: no key for user tokens has this id", "kid：没有这个 id 的用户令牌密钥"),
        ("algorithm", "alg: must be HS256 for this key", "alg：此密钥要求 HS256"),
        ("signature", "signature: not made with the key app", "签名：不是用密钥 app 签署的"),
        ("expired", "exp: the token expired at ", "exp：令牌已于 "),
        ("not yet", "nbf: the token is valid from ", "nbf：令牌从 "),
        ("future", "iat: must not be in the future; the server's time is ", "iat：不能晚于当前时间；服务器时间为 "),
        ("no iat", "iat: missing", "iat：缺失"),
        ("too long", "exp: tokens of this key are valid for at most 3600 seconds", "有效期最长为 3600 秒"),
        ("issuer", "iss: differs", "iss：与配置不一致"),
        ("audience", "aud: differs", "aud：与配置不一致"),
        ("no expiry", "the payload must be JSON with the text sub and the number exp", "载荷应为 JSON"),
    ]

    @Test("A refused user token's problem says in both languages which check failed", arguments: flaws)
    func refusedTokens(_ flaw: (kind: String, english: String, chinese: String)) async throws {
        try await Shop.open(
            change: {
                $0.userTokens = [
                    UserTokenKey(
                        id: "app", algorithm: .hs256(secret: Shop.tokenSecret), issuer: "me", audience: "till",
                        maximumLifetime: 3_600)
                ]
            }
        ) { shop in
            let token = Self.token(flaw.kind, now: shop.time.now.seconds)
            for (language, phrase) in [("en", flaw.english), ("zh", flaw.chinese)] {
                var headers = [("Accept-Language", language)]
                if let token { headers.append(("Authorization", token)) }
                let reply = try await shop.send(.get, Self.wallet, as: .anonymous, headers: headers)
                #expect(reply.status == 401)
                #expect(reply.code == "unauthorized")
                #expect(reply["detail"].text.contains(phrase), "\(reply["detail"].text)")
            }
        }
    }

    private static func token(_ kind: String, now: Int64) -> String? {
        func signed(
            _ claims: String, header: String = #"{"alg":"HS256","kid":"app"}"#, secret: [UInt8] = Shop.tokenSecret
        ) -> String {
            let text = [header, "{\(claims)}"].map { Base64.encode(Array($0.utf8), .url) }.joined(separator: ".")
            return "Bearer \(text).\(Base64.encode(HMACSHA256.code(for: text.utf8, key: secret), .url))"
        }
        let rest = #""sub":"u1","iss":"me","aud":"till""#
        let good = #"\#(rest),"iat":\#(now),"exp":\#(now + 600)"#
        switch kind {
        case "no header": return nil
        case "no token": return "Basic abc"
        case "no JWT": return "Bearer sk_unknown"
        case "header": return signed(good, header: "[]")
        case "kid": return signed(good, header: #"{"alg":"HS256","kid":"other"}"#)
        case "algorithm": return signed(good, header: #"{"alg":"ES256","kid":"app"}"#)
        case "signature": return signed(good, secret: Array(repeating: 7, count: 32))
        case "expired": return signed(#"\#(rest),"iat":\#(now - 900),"exp":\#(now - 1)"#)
        case "not yet": return signed(good + #","nbf":\#(now + 60)"#)
        case "future": return signed(#"\#(rest),"iat":\#(now + 120),"exp":\#(now + 600)"#)
        case "no iat": return signed(#"\#(rest),"exp":\#(now + 600)"#)
        case "too long": return signed(#"\#(rest),"iat":\#(now),"exp":\#(now + 3_601)"#)
        case "issuer": return signed(good.replacing(#""iss":"me""#, with: #""iss":"you""#))
        case "audience": return signed(good.replacing(#""aud":"till""#, with: #""aud":"shop""#))
        default: return signed(#"\#(rest),"iat":\#(now)"#)
        }
    }

    @Test("A wrong signature hides every claim: an expired and a valid forgery get the same answer")
    func forgeryLearnsNothing() async throws {
        try await Shop.open { shop in
            let now = shop.time.now.seconds
            var details: Set<String> = []
            for expires in [now - 600, now + 600] {
                let forged = UserToken.hs256(subject: "u1", expires: expires, secret: [UInt8](repeating: 7, count: 32))
                details.insert(try await shop.send(.get, Self.wallet, as: .bearer(forged))["detail"].text)
            }
            #expect(details.count == 1)
        }
    }
}
