import TillBilling
import TillCrypto
import TillJSON
import TillServer

extension Flag {
    fileprivate static let lifetime = Flag(
        "expires", .text("TIME|DURATION"),
        summary: LocalizedText(
            en: "when the token ends: 30m, 12h, 7d or a time (default: 1h)", zh: "令牌的到期时间：30m、12h、7d 或一个时刻（默认 1h）"))
    fileprivate static let key = Flag(
        "key", .text("ID"),
        summary: LocalizedText(
            en: "the key of userTokens to sign with (default: the first HS256 key that is valid)",
            zh: "签名所用的 userTokens 密钥（默认第一个有效的 HS256 密钥）"))
    fileprivate static let guest = Flag(
        "guest", summary: LocalizedText(en: "a guest's token", zh: "游客的令牌"))
    fileprivate static let production = Flag(
        "production",
        summary: LocalizedText(
            en: "also with a configuration that accepts production", zh: "配置接受 production 时也允许"))
}

extension Command {
    /// `till token`: a user token for development.
    static let token = Command(
        "token",
        summary: LocalizedText(en: "make a user token for development", zh: "签发开发用的用户令牌"),
        discussion: LocalizedText(
            en: """
                Signs a token for USER with an HS256 key of userTokens, as your backend does for its users, and prints
                it. With such a token its bearer is that user. A configuration that accepts production needs
                --production: who can read the secret can sign tokens anyway, so the flag guards against a mistake,
                not against a thief.
                A key with ES256 can't sign here, because only its public half is configured.
                --json prints {"token", "userId", "key", "expires"}.
                """,
            zh: """
                用 userTokens 的一个 HS256 密钥为 USER 签发令牌并打印，与你的后端为用户签发的相同。
                持有该令牌的人就能以该用户的身份操作。配置接受 production 时须加 --production：
                能读到密钥的人本来就能签发令牌，所以这个选项防的是误用，而不是窃贼。
                ES256 密钥在这里无法签名，因为配置中只有公钥。
                --json 输出 {"token", "userId", "key", "expires"}。
                """),
        flags: [.config, .lifetime, .key, .guest, .production],
        positionals: [Positional("USER", summary: LocalizedText(en: "the user's id", zh: "用户 id"))]
    ) { call in
        let user = call.positionals[0]
        guard (1...UserID.maximumLength).contains(user.utf8.count), user.firstForbiddenScalar == nil else {
            throw UsageError(
                LocalizedText(
                    en: "USER must be 1 to \(UserID.maximumLength) bytes without control characters",
                    zh: "USER 应为 1 到 \(UserID.maximumLength) 字节，且不含控制字符"),
                command: "token")
        }
        let configuration = try Configuration.load(for: call)
        guard !configuration.apple.environments.contains(.production) || call.isSet(.production) else {
            throw CommandError(
                LocalizedText(
                    en: "this configuration accepts production, where a user's token opens that customer's account; "
                        + "add --production if you mean it",
                    zh: "此配置接受 production，用户令牌能打开真实客户的账户；确有需要时请加 --production"))
        }
        let now = call.process.clock()
        let end = try call.moment(ahead: .lifetime, command: "token") ?? now.adding(seconds: 3_600)
        let key = try configuration.signingKey(call.text(.key), at: now)
        if let longest = key.maximumLifetime, end.seconds - now.seconds > longest {
            throw CommandError(
                LocalizedText(
                    en:
                        "tokens of the key \(shown(key.id)) last at most \(longest) seconds; shorten --expires",
                    zh: "密钥 \(shown(key.id)) 签发的令牌有效期最长 \(longest) 秒；请缩短 --expires"))
        }
        guard let token = key.token(for: user, isGuest: call.isSet(.guest), from: now, to: end) else {
            throw CommandError(Configuration.noSigningKey)
        }
        if call.wantsJSON {
            let value: JSONValue = [
                "token": .string(token), "userId": .string(user), "key": .string(key.id),
                "expires": .string(end.rfc3339),
            ]
            call.console.print(value.encoded(pretty: true))
        } else {
            call.console.print(token)
        }
        return .done
    }
}

extension Configuration {
    fileprivate static let noSigningKey = LocalizedText(
        en:
            "no HS256 key of userTokens is valid now, and ES256 keys are configured without their private half; add "
            + "one with till keys add ID --list userTokens",
        zh: "userTokens 中没有当前有效的 HS256 密钥，而 ES256 密钥没有配置私钥；请用 till keys add ID --list userTokens 添加")

    fileprivate func signingKey(_ id: String?, at now: Instant) throws -> UserTokenKey {
        let candidates = userTokens.filter { id == nil || $0.id == id }
        guard id == nil || !candidates.isEmpty else {
            throw UsageError(
                LocalizedText(
                    en: "userTokens has no key \"\(shown(id ?? ""))\"", zh: "userTokens 中没有密钥“\(shown(id ?? ""))”"),
                suggestion: nearestName(to: id ?? "", among: userTokens.map(\.id)), command: "token")
        }
        let usable = candidates.first { $0.algorithm.name == "HS256" && $0.validity.state(at: now) == .valid }
        guard let usable else { throw CommandError(Self.noSigningKey) }
        return usable
    }
}

extension UserTokenKey {
    /// A token as the key accepts it; nil for a key that can only verify.
    fileprivate func token(for user: String, isGuest: Bool, from now: Instant, to end: Instant) -> String? {
        guard case .hs256(let secret) = algorithm else { return nil }
        let header: JSONValue = ["alg": "HS256", "kid": .string(id), "typ": "JWT"]
        var claims: [String: JSONValue] = ["sub": .string(user), "iat": .int(now.seconds), "exp": .int(end.seconds)]
        claims["iss"] = issuer.map { .string($0) }
        claims["aud"] = audience.map { .string($0) }
        if isGuest { claims["guest"] = true }
        let text = [header, .object(claims)].map { Base64.encode($0.encodedBytes(), .url) }
            .joined(separator: ".")
        return text + "." + Base64.encode(HMACSHA256.code(for: text.utf8, key: secret), .url)
    }
}
