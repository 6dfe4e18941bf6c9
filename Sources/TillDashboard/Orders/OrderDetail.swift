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
    /// What Apple charged; nil until it is paid, and if Apple stated no price.
    let paid: Money?
    let transactions: [TransactionDetail]
    /// The transactions beyond the limit.
    let furtherTransactions: [TransactionTable.Stored]
    let refused: [RefusedProofTable.Entry]

    /// Nil if there is no such order.
    init?(_ id: OrderID, _ connection: any Connection) throws {
        let orders = OrderTable(connection)
        guard let stored = try orders.find(id) else { return nil }
        order = stored.order
        moves = try orders.moves(of: stored)
        paid = try TransactionTable(connection).price(of: stored.order)
        let all = try TransactionTable(connection).list(orderRowID: stored.rowID)
        transactions = try all.prefix(Self.transactionLimit).map { try TransactionDetail($0, order: id, connection) }
        furtherTransactions = Array(all.dropFirst(Self.transactionLimit))
        refused = try RefusedProofTable(connection).list(claiming: id, limit: 50)
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
    let owner: UserID?
    /// The basis of the ownership.
    let basis: OwnershipBasis?
    /// For a basis other than a token: how long points are held, and the token that contests the ownership.
    let ownership: OwnershipTable.Stored?
    /// The transfers that led to the current owner, oldest first.
    let transfers: [Transfer]
    let proof: ProofFacts?

    init(_ transaction: TransactionTable.Stored, order: OrderID?, _ connection: any Connection) throws {
        self.transaction = transaction
        self.order = order
        evidence = try EvidenceTable(connection).list(transaction: transaction.rowID)
        grant = try GrantTable(connection).find(transaction: transaction.rowID)
        postings =
            try grant == nil ? [] : LedgerTable(connection).postings(grantOf: transaction.rowID).map(\.posting)
        owner = try grant.map { try GrantOwnerTable(connection).present($0, of: transaction.rowID).userID }
        ownership = try grant == nil ? nil : OwnershipTable(connection).find(transaction.rowID)
        basis = grant.map { [ownership] _ in ownership?.basis ?? .token }
        transfers = try TransferTable(connection).list(grant: transaction.rowID).map(\.transfer)
        proof = try ProofTable(connection).find(transaction: transaction.rowID).map(ProofFacts.init)
    }

    /// Nil if there is no such transaction.
    init?(rowID: Int64, _ connection: any Connection) throws {
        guard let transaction = try TransactionTable(connection).find(rowID: rowID) else { return nil }
        let order = try transaction.orderRowID.flatMap { try OrderTable(connection).find(rowID: $0)?.order.id }
        try self.init(transaction, order: order, connection)
    }
}
