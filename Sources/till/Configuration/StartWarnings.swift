import TillBilling
import TillCrypto
import TillServer

/// The warnings of `till serve` at its start: settings that work and are probably insecure, and
/// prices that cannot be checked.
extension Configuration {
    /// All warnings of a server that starts now.
    func warnings(at now: Instant) -> [LocalizedText] {
        startWarnings + missingKeyWarnings + lifetimeWarnings + keyWarnings(at: now) + receiptWarnings
            + offerWarnings
    }

    /// Empty if there is nothing to warn about.
    var startWarnings: [LocalizedText] {
        testServerWarnings + databaseWarnings + secretFileWarnings + userTokens.compactMap(Self.warning(of:))
            + plainWarnings + rootWarnings + priceWarnings
    }

    /// Keys whose tokens may never expire. This is the default, because a limit would lock out existing installations.
    var lifetimeWarnings: [LocalizedText] {
        userTokens.filter { $0.maximumLifetime == nil }.map { key in
            LocalizedText(
                en:
                    "userTokens \"\(shown(key.id))\": only exp limits a token's lifetime; set \"maximumLifetime\", "
                    + "86400 seconds for example, and include iat in tokens",
                zh: "userTokens “\(shown(key.id))”：令牌的有效期完全由 exp 决定；请设置 \"maximumLifetime\"（例如 86400 秒），"
                    + "并让令牌带上 iat")
        }
    }

    /// Keys that are missing, and what does not work without them.
    var missingKeyWarnings: [LocalizedText] {
        var found: [LocalizedText] = []
        if appleService.key == nil, apple.environments.contains(.production) {
            found.append(
                LocalizedText(
                    en: "Production is accepted without an In-App Purchase Key (apple.issuerId, apple.keyId, "
                        + "apple.privateKeyFile). Without it there is no reconciliation, so a purchase whose "
                        + "notification is lost stays lost; no claim by order number, no consumption information for "
                        + "Apple's refund decisions, no finishing of transactions by the server, and no signed offers",
                    zh: "接受 Production，但没有配置 App 内购买项目密钥（apple.issuerId、apple.keyId、apple.privateKeyFile）。"
                        + "没有它就无法对账，通知丢失的购买会一直丢失；也无法按订单号认领、向 Apple 提供退款所需的消耗信息、"
                        + "由服务器完成交易（finish）和签署优惠"))
        }
        switch (secretKeys.isEmpty, userTokens.isEmpty) {
        case (true, true):
            found.append(
                LocalizedText(
                    en: "neither secretKeys nor userTokens is configured: every request of your apps and of your "
                        + "backend is refused (401), and only Apple's notifications are accepted",
                    zh: "既没有配置 secretKeys，也没有配置 userTokens：App 和后端的请求都会被拒绝（401），只接受 Apple 的通知"))
        case (true, false):
            found.append(
                LocalizedText(
                    en: "secretKeys is empty: no backend can spend points, register account tokens, move purchases or "
                        + "read events; add a key for your backend",
                    zh: "secretKeys 为空：没有后端可以扣减积分、登记账户令牌、转移购买或读取事件；请为您的后端添加密钥"))
        case (false, true):
            found.append(
                LocalizedText(
                    en: "userTokens is empty: no app can open orders or submit purchases itself; add the key that "
                        + "verifies your users' tokens, unless your backend does all of this",
                    zh: "userTokens 为空：App 无法自行创建订单或提交购买；请添加验证用户令牌的密钥，除非这些全部由您的后端完成"))
        case (false, false): break
        }
        return found
    }

    /// How long before its end a key is warned about.
    static let keyWarningDays: Int64 = 14

    /// Keys that have expired, or will soon.
    func keyWarnings(at now: Instant) -> [LocalizedText] {
        let soon = now.adding(seconds: Self.keyWarningDays * 86_400)
        return ConfiguredKey.all(secretKeys, userTokens, operators).compactMap { key in
            guard let expires = key.validity.expires, expires <= soon else { return nil }
            let name = "\(key.name.kind.rawValue) \"\(shown(key.name.id))\""
            let chineseName = "\(key.name.kind.rawValue) “\(shown(key.name.id))”"
            return expires <= now
                ? LocalizedText(
                    en: "\(name): expired at \(expires) and is refused; remove it with till keys retire",
                    zh: "\(chineseName)：已于 \(expires) 到期，不再接受；请用 till keys retire 删除")
                : LocalizedText(
                    en: "\(name): expires at \(expires); add its successor with till keys add",
                    zh: "\(chineseName)：将于 \(expires) 到期；请用 till keys add 添加新密钥")
        }
    }

    /// Offers that users may request and that this server can't sign.
    var offerWarnings: [LocalizedText] {
        guard appleService.key == nil,
            let product = catalog.products.first(where: { !$0.promotionalOffers.isEmpty })
        else { return [] }
        return [
            LocalizedText(
                en: "product \(shown(product.id.text)) opens promotional offers to users, and without an In-App "
                    + "Purchase Key no offer can be signed; configure the key, or remove \"promotionalOffers\"",
                zh: "商品 \(shown(product.id.text)) 向用户开放了促销优惠，但没有 App 内购买项目密钥就无法签署优惠；"
                    + "请配置密钥，或删去 \"promotionalOffers\"")
        ]
    }

    /// Whether a receipt's buyer can be asked from Apple.
    var receiptWarnings: [LocalizedText] {
        guard !appleService.canAskAboutReceipts else { return [] }
        let (english, chinese) =
            switch receipts.policy {
            case .quarantine: ("they wait in quarantine", "收据将一直待认领")
            case .provisional:
                (
                    "receipts.policy grants them by the order id beside them and holds their points for "
                        + "\(receipts.holdHours) hours",
                    "receipts.policy 按随附的订单号发放，积分冻结 \(receipts.holdHours) 小时"
                )
            }
        return [
            LocalizedText(
                en: "neither an In-App Purchase Key nor apple.sharedSecret is configured, so Apple can't be asked "
                    + "whose purchase a receipt is: \(english); configure the key, or at least the secret",
                zh: "既没有配置 App 内购买项目密钥，也没有配置 apple.sharedSecret，无法向 Apple 查询收据属于谁："
                    + "\(chinese)；请配置密钥，至少配置 apple.sharedSecret")
        ]
    }

    /// The first of all: nothing that this server grants was paid.
    var testServerWarnings: [LocalizedText] {
        guard let der = apple.xcodeCertificate else { return [] }
        let fingerprint = hexadecimal(Digest.sha256.hash(der))
        return [
            LocalizedText(
                en: "DEVELOPMENT SERVER: it accepts only purchases from Xcode's local StoreKit testing, signed by the "
                    + "certificate with SHA-256 \(fingerprint); nothing that it grants was paid. Never point a "
                    + "shipped app at it",
                zh: "开发服务器：只接受 Xcode 本地 StoreKit 测试中的购买，由 SHA-256 为 \(fingerprint) 的证书签名；"
                    + "它发放的一切都没有真实付款。切勿让已发布的 App 连接它")
        ]
    }

    /// A connection that anyone in between can read or answer.
    private var databaseWarnings: [LocalizedText] {
        guard case .postgres(let location) = database, location.address.isRemote,
            !["verify-ca", "verify-full"].contains(location.address.parameters["sslmode"])
        else { return [] }
        return [
            LocalizedText(
                en: "database: the connection to \(database.name) is not verified, so another machine could answer in "
                    + "its place; set sslmode=verify-full, and sslrootcert for a certificate authority of your own",
                zh: "database：没有验证到 \(database.name) 的连接，其他机器可以冒充它；"
                    + "请设置 sslmode=verify-full，使用自己的证书机构时还要设置 sslrootcert")
        ]
    }

    private var secretFileWarnings: [LocalizedText] {
        secretFiles.sorted().filter(isOpenToOthers).map { path in
            LocalizedText(
                en: "\(shown(path)) contains a secret and is accessible to other users of this machine; run chmod 600",
                zh: "\(shown(path)) 含有密钥，但本机其他用户也能访问；请运行 chmod 600")
        }
    }

    static func warning(of key: UserTokenKey) -> LocalizedText? {
        guard case .hs256(let secret) = key.algorithm, WeakSecret.isWeak(secret) else { return nil }
        return LocalizedText(
            en:
                "userTokens \"\(shown(key.id))\": the secret looks like words or a pattern; if guessed, it opens every "
                + "account; create a new one with head -c 32 /dev/urandom | base64",
            zh: "userTokens “\(shown(key.id))”：密钥像是单词或有规律的字符，被猜中后可用来冒充任何用户；请用 "
                + "head -c 32 /dev/urandom | base64 生成")
    }

    var plainWarnings: [LocalizedText] {
        guard !listen.isLoopback else { return [] }
        return [
            LocalizedText(
                en:
                    "plain HTTP on \(listen): tokens and keys can be read in transit; listen on 127.0.0.1 and put a "
                    + "TLS proxy in front, or allow only the proxy to reach this port",
                zh: "在 \(listen) 上使用明文 HTTP：令牌和密钥可能在途中被读取；请监听 127.0.0.1 并在前面放 TLS 代理，"
                    + "或只让代理访问这个端口")
        ]
    }

    var priceWarnings: [LocalizedText] {
        catalog.uncheckedPrices.map { unchecked in
            [
                LocalizedText(
                    en: "the catalogue: \(unchecked.sentence.en)", zh: "商品目录：\(unchecked.sentence.zh)")
            ]
        } ?? []
    }

    var rootWarnings: [LocalizedText] {
        (apple.roots ?? []).compactMap(Certificate.init(der:)).filter { !$0.isAuthority }.map { certificate in
            LocalizedText(
                en: "apple.roots: \(shown(certificate.subject)) is not a certificate authority but a signer's own "
                    + "certificate; use the root certificate that issued it",
                zh: "apple.roots：\(shown(certificate.subject)) 不是证书颁发机构，而是签名者自己的证书；请改用签发它的根证书")
        }
    }
}

extension ListenAddress {
    /// Whether only this machine can connect.
    var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}

/// Secrets that are long enough and still easy to guess. A rough check: a secret that passes may still be weak.
enum WeakSecret {
    /// Thirty-two random bytes contain about thirty different ones; in base64, about twenty-five characters.
    private static let minimumDifferentBytes = 12

    static func isWeak(_ secret: [UInt8]) -> Bool {
        Set(secret).count < minimumDifferentBytes || isRepeated(secret) || isWords(secret)
    }

    /// A repeated block: `abcabcabc`.
    private static func isRepeated(_ secret: [UInt8]) -> Bool {
        (1...max(1, secret.count / 2)).contains { period in
            zip(secret, secret.dropFirst(period)).allSatisfy { $0 == $1 }
        }
    }

    /// Letters of one case with blanks and dashes between them, possibly with a capital or a number at an end.
    private static func isWords(_ secret: [UInt8]) -> Bool {
        guard secret.allSatisfy({ (0x20...0x7E).contains($0) }) else { return false }
        let small = secret.filter { (0x61...0x7A).contains($0) }.count
        let capital = secret.filter { (0x41...0x5A).contains($0) }.count
        let others = secret.count - small - capital
        let isHexadecimal = secret.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x46).contains($0 & 0xDF)
        }
        return !isHexadecimal && max(small, capital) * 8 >= (secret.count - others) * 7 && others * 4 <= secret.count
    }
}
