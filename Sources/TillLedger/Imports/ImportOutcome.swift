import TillBilling

/// How many rows ended how.
package struct ImportCounts: Sendable, Hashable {
    package var rows: Int64 = 0
    package var imported: Int64 = 0
    package var unchanged: Int64 = 0
    package var refused: Int64 = 0

    package init() {}

    package mutating func add(_ result: ImportOutcome.Result) {
        rows += 1
        switch result {
        case .imported: imported += 1
        case .unchanged: unchanged += 1
        case .refused: refused += 1
        case .waiting: break
        }
    }
}

/// How one row ended.
package struct ImportOutcome: Sendable {
    package enum Result: Sendable, Hashable {
        case imported
        /// The ledger has it already, for the same user.
        case unchanged
        case refused(ImportRefusal)
        /// Nothing is recorded: Apple has to be asked again.
        case waiting(ImportDelay)
    }

    package let line: Int64
    package let result: Result
    /// What it names: a transaction's id, the kind of points of a balance, or a token.
    package let subject: String?
    package let user: UserID?

    package init(line: Int64, result: Result, subject: String? = nil, user: UserID? = nil) {
        self.line = line
        self.result = result
        self.subject = subject
        self.user = user
    }
}

/// A row whose proof was checked.
struct PreparedRow: Sendable {
    enum Content: Sendable {
        case refused(ImportRefusal)
        /// Apple has not answered about it.
        case waiting(ImportDelay)
        /// Several for a receipt.
        case purchases([PreparedPurchase])
        case balance(ImportRow.Balance)
        case accountToken(UniqueID, UserID)
    }

    let line: Int64
    let content: Content

    var purchases: [PreparedPurchase] { if case .purchases(let all) = content { all } else { [] } }
}

struct PreparedPurchase: Sendable {
    let row: ImportRow.Purchase
    let transaction: PaidTransaction
    let proof: PurchaseProof
    /// Whether Apple signed what it says.
    let isSigned: Bool
    /// What Apple's answer about it makes impossible.
    var refusal: ImportRefusal?

    var user: UserID { row.user }
    var orderID: OrderID? { row.orderID }
    /// Whether Apple has to be asked for the signed transaction.
    var needsAnswer: Bool { proof.kind == .receipt }
}

/// The import under way, as its rows record it.
struct ImportRun: Sendable {
    let rowID: Int64
    let id: UniqueID
    let environment: StoreEnvironment
    let actor: String
    let beganAt: Instant

    func origin(for purchase: PreparedPurchase, opening order: OrderID?) -> PurchaseOrigin {
        var origin = PurchaseOrigin(
            source: .imported, caller: .backend(keyID: "import", naming: purchase.user))
        origin.actor = actor
        origin.importedOrder = order
        return origin
    }
}
