import TillBilling
import TillCrypto
import TillLedger
import TillSQL

/// Everything the ledger knows about one order, read in one snapshot.
struct OrderDetail: Sendable {
    /// Transactions shown in full. A subscription may have hundreds, and each has a proof to read.
    static let transactionLimit = 12

    let order: Order
    let moves: [OrderMove]
    let transactions: [TransactionDetail]
    /// The transactions beyond the limit.
    let furtherTransactions: [TransactionTable.Stored]
    let refused: [RefusedProofTable.Entry]

    /// Nil if there is no such order.
    init?(_ id: OrderID, _ session: any Connection) throws {
        let orders = OrderTable(session)
        guard let stored = try orders.find(id) else { return nil }
        order = stored.order
        moves = try orders.moves(of: stored.sequence)
        let all = try TransactionTable(session).list(orderSequence: stored.sequence)
        transactions = try all.prefix(Self.transactionLimit).map { try TransactionDetail($0, order: id, session) }
        furtherTransactions = Array(all.dropFirst(Self.transactionLimit))
        refused = try RefusedProofTable(session).list(claiming: id, limit: 50)
    }
}

/// Everything the ledger knows about one transaction.
struct TransactionDetail: Sendable {
    let transaction: TransactionTable.Stored
    let order: OrderID?
    let evidence: [EvidenceTable.Entry]
    let grant: Grant?
    let postings: [Posting]
    /// The current owner of the grant.
    let holder: UserID?
    /// The basis of the ownership.
    let basis: OwnershipBasis?
    /// For a basis other than a token: how long points are held, and the token that contests the ownership.
    let ownership: OwnershipTable.Stored?
    /// The transfers that led to the current owner, oldest first.
    let transfers: [Transfer]
    let proof: ProofFacts?

    init(_ transaction: TransactionTable.Stored, order: OrderID?, _ session: any Connection) throws {
        self.transaction = transaction
        self.order = order
        evidence = try EvidenceTable(session).list(transaction: transaction.sequence)
        grant = try GrantTable(session).find(transaction: transaction.sequence)
        postings =
            try grant == nil ? [] : LedgerTable(session).postings(grantOf: transaction.sequence).map(\.posting)
        holder = try grant.map { try HolderTable(session).present($0, of: transaction.sequence).userID }
        ownership = try grant == nil ? nil : OwnershipTable(session).find(transaction.sequence)
        basis = grant.map { [ownership] _ in ownership?.basis ?? .token }
        transfers = try TransferTable(session).list(grant: transaction.sequence).map(\.transfer)
        proof = try ProofTable(session).find(transaction: transaction.sequence).map(ProofFacts.init)
    }

    /// Nil if there is no such transaction.
    init?(sequence: Int64, _ session: any Connection) throws {
        guard let transaction = try TransactionTable(session).find(sequence: sequence) else { return nil }
        let order = try transaction.orderSequence.flatMap { try OrderTable(session).find(sequence: $0)?.order.id }
        try self.init(transaction, order: order, session)
    }
}
