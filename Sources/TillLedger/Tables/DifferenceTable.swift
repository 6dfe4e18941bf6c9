import TillBilling
import TillSQL

/// `differences`: what each reconciliation found, in the order of processing. Never edited.
public struct DifferenceTable {
    private static let columns: Columns = """
        kind, environment, transaction_id, order_id, notification_uuid, was, now, purchased_at, found_at
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let difference: Difference
        public let foundAt: Instant
    }

    /// Records a difference and counts it.
    public func insert(_ difference: Difference, run: Int64, at now: Instant) throws {
        try connection.insert(
            "INSERT INTO differences (run, \(Self.columns)) VALUES (\(marks: 10))",
            [
                .integer(run), .text(difference.kind.rawValue), difference.environment.column,
                .optional(difference.transactionID?.text), .optional(difference.orderID),
                .optional(difference.notificationID), .text(difference.was), .text(difference.now),
                .optional(difference.purchasedAt?.milliseconds), .instant(now),
            ])
        try ReconciliationTable(connection).add(1, to: difference.kind.rawValue, of: run, in: difference.environment)
    }

    /// The differences of one run, in their order, after a row id.
    public func list(run: Int64, after rowID: Int64, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns) FROM differences WHERE run = ?1 AND row_id > ?2 ORDER BY row_id \
            LIMIT ?3
            """, [.integer(run), .integer(rowID), .integer(Int64(limit))]
        ) { row in
            guard let kind = Difference.Kind(rawValue: row.text("kind")) else { throw row.unreadable("a difference") }
            var difference = Difference(
                kind, in: try row.environment("environment"),
                transaction: row.optionalText("transaction_id").map { TransactionID($0) },
                order: row.isNull("order_id") ? nil : try row.uniqueID("order_id"), was: row.text("was"),
                now: row.text("now"))
            difference.notificationID = row.optionalText("notification_uuid")
            difference.purchasedAt = row.optionalInstant("purchased_at")
            return Stored(rowID: row.integer("row_id"), difference: difference, foundAt: row.instant("found_at"))
        }
    }

    /// Whether such a difference of an order is already recorded: an unchanged difference is not reported again every
    /// day.
    public func has(_ kind: Difference.Kind, of order: OrderID) throws -> Bool {
        try connection.first(
            "SELECT 1 FROM differences WHERE order_id = ?1 AND kind = ?2", [.id(order), .text(kind.rawValue)]
        ) { _ in true } ?? false
    }

    public func has(_ kind: Difference.Kind, of transaction: TransactionID, in environment: StoreEnvironment) throws
        -> Bool
    {
        try connection.first(
            "SELECT 1 FROM differences WHERE transaction_id = ?1 AND kind = ?2 AND environment = ?3",
            [.text(transaction.text), .text(kind.rawValue), environment.column]
        ) { _ in true } ?? false
    }
}
