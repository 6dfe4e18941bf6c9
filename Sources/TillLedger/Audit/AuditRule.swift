import TillBilling
import TillSQL

/// A rule that every ledger satisfies at any moment (docs/invariants.md). The simulation, the soak test and
/// `till doctor` check the same rules.
public enum AuditRule: String, Sendable, Hashable, CaseIterable {
    case balances
    case orderMoves = "order_moves"
    case paidOrders = "paid_orders"
    case grants
    case grantedOnce = "granted_once"
    case events
    case proofs
    case finishTasks = "finish_tasks"
    case states
    case owners
    case merges
    case accountTokens = "account_tokens"
    case rights
    case references
    case seals

    /// What holds.
    public var sentence: LocalizedText {
        switch self {
        case .balances:
            LocalizedText(en: "Every balance is the sum of its postings.", zh: "每个余额都等于其分录之和。")
        case .orderMoves:
            LocalizedText(
                en: "An order's status makes only legal moves, and is that of its last move.",
                zh: "订单状态只作合法的变化，且等于最后一次变化的状态。")
        case .paidOrders:
            LocalizedText(en: "The transaction that an order names is in the ledger.", zh: "订单所记的交易存在于账本中。")
        case .grants:
            LocalizedText(en: "Every granted transaction has its grant.", zh: "每笔已发放的交易都有发放记录。")
        case .grantedOnce:
            LocalizedText(
                en: "A transaction is granted again only after it went back to quarantine.",
                zh: "交易只有退回待认领之后才会再次发放。")
        case .events:
            LocalizedText(
                en: "Every grant that no import made has its event in the outbox.", zh: "每次发放（导入除外）都有发件箱事件。")
        case .proofs:
            LocalizedText(en: "Every transaction has its proof.", zh: "每笔交易都有凭证。")
        case .states:
            LocalizedText(
                en: "A transaction is granted, in quarantine or revoked by its last decision.",
                zh: "交易已发放、待认领或已撤销，取决于对它的最后一次决定。")
        case .owners:
            LocalizedText(
                en: "A purchase belongs to a customer whom an event told of it.",
                zh: "购买所属的客户，必有事件告知其归属。")
        case .merges:
            LocalizedText(
                en: "A guest belongs to the account to which the last transfer merged it.",
                zh: "游客所属的账户，即最后一次合并所转入的账户。")
        case .accountTokens:
            LocalizedText(
                en: "An account token belongs to the customer for whom it was registered.",
                zh: "账户令牌属于登记它时所指的客户。")
        case .rights:
            LocalizedText(
                en: "A purchase that may give a right is in its customer's list.", zh: "可能带来权益的购买都在其客户的列表中。")
        case .finishTasks:
            LocalizedText(
                en: "No transaction in quarantine is to be finished at Apple.",
                zh: "待认领的交易不会在 Apple 一侧被完成。")
        case .seals:
            LocalizedText(en: "Every sealed row is as it was sealed.", zh: "每个已封印的行都与封印时一致。")
        case .references:
            LocalizedText(en: "Every row that another row names exists.", zh: "被其他行引用的行都存在。")
        }
    }
}

/// A row that violates a rule.
public struct AuditViolation: Sendable, Hashable {
    public let rule: AuditRule
    /// `order 0198…`, `transaction 2000…`; for a balance its environment, user and currency.
    public let about: String
    public let text: LocalizedText

    init(_ rule: AuditRule, _ about: String, en: String, zh: String) {
        self.rule = rule
        self.about = about
        text = LocalizedText(en: "\(about): \(en)", zh: "\(about)：\(zh)")
    }
}

/// Row ids after one id, up to another.
struct AuditSlice: Sendable {
    let after: Int64
    let last: Int64

    static let everything = AuditSlice(after: .min, last: .max)

    var values: [SQLValue] { [.integer(after), .integer(last)] }
}

/// How one table is checked against rules, slice by slice. A slice is one statement, so it sees one moment of the
/// ledger.
struct AuditWalk: Sendable {
    let rules: [AuditRule]
    /// Selects the greatest row id as `last`.
    let last: SQL
    let find: @Sendable (any Connection, AuditSlice) throws -> [AuditViolation]

    init(
        rules: [AuditRule], last: SQL, find: @escaping @Sendable (any Connection, AuditSlice) throws -> [AuditViolation]
    ) {
        (self.rules, self.last, self.find) = (rules, last, find)
    }

    init(
        rule: AuditRule, last: SQL, find: @escaping @Sendable (any Connection, AuditSlice) throws -> [AuditViolation]
    ) {
        self.init(rules: [rule], last: last, find: find)
    }
}
