import TillAPI
import TillAppStore
import TillBilling
import TillJSON
import TillLedger
import TillSQL

/// Asks Apple for a test notification, and follows it until it is in the ledger.
struct NotificationCheck: Sendable {
    let doctor: Doctor
    let probe: AppleProbe
    let ledger: (any Database)?
    let isServerRunning: Bool

    func run() async -> [DoctorCheck] {
        guard let api = probe.api else {
            return [
                .notChecked(
                    .notifications, because: LocalizedText(en: "there is no API key", zh: "没有 API 密钥"),
                    do: LocalizedText(en: "See the check api_key.", zh: "请看检查项 api_key。"))
            ]
        }
        guard isServerRunning, let ledger else {
            return [
                .notChecked(
                    .notifications,
                    because: LocalizedText(en: "no server of this ledger runs", zh: "此账本的服务器没有运行"),
                    do: LocalizedText(en: "See the check server.", zh: "请看检查项 server。"))
            ]
        }
        return await withTaskGroup(of: DoctorCheck.self) { group in
            for environment in [StoreEnvironment.production, .sandbox]
            where doctor.configuration.apple.environments.contains(environment) {
                group.addTask { await check(environment, api, ledger) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static let inConnect = LocalizedText(
        en: "Set the URL in App Store Connect (App Information, App Store Server Notifications, version 2): "
            + "https://HOST\(Paths.appleNotifications).",
        zh: "请在 App Store Connect 中设置 URL（App 信息 → App Store 服务器通知，版本 2）："
            + "https://主机名\(Paths.appleNotifications)。")

    private func check(_ environment: StoreEnvironment, _ api: ServerAPI, _ ledger: any Database) async -> DoctorCheck {
        let name = environment.rawValue
        let sent: SentNotification?
        do throws(ServerAPIError) {
            let token = try await api.requestTestNotification(in: environment)
            sent = try await attempt(token, environment, api)
        } catch {
            let isMissing = error.code == .serverNotificationURLNotFound
            return isMissing
                ? .error(
                    .notifications,
                    LocalizedText(
                        en: "\(name): no notification URL is set, so Apple sends no notification.",
                        zh: "\(name)：没有设置通知 URL，Apple 不会发送任何通知。"), do: Self.inConnect)
                : .notChecked(
                    .notifications,
                    because: LocalizedText(
                        en: "\(name) sent no test notification: \(error.sentence.en)",
                        zh: "\(name) 没有发送测试通知：\(error.sentence.zh)"),
                    do: LocalizedText(en: "See the check api_key.", zh: "请看检查项 api_key。"))
        }
        guard let sent, let result = sent.attempts.last?.result else {
            let seconds = doctor.effects.notificationPatience / 1_000
            return .warning(
                .notifications,
                LocalizedText(
                    en: "\(name): Apple took the request, and sent nothing within \(seconds) s.",
                    zh: "\(name)：Apple 接受了请求，但 \(seconds) 秒内没有发送。"),
                do: LocalizedText(
                    en: "Run `till apple test-notification` in a few minutes.",
                    zh: "请过几分钟运行 `till apple test-notification`。"))
        }
        guard result == .success else {
            let reason = Self.explanation(result)
            return .error(
                .notifications,
                LocalizedText(
                    en: "\(name): Apple could not deliver the test notification: \(result.rawValue), \(reason.en).",
                    zh: "\(name)：Apple 无法送达测试通知：\(result.rawValue)，\(reason.zh)。"), do: Self.cure(result))
        }
        return await arrived(sent, name, ledger)
    }

    /// Apple's first attempt; nil if there is none in time. Until then Apple answers 4040008 (facts/server-api §3).
    private func attempt(
        _ token: String, _ environment: StoreEnvironment, _ api: ServerAPI
    ) async throws(ServerAPIError) -> SentNotification? {
        var (waited, pause): (Int64, Int64) = (0, 250)
        while waited < doctor.effects.notificationPatience {
            await probe.effects.pause(pause)
            waited += pause
            pause = min(pause * 2, 2_000)
            do throws(ServerAPIError) {
                let sent = try await api.testNotificationStatus(of: token, in: environment)
                if !sent.attempts.isEmpty { return sent }
            } catch {
                guard error.code == .testNotificationNotFound else { throw error }
            }
        }
        return nil
    }

    /// Apple has delivered it: it must be in this ledger.
    private func arrived(_ sent: SentNotification, _ name: String, _ ledger: any Database) async -> DoctorCheck {
        let inspected = ProofInspection.inspect(
            Array(sent.notification.jws.utf8), policy: InspectionPolicy(now: doctor.process.clock))
        guard let uuid = inspected.fields["payload"]?["notificationUUID"]?.string else {
            return .error(
                .notifications,
                LocalizedText(
                    en: "\(name): Apple's test notification can't be read.", zh: "\(name)：无法读取 Apple 的测试通知。"),
                do: LocalizedText(en: "Report this as a fault of Till.", zh: "请将此作为 Till 的故障上报。"))
        }
        do {
            let (isStored, isForeign) = try await ledger.read { connection in
                (
                    try NotificationTable(connection).contains(uuid),
                    try ForeignNotificationTable(connection).contains(uuid)
                )
            }
            if isStored {
                return .ok(
                    .notifications, en: "\(name): a test notification arrived in this ledger.",
                    zh: "\(name)：测试通知已到达此账本。")
            }
            return isForeign
                ? .error(
                    .notifications,
                    LocalizedText(
                        en: "\(name): the test notification arrived, and is for another app or environment.",
                        zh: "\(name)：测试通知已到达，但属于另一个 App 或环境。"),
                    do: LocalizedText(
                        en: "Compare apple.bundleId, apple.appAppleId and apple.environments with App Store Connect.",
                        zh: "请与 App Store Connect 核对 apple.bundleId、apple.appAppleId 与 apple.environments。"))
                : .error(
                    .notifications,
                    LocalizedText(
                        en: "\(name): Apple delivered the test notification, and not to this ledger: the URL belongs "
                            + "to another server.", zh: "\(name)：Apple 已送达测试通知，但不在此账本中：该 URL 属于另一台服务器。"),
                    do: Self.inConnect)
        } catch {
            return .failed(.notifications, error)
        }
    }

    // MARK: Apple's results

    /// What Apple met (facts/server-api, "sendAttemptResult").
    static func explanation(_ result: SendAttempt.Result) -> LocalizedText {
        switch result {
        case .timedOut: LocalizedText(en: "the server did not answer in time", zh: "服务器没有及时应答")
        case .tlsIssue: LocalizedText(en: "the TLS certificate or version is not accepted", zh: "TLS 证书或版本不被接受")
        case .circularRedirect: LocalizedText(en: "the URL redirects to itself", zh: "URL 循环重定向")
        case .noResponse: LocalizedText(en: "the server sent no answer", zh: "服务器没有应答")
        case .socketIssue: LocalizedText(en: "the connection failed", zh: "连接失败")
        case .unsupportedCharset: LocalizedText(en: "the answer's character set is unknown", zh: "应答的字符集未知")
        case .invalidResponse: LocalizedText(en: "the answer is not HTTP", zh: "应答不是 HTTP")
        case .prematureClose: LocalizedText(en: "the connection was closed early", zh: "连接过早关闭")
        case .unsuccessfulStatus:
            LocalizedText(
                en: "the server answered with another status than 200 to 206", zh: "服务器的应答状态不在 200 至 206 之间")
        default: LocalizedText(en: "Apple states no reason", zh: "Apple 没有说明原因")
        }
    }

    private static func cure(_ result: SendAttempt.Result) -> LocalizedText {
        switch result {
        case .tlsIssue:
            LocalizedText(
                en: "Serve the whole certificate chain of a public authority, over TLS 1.2 or later.",
                zh: "请使用公共机构签发的证书，提供完整证书链，并使用 TLS 1.2 或更高版本。")
        case .unsuccessfulStatus, .invalidResponse, .unsupportedCharset, .circularRedirect:
            LocalizedText(
                en:
                    "Have the proxy pass \(Paths.appleNotifications) unchanged; the server's log names the refusal.",
                zh: "请让代理原样转发 \(Paths.appleNotifications)；服务器日志会说明拒绝的原因。")
        default:
            LocalizedText(
                en: "Open port 443 of the public address to Apple's network 17.0.0.0/8, and check the proxy.",
                zh: "请向 Apple 的网段 17.0.0.0/8 开放公开地址的 443 端口，并检查代理。")
        }
    }
}
