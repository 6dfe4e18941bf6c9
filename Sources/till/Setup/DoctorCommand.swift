import TillBilling
import TillLedger
import TillSQL
import TillSQLite

extension Command {
    /// `till doctor`: finds problems in the ledger and names their cures.
    static let doctor = Command(
        "doctor",
        summary: LocalizedText(en: "check the ledger for problems that need attention", zh: "检查账本中需要处理的问题"),
        discussion: LocalizedText(
            en: """
                Reads the configuration and the ledger, with or without a running server, and changes nothing.
                Ends with 1 if any check is an error. --json prints {"checks": [{"name", "status", "detail",
                "action"}]}; a status is ok, warning or error.
                """,
            zh: """
                读取配置与账本，服务器运行与否均可，不作任何更改。任何一项检查为 error 时以 1 结束。
                --json 输出 {"checks": [{"name", "status", "detail", "action"}]}；status 为 ok、warning 或 error。
                """),
        flags: Configuration.flags
    ) { call in
        let configuration = try Configuration.load(for: call)
        let checks = try await DoctorCheck.ledger(of: configuration)
        if call.wantsJSON {
            try call.print(DoctorCheck.Document(checks: checks.map { $0.reply(in: call.language) }))
        } else {
            for check in checks {
                let reply = check.reply(in: call.language)
                call.console.print("\(reply.status)  \(reply.name)  \(reply.detail)")
                if !reply.action.isEmpty { call.console.print("    → \(reply.action)") }
            }
        }
        return checks.contains { $0.status == .error } ? .refused : .done
    }
}

/// The result of one check.
struct DoctorCheck: Sendable {
    enum Status: String, Sendable {
        case ok, warning, error
    }

    let name: String
    let status: Status
    let detail: LocalizedText
    /// The cure; empty if the check passed.
    var action = LocalizedText(en: "", zh: "")

    struct Document: Encodable {
        let checks: [Reply]
    }

    struct Reply: Encodable {
        let name: String
        let status: String
        let detail: String
        let action: String
    }

    func reply(in language: Language) -> Reply {
        Reply(name: name, status: status.rawValue, detail: detail[language], action: action[language])
    }

    /// A customer's payments come from few Apple Accounts: a phone and a tablet, perhaps a second storefront.
    static let appleAccountsOfOneCustomer: Int64 = 3

    static func ledger(of configuration: Configuration) async throws -> [DoctorCheck] {
        let path: String
        switch configuration.database {
        case .sqlite(let file): path = file
        }
        let ledger: SQLiteDatabase
        do {
            ledger = try SQLiteDatabase.open(path: path, role: .operator, options: .init(.ledger))
        } catch {
            let failure = error.failure(ledger: shown(path))
            return [
                DoctorCheck(
                    name: "ledger", status: .error, detail: failure.reasons.first ?? LocalizedText(""),
                    action: LocalizedText(
                        en: "Set the file in `database`; `till serve` creates a new one.",
                        zh: "请在 `database` 中指明文件；`till serve` 会创建新文件。"))
            ]
        }
        do {
            let found = try await ledger.read { connection in
                [
                    DoctorCheck(
                        name: "ledger", status: .ok, detail: LocalizedText(en: "The ledger can be read.", zh: "可以读取。")),
                    sharedTokens(
                        try SharedToken.list(moreThan: appleAccountsOfOneCustomer, limit: 20, connection)),
                    try quarantine(connection),
                    try receipts(configuration, connection),
                ] + offers(configuration)
            }
            await ledger.close()
            return found
        } catch {
            await ledger.close()
            throw error
        }
    }

    private static func sharedTokens(_ tokens: [SharedToken]) -> DoctorCheck {
        guard let first = tokens.first else {
            return DoctorCheck(
                name: "shared_tokens", status: .ok,
                detail: LocalizedText(
                    en: "No appAccountToken occurs in payments of more than \(appleAccountsOfOneCustomer) "
                        + "Apple Accounts.",
                    zh: "没有任何 appAccountToken 出现在超过 \(appleAccountsOfOneCustomer) 个 Apple 账户的付款中。"))
        }
        let list = tokens.map { "\($0.token) (\($0.appleAccounts))" }.joined(separator: ", ")
        return DoctorCheck(
            name: "shared_tokens", status: .warning,
            detail: LocalizedText(
                en: "\(tokens.count) appAccountTokens occur in payments of several Apple Accounts, \(first.token) in "
                    + "\(first.payments) payments of \(first.appleAccounts) accounts: \(list)",
                zh: "有 \(tokens.count) 个 appAccountToken 出现在多个 Apple 账户的付款中，其中 \(first.token) 出现在 "
                    + "\(first.appleAccounts) 个账户的 \(first.payments) 笔付款中：\(list)"),
            action: LocalizedText(
                en: "Look for a constant UUID in the app: each payment needs its order's id, or a UUID of the "
                    + "account.",
                zh: "请检查 App 中是否写死了某个 UUID：每笔付款应带自己的订单号，或账户自己的 UUID。"))
    }

    /// How the server learns whose purchase a receipt is, and whether Apple refuses the shared secret.
    private static func receipts(
        _ configuration: Configuration, _ connection: any Connection
    ) throws -> DoctorCheck {
        if let warning = configuration.receiptWarnings.first {
            return DoctorCheck(
                name: "receipts", status: .warning, detail: warning,
                action: LocalizedText(
                    en: "Set apple.issuerId, apple.keyId and apple.privateKeyFile; or apple.sharedSecretFile.",
                    zh: "请设置 apple.issuerId、apple.keyId 与 apple.privateKeyFile；或设置 apple.sharedSecretFile。"))
        }
        let wrongSecret = SignedTransactionLookup.Answer.wrongSecret
        let refused = try WaitingProofTable(connection).count(waitingBecause: wrongSecret)
        guard refused == 0 || configuration.appleService.key != nil else {
            return DoctorCheck(
                name: "receipts", status: .error,
                detail: LocalizedText(
                    en: "Apple refuses apple.sharedSecret (21004); \(refused) receipts wait.",
                    zh: "Apple 拒绝 apple.sharedSecret（21004）；有 \(refused) 份收据等待处理。"),
                action: LocalizedText(
                    en: "Copy the app-specific shared secret from App Store Connect again.",
                    zh: "请从 App Store Connect 重新复制 App 专用共享密钥。"))
        }
        let isByKey = configuration.appleService.key != nil
        return DoctorCheck(
            name: "receipts", status: .ok,
            detail: LocalizedText(
                en: isByKey
                    ? "Signed copies are fetched with the In-App Purchase Key." : "Apple's verifyReceipt is asked.",
                zh: isByKey ? "使用 App 内购买项目密钥获取签名交易。" : "向 Apple 的 verifyReceipt 查询。"))
    }

    /// No check if the catalogue opens no offer to users.
    private static func offers(_ configuration: Configuration) -> [DoctorCheck] {
        configuration.offerWarnings.map { warning in
            DoctorCheck(
                name: "offers", status: .warning, detail: warning,
                action: LocalizedText(
                    en: "Set apple.issuerId, apple.keyId and apple.privateKeyFile.",
                    zh: "请设置 apple.issuerId、apple.keyId 与 apple.privateKeyFile。"))
        }
    }

    private static func quarantine(_ connection: any Connection) throws -> DoctorCheck {
        let waiting = try TransactionTable(connection).quarantined(limit: 1_000).count
        guard waiting > 0 else {
            return DoctorCheck(
                name: "quarantine", status: .ok,
                detail: LocalizedText(en: "Every payment has its owner.", zh: "每笔付款都有归属。"))
        }
        let number = waiting == 1_000 ? "1,000+" : String(waiting)
        return DoctorCheck(
            name: "quarantine", status: .warning,
            detail: LocalizedText(en: "\(number) payments wait for an owner.", zh: "有 \(number) 笔付款等待认领。"),
            action: LocalizedText(
                en: "Review them on the dashboard's quarantine page; register account tokens, or assign their "
                    + "owners.",
                zh: "请在控制台的待认领页面查看；登记账户令牌，或决定其归属。"))
    }
}
