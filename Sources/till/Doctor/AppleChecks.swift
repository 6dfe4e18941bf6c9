import TillAppStore
import TillBilling
import TillLedger
import TillSQL

/// The checks that ask Apple, or the configured emulator: the API key, the clock and the shared secret.
struct AppleChecks: Sendable {
    let configuration: Configuration
    let probe: AppleProbe
    let ledger: (any Database)?

    private var apple: LocalizedText {
        configuration.appleService.asksEmulator
            ? LocalizedText(en: "the emulated store", zh: "模拟商店") : LocalizedText(en: "Apple", zh: "Apple ")
    }

    /// Those of Apple's; a server for Xcode's tests asks nothing.
    private var environments: [StoreEnvironment] {
        [.production, .sandbox].filter(configuration.apple.environments.contains)
    }

    func run() async -> [DoctorCheck] {
        guard let first = environments.first else {
            return [DoctorCheck.Name.apiKey, .clock, .sharedSecret].map {
                .ok(
                    $0, en: "Not needed: a server for Xcode's local testing asks Apple nothing.",
                    zh: "不需要：面向 Xcode 本地测试的服务器不询问 Apple。")
            }
        }
        var outage: AppleConnectionError?
        do throws(AppleConnectionError) { try await probe.greet(first) } catch { outage = error }
        let key = await apiKey(outage)
        return key + [clock(outage), await sharedSecret()]
    }

    // MARK: The key

    /// What a server without an In-App Purchase key can't do.
    static let withoutKey: [LocalizedText] = [
        LocalizedText(
            en: "receipts are not exchanged for signed transactions, so the buyer in them is not proven",
            zh: "收据无法换取签名交易，收据中的买家得不到证明"),
        LocalizedText(en: "purchases that no app reported are not found by reconciliation", zh: "对账无法找回 App 没有上报的购买"),
        LocalizedText(
            en: "transactions that a phone left open are not finished at Apple", zh: "手机没有完成的交易不会在 Apple 一侧完成"),
        LocalizedText(en: "claims by Apple's order number wait for ever", zh: "凭 Apple 订单号的认领会一直等待"),
        LocalizedText(en: "Apple's refund requests get no answer", zh: "Apple 的退款询问得不到答复"),
        LocalizedText(en: "lost account tokens are not repaired at Apple", zh: "丢失的账户令牌不会在 Apple 一侧修正"),
        LocalizedText(en: "offers are not signed", zh: "无法签署优惠"),
        LocalizedText(en: "Apple's notifications can't be tested", zh: "无法测试 Apple 的通知"),
    ]

    private static let setKey = LocalizedText(
        en: "Create an In-App Purchase key (App Store Connect, Users and Access, Integrations) and set "
            + "apple.issuerId, apple.keyId and apple.privateKeyFile.",
        zh: "请创建 App 内购买项目密钥（App Store Connect → 用户和访问 → 集成），"
            + "并设置 apple.issuerId、apple.keyId 与 apple.privateKeyFile。")

    private func apiKey(_ outage: AppleConnectionError?) async -> [DoctorCheck] {
        guard let api = probe.api else {
            return Self.withoutKey.map { missing in
                .warning(
                    .apiKey,
                    LocalizedText(en: "Without an API key, \(missing.en).", zh: "没有 API 密钥：\(missing.zh)。"),
                    do: Self.setKey)
            }
        }
        if let outage { return [unreachable(outage)] }
        var checks: [DoctorCheck] = []
        for environment in environments { checks.append(await accepted(api, in: environment)) }
        return checks
    }

    private func unreachable(_ outage: AppleConnectionError) -> DoctorCheck {
        .error(
            .apiKey,
            LocalizedText(
                en: "The key could not be tried: \(apple.en) can't be reached (\(outage.reason.rawValue): "
                    + "\(shown(outage.detail))).",
                zh: "无法试用密钥：连接不到\(apple.zh)（\(outage.reason.rawValue)：\(shown(outage.detail))）。"),
            do: configuration.appleService.asksEmulator
                ? LocalizedText(
                    en: "Start the emulator (`till emulate`) at the address in apple.emulator.",
                    zh: "请在 apple.emulator 的地址启动模拟商店（`till emulate`）。")
                : LocalizedText(
                    en: "Allow this machine to connect to api.storekit.apple.com and api.storekit-sandbox.apple.com, "
                        + "port 443. If Apple itself is away, nothing is lost; the server repeats its requests.",
                    zh: "请允许本机连接 api.storekit.apple.com 与 api.storekit-sandbox.apple.com 的 443 端口。"
                        + "若 Apple 自身不可用，不会丢失任何内容，服务器会重复请求。"))
    }

    /// Asks about a transaction that does not exist: the refusal shows that the token was accepted.
    private func accepted(_ api: ServerAPI, in environment: StoreEnvironment) async -> DoctorCheck {
        let name = environment.rawValue
        do throws(ServerAPIError) {
            _ = try await api.transactionInfo(TransactionID("1"), in: environment)
        } catch {
            switch error {
            case .refused: break
            case .unauthorized: return refusedKey(name)
            case .outage(let outage): return unreachable(outage)
            default:
                return .notChecked(
                    .apiKey,
                    because: LocalizedText(
                        en: "\(name) did not answer the question: \(error.sentence.en)",
                        zh: "\(name) 没有回答：\(error.sentence.zh)"),
                    do: LocalizedText(en: "Run `till doctor` again later.", zh: "请稍后再次运行 `till doctor`。"))
            }
        }
        return .ok(.apiKey, en: "\(name): \(apple.en) accepts the key.", zh: "\(name)：\(apple.zh)接受此密钥。")
    }

    private func refusedKey(_ environment: String) -> DoctorCheck {
        let isSkewed = probe.skew.map { abs($0) > Self.clockWarning } ?? false
        return .error(
            .apiKey,
            LocalizedText(
                en: "\(environment): \(apple.en) refuses the key (401).", zh: "\(environment)：\(apple.zh)拒绝此密钥（401）。"),
            do: isSkewed
                ? LocalizedText(
                    en: "First mend the clock (see the check clock): a token with a wrong time is refused like a wrong "
                        + "key.",
                    zh: "请先修正时钟（见检查项 clock）：时间不对的令牌与密钥不对一样会被拒绝。")
                : LocalizedText(
                    en: "Compare apple.keyId, apple.issuerId, apple.bundleId and the .p8 file with App Store Connect; "
                        + "the key must be an In-App Purchase key that was not revoked. Production may refuse every "
                        + "key before the app's first release.",
                    zh: "请与 App Store Connect 核对 apple.keyId、apple.issuerId、apple.bundleId 与 .p8 文件；"
                        + "密钥必须是未撤销的 App 内购买项目密钥。App 首次发布之前，生产环境可能拒绝任何密钥。"))
    }

    // MARK: The clock

    /// Milliseconds.
    static let clockWarning: Int64 = 30_000
    /// The token of a request is valid for five minutes from its signing, by this machine's clock.
    static let clockError: Int64 = BearerTokens.life * 1_000

    private func clock(_ outage: AppleConnectionError?) -> DoctorCheck {
        guard let skew = probe.skew else {
            return .notChecked(
                .clock,
                because: outage == nil
                    ? LocalizedText(en: "\(apple.en) stated no time", zh: "\(apple.zh)没有给出时间")
                    : LocalizedText(en: "\(apple.en) can't be reached", zh: "连接不到\(apple.zh)"),
                do: LocalizedText(en: "See the check api_key.", zh: "请看检查项 api_key。"))
        }
        let (amount, seconds) = (shortDuration(seconds: abs(skew) / 1_000), abs(skew) / 1_000)
        let detail = LocalizedText(
            en: "This machine's clock is \(amount) \(skew > 0 ? "ahead of" : "behind") that of \(apple.en).",
            zh: "本机时钟比\(apple.zh)的\(skew > 0 ? "快" : "慢") \(amount)。")
        let action =
            configuration.appleService.asksEmulator
            ? LocalizedText(
                en: "If the emulator's clock was advanced on purpose, the server follows it; otherwise run a time "
                    + "service such as chrony.",
                zh: "若有意拨快了模拟商店的时钟，服务器会跟随它；否则请运行 chrony 之类的时间服务。")
            : LocalizedText(
                en: "Run a time service such as chrony or systemd-timesyncd.",
                zh: "请运行 chrony 或 systemd-timesyncd 之类的时间服务。")
        guard abs(skew) > Self.clockWarning else {
            return .ok(
                .clock, en: "Within \(max(1, seconds)) s of that of \(apple.en).",
                zh: "与\(apple.zh)的时钟相差不到 \(max(1, seconds)) 秒。")
        }
        guard abs(skew) > Self.clockError else { return .warning(.clock, detail, do: action) }
        return .error(
            .clock,
            detail.joined(
                with: LocalizedText(
                    en: "Tokens for Apple's API live for \(BearerTokens.life) s, so Apple refuses every request; "
                        + "receivers of webhooks refuse signatures of that age too.",
                    zh: "发给 Apple API 的令牌有效 \(BearerTokens.life) 秒，因此 Apple 会拒绝所有请求；"
                        + "webhook 的接收方也会拒绝这样的签名时间。")), do: action)
    }

    // MARK: The shared secret

    private func sharedSecret() async -> DoctorCheck {
        let copy = LocalizedText(
            en: "Copy the app-specific shared secret from App Store Connect again.",
            zh: "请从 App Store Connect 重新复制 App 专用共享密钥。")
        let facts: (receipt: [UInt8]?, refused: Int64)
        do {
            facts =
                try await ledger?.read { connection in
                    (
                        try ProofTable(connection).newestReceipt(),
                        try WaitingProofTable(connection)
                            .count(waitingBecause: SignedTransactionLookup.Answer.wrongSecret)
                    )
                } ?? (nil, 0)
        } catch {
            return .failed(.sharedSecret, error)
        }
        guard let client = probe.verifyReceipt else {
            return facts.receipt == nil || configuration.appleService.key != nil
                ? .ok(.sharedSecret, en: "None is configured, and none is needed.", zh: "没有配置，也不需要。")
                : .warning(
                    .sharedSecret,
                    LocalizedText(
                        en: "The ledger holds receipts, and neither a shared secret nor an API key is configured.",
                        zh: "账本中有收据，但既没有配置共享密钥，也没有配置 API 密钥。"), do: Self.setKey)
        }
        let refused = DoctorCheck.error(
            .sharedSecret,
            LocalizedText(
                en: "Apple refuses apple.sharedSecret (21004); \(facts.refused) receipts wait.",
                zh: "Apple 拒绝 apple.sharedSecret（21004）；有 \(facts.refused) 份收据等待处理。"), do: copy)
        if facts.refused > 0, configuration.appleService.key == nil { return refused }
        guard let receipt = facts.receipt, let request = try? VerifyReceiptRequest(receipt: receipt) else {
            return .notChecked(
                .sharedSecret,
                because: LocalizedText(
                    en: "the ledger holds no recent receipt, and Apple names a wrong secret (21004) only for a genuine "
                        + "receipt", zh: "账本中没有近期的收据，而 Apple 只对真实的收据指出共享密钥不正确（21004）"),
                do: LocalizedText(
                    en: "Run `till doctor` again after the first receipt.",
                    zh: "请在收到第一份收据之后再次运行 `till doctor`。"))
        }
        switch await client.verify(request) {
        case .misconfigured: return refused
        case .answered, .refused:
            return .ok(.sharedSecret, en: "\(apple.en) accepts it.", zh: "\(apple.zh)接受它。")
        case .retry(let reason, _):
            return .notChecked(
                .sharedSecret,
                because: LocalizedText(
                    en: "verifyReceipt gave no answer (\(reason))", zh: "verifyReceipt 没有应答（\(reason)）"),
                do: LocalizedText(en: "Run `till doctor` again later.", zh: "请稍后再次运行 `till doctor`。"))
        }
    }
}
