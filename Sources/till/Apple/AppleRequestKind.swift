import TillAppStore
import TillBilling
import TillJSON

/// The actions of `till apple`.
enum AppleRequestKind: String, CaseIterable, Sendable {
    case transaction
    case history
    case refunds
    case subscriptions
    case appTransaction = "app-transaction"
    case order
    case notifications
    case testNotification = "test-notification"
    case finish
    case setToken = "set-token"

    /// Its arguments on the command line.
    var arguments: [String] {
        switch self {
        case .transaction, .history, .refunds, .subscriptions, .appTransaction, .finish: ["TRANSACTION-ID"]
        case .order: ["ORDER-ID"]
        case .setToken: ["TRANSACTION-ID", "UUID"]
        case .notifications, .testNotification: []
        }
    }

    var summary: LocalizedText {
        switch self {
        case .transaction: LocalizedText(en: "the current state of one transaction at Apple", zh: "一笔交易在 Apple 的当前状态")
        case .history: LocalizedText(en: "all transactions of the customer in this app", zh: "该客户在本应用的全部交易")
        case .refunds: LocalizedText(en: "all refunds of the customer in this app", zh: "该客户在本应用的全部退款")
        case .subscriptions: LocalizedText(en: "the subscriptions of the customer", zh: "该客户的订阅")
        case .appTransaction: LocalizedText(en: "the customer's download of the app", zh: "该客户下载本应用的记录")
        case .order:
            LocalizedText(en: "the purchases of an order number from Apple's receipt mail", zh: "Apple 收据邮件中的订单号对应的购买")
        case .notifications: LocalizedText(en: "the notifications of the last --days", zh: "最近 --days 天的通知")
        case .testNotification:
            LocalizedText(en: "sends a test notification and waits until it arrives or fails", zh: "发送测试通知，并等到送达或失败")
        case .finish:
            LocalizedText(
                en: "finishes the transaction at Apple, so that devices stop delivering it",
                zh: "在 Apple 完成这笔交易（finish），设备不再送来")
        case .setToken:
            LocalizedText(
                en: "sets the appAccountToken, which names the owner of the purchase", zh: "设置 appAccountToken，即这笔购买的归属"
            )
        }
    }

    /// One line of the command's help.
    func line(_ language: Language) -> String {
        let usage = ([rawValue] + arguments).joined(separator: " ")
        return "  " + usage + String(repeating: " ", count: max(1, 33 - usage.count)) + summary(language)
    }
}

/// The answer to a question.
struct AppleReport: Sendable {
    let kind: AppleRequestKind
    var environment: StoreEnvironment?
    /// The signed parts of the answer, each verified.
    var proofs: [(jws: String, inspection: ProofInspection)] = []
    /// The unsigned parts of the answer.
    var members: [String: JSONValue] = [:]

    /// Whether every proof in it is Apple's and for the configured app.
    var isGenuine: Bool { proofs.allSatisfy(\.inspection.isOK) }

    var json: JSONValue {
        var object = members
        object["question"] = .string(kind.rawValue)
        object["environment"] = environment.map { .string($0.rawValue) } ?? .null
        object["proofs"] = .array(
            proofs.map { proof in
                [
                    "signed": .string(proof.jws), "kind": .string(proof.inspection.kind.rawValue),
                    "verdict": .string(proof.inspection.verdict), "detail": .string(proof.inspection.detail),
                    "payload": proof.inspection.fields["payload"] ?? .null,
                ]
            })
        return .object(object)
    }

    func lines(_ language: Language) -> [String] {
        let none = LocalizedText(en: "nothing", zh: "没有内容")
        let done = LocalizedText(en: "done", zh: "完成")
        var lines = members.sorted { $0.key < $1.key }.map { "\($0.key)  \(Self.shown($0.value, $0.key))" }
        for (index, proof) in proofs.enumerated() {
            let name = proof.inspection.fields["payload"]?["transactionId"]?.string
            let number = "\(index + 1)/\(proofs.count)"
            lines.append("\(number)  \(proof.inspection.kind.rawValue)  \(proof.inspection.verdict)  \(name ?? "")")
            for (key, value) in (proof.inspection.fields["payload"]?.object ?? [:]).sorted(by: { $0.key < $1.key }) {
                lines.append("  \(key)  \(Self.shown(value, key))")
            }
        }
        if let environment { lines.append(environment.rawValue) }
        if proofs.isEmpty, members.isEmpty {
            lines.insert((kind == .finish || kind == .setToken ? done : none)(language), at: 0)
        }
        return lines
    }

    /// A value of Apple's on one line: dates are formatted, nested tokens shortened.
    private static func shown(_ value: JSONValue, _ key: String) -> String {
        if key.hasSuffix("Date"), let milliseconds = value.int {
            return Instant(milliseconds: milliseconds).rfc3339
        }
        return till.shown(value.string ?? value.encoded())
    }
}
