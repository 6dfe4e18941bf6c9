import TillBilling
import TillSQL

/// The rows of several tables that an erasure changes.
struct PersonTable {
    private let connection: any Connection
    init(_ connection: any Connection) { self.connection = connection }

    // MARK: The customer

    func find(_ user: UserID) throws -> Erasures.Person? {
        try connection.first(
            """
            SELECT customer_id, user_id, first_seen FROM customers WHERE app_id = 1 AND user_id = ?1 \
            AND erased_at IS NULL
            """, [.text(user.text)], Self.person)
    }

    /// Customers that are not erased, by their numbers.
    func list(after customer: Int64, limit: Int) throws -> [Erasures.Person] {
        try connection.query(
            """
            SELECT customer_id, user_id, first_seen FROM customers WHERE customer_id > ?1 AND erased_at IS NULL \
            ORDER BY customer_id LIMIT ?2
            """, [.integer(customer), .integer(Int64(limit))], Self.person)
    }

    private static func person(_ row: any Row) throws -> Erasures.Person {
        Erasures.Person(
            customerID: row.integer("customer_id"), user: UserID(row.text("user_id")),
            firstSeen: row.instant("first_seen"))
    }

    func rename(_ customer: Int64, to pseudonym: UserID, at now: Instant) throws {
        try connection.write(
            "UPDATE customers SET user_id = ?1, erased_at = ?2 WHERE customer_id = ?3",
            [.text(pseudonym.text), .instant(now), .integer(customer)])
    }

    func removeAccountTokens(_ customer: Int64) throws {
        try connection.write("DELETE FROM account_tokens WHERE customer_id = ?1", [.integer(customer)])
        try connection.write("DELETE FROM imported_tokens WHERE customer_id = ?1", [.integer(customer)])
    }

    /// Apple's order numbers stand on the person's invoices. A claim that waits for Apple ends without an answer.
    func clearClaims(_ customer: Int64, at now: Instant) throws {
        try connection.write(
            "UPDATE claims SET order_number = 'erased' WHERE customer_id = ?1 AND order_number IS NOT NULL",
            [.integer(customer)])
        try connection.write(
            """
            UPDATE claims SET state = 2, answer = '[]', detail = '', ended_at = ?1 WHERE customer_id = ?2 AND state = 0
            """, [.instant(now), .integer(customer)])
    }

    /// By the budget of the customer, which has an index.
    func removeRefusedProofs(_ customer: Int64) throws {
        try connection.write("DELETE FROM refused_proofs WHERE budget = ?1", [.text("user:\(customer)")])
    }

    func newestOrder(_ customer: Int64) throws -> OrderID? {
        try connection.first(
            "SELECT id FROM orders WHERE customer_id = ?1 ORDER BY row_id DESC LIMIT 1", [.integer(customer)]
        ) { try $0.uniqueID("id") }
    }

    // MARK: Orders

    struct ClearableOrder: Sendable {
        let rowID: Int64
        let id: OrderID
        let device: DeviceID?
        let phone: DeviceID?
    }

    func orders(of customer: Int64, after rowID: Int64, limit: Int) throws -> [ClearableOrder] {
        try connection.query(
            """
            SELECT row_id, id, device, phone FROM orders WHERE customer_id = ?1 AND row_id > ?2 ORDER BY row_id LIMIT ?3
            """, [.integer(customer), .integer(rowID), .integer(Int64(limit))]
        ) { row in
            ClearableOrder(
                rowID: row.integer("row_id"), id: try row.uniqueID("id"), device: Self.device(row, "device"),
                phone: Self.device(row, "phone"))
        }
    }

    /// Removes the metadata and the texts that apps sent when the order was cancelled, failed or deferred.
    func clear(_ order: ClearableOrder, device: DeviceID?, phone: DeviceID?) throws {
        try connection.write(
            """
            UPDATE orders SET device = ?1, phone = ?2, metadata = NULL, reason = CASE WHEN reason IS NOT NULL \
            AND status IN (3, 4, 5) THEN '' ELSE reason END WHERE row_id = ?3 AND (device IS NOT NULL \
            OR phone IS NOT NULL OR metadata IS NOT NULL OR reason <> '' AND status IN (3, 4, 5))
            """, [.optional(device?.text), .optional(phone?.text), .integer(order.rowID)])
        try connection.write(
            """
            UPDATE order_moves SET reason = '' WHERE order_row_id = ?1 AND status IN (3, 4, 5) AND reason <> ''
            """, [.integer(order.rowID)])
    }

    // MARK: Proofs that wait

    struct NamedProof: Sendable {
        let isSaved: Bool
        let rowID: Int64
        let environment: StoreEnvironment
        let transactionID: TransactionID
        let caller: String
        let namedUser: String?
        let device: DeviceID?
        let phone: DeviceID?
    }

    func savedProofs(of user: UserID) throws -> [NamedProof] {
        try connection.query(
            """
            SELECT row_id, environment, transaction_id, caller, named_user, device, phone FROM saved_proofs \
            WHERE caller = ?1 OR named_user = ?2 ORDER BY row_id
            """, [.text(Self.caller(user)), .text(user.text)]
        ) { try Self.proof($0, isSaved: true) }
    }

    func waitingProofs(of user: UserID) throws -> [NamedProof] {
        try connection.query(
            """
            SELECT row_id, environment, transaction_id, caller, named_user, device, phone FROM waiting_proofs \
            WHERE caller = ?1 OR named_user = ?2 ORDER BY row_id
            """, [.text(Self.caller(user)), .text(user.text)]
        ) { try Self.proof($0, isSaved: false) }
    }

    /// The client's network goes with the name.
    func rename(
        _ proof: NamedProof, from user: UserID, to pseudonym: UserID, device: DeviceID?, phone: DeviceID?
    ) throws {
        let caller = proof.caller.hasSameBytes(as: Self.caller(user)) ? Self.caller(pseudonym) : proof.caller
        let named = proof.namedUser.map { $0.hasSameBytes(as: user.text) ? pseudonym.text : $0 }
        let values: [SQLValue] = [
            .text(caller), .optional(named), .optional(device?.text), .optional(phone?.text), .integer(proof.rowID),
        ]
        if proof.isSaved {
            try connection.write(
                """
                UPDATE saved_proofs SET caller = ?1, named_user = ?2, device = coalesce(?3, ''), phone = ?4, \
                network = '' WHERE row_id = ?5
                """, values)
        } else {
            try connection.write(
                """
                UPDATE waiting_proofs SET caller = ?1, named_user = ?2, device = ?3, phone = ?4, network = '' \
                WHERE row_id = ?5
                """, values)
        }
    }

    private static func caller(_ user: UserID) -> String { "user:\(user)" }

    private static func proof(_ row: any Row, isSaved: Bool) throws -> NamedProof {
        NamedProof(
            isSaved: isSaved, rowID: row.integer("row_id"), environment: try row.environment("environment"),
            transactionID: TransactionID(row.text("transaction_id")), caller: row.text("caller"),
            namedUser: row.optionalText("named_user"), device: device(row, "device"), phone: device(row, "phone"))
    }

    /// Saved proofs without a device have an empty text.
    private static func device(_ row: any Row, _ column: StaticString) -> DeviceID? {
        row.optionalText(column).flatMap { $0.isEmpty ? nil : DeviceID($0) }
    }
}
