import TillBilling
import TillSQL

extension StoreSchema {
    /// Purchases whose owner stopped sharing them, and copies that were taken from one member, by their original
    /// transaction.
    static let familySharing: StaticString = """
        CREATE TABLE family_sharing_off (
            original INTEGER PRIMARY KEY
        ) STRICT;
        """
}

/// What families share, and what became of it. The index is named where a customer may have very many consumables,
/// which have no part in this.
enum SharedPurchaseTable {
    /// What the family made of this purchase, ended copies too, oldest first.
    static func copies(of number: Int64, _ session: any Connection) throws -> [StoreTransaction] {
        try transactions(
            try session.query(
                "SELECT number FROM transactions WHERE shared_from = ? ORDER BY number", [.integer(number)]
            ) { $0.integer("number") }, session)
    }

    /// The copies that an account lives on now: of non-consumables, and the current one of each subscription.
    static func living(of account: String, _ session: any Connection) throws -> [StoreTransaction] {
        try transactions(
            try session.query(
                """
                SELECT number FROM transactions INDEXED BY transactions_of_product
                WHERE account = ? AND shared_from IS NOT NULL AND group_id IS NULL AND revoked_at IS NULL
                    AND state = 'purchased' AND kind <> 'Consumable'
                """, [.text(account)]
            ) { $0.integer("number") }, session)
            + transactions(
                try subscriptions(
                    session.query(
                        """
                        SELECT content FROM subscriptions
                        WHERE account = ? AND shared_from IS NOT NULL AND state IN ('active', 'gracePeriod')
                        """, [.text(account)], { $0.text("content") })
                ).map(\.current), session)
    }

    /// What an account paid for and a family could use now: non-consumables, and the current period of each
    /// subscription. Whether the product is for families is not asked here.
    static func shareable(by account: String, _ session: any Connection) throws -> [StoreTransaction] {
        try transactions(
            try session.query(
                """
                SELECT number FROM transactions INDEXED BY transactions_of_product
                WHERE account = ? AND kind = 'Non-Consumable' AND shared_from IS NULL AND revoked_at IS NULL
                    AND state = 'purchased' AND kind <> 'Consumable'
                """, [.text(account)]
            ) { $0.integer("number") }, session)
            + transactions(
                try subscriptions(
                    session.query(
                        """
                        SELECT content FROM subscriptions
                        WHERE account = ? AND shared_from IS NULL AND state IN ('active', 'gracePeriod')
                        """, [.text(account)], { $0.text("content") })
                ).map(\.current), session)
    }

    /// The account's purchase of a non-consumable that is still good. With `shared`, a family's copy counts too.
    static func owned(
        _ product: ProductID, by account: String, bundleID: String, shared: Bool = false, _ session: any Connection
    ) throws -> StoreTransaction? {
        let number = try session.first(
            """
            SELECT number FROM transactions
            WHERE account = ? AND bundle_id = ? AND product_id = ? AND state = 'purchased' AND kind <> 'Consumable'
                AND kind = 'Non-Consumable' AND revoked_at IS NULL AND (shared_from IS NULL OR ?)
            ORDER BY shared_from IS NOT NULL, number DESC LIMIT 1
            """, [.text(account), .text(bundleID), .text(product.text), .flag(shared)]
        ) { $0.integer("number") }
        guard let number else { return nil }
        return try TransactionTable.find(number, session)
    }

    static func turnOff(_ original: Int64, _ session: any Connection) throws {
        try session.execute(
            "INSERT INTO family_sharing_off (original) VALUES (?) ON CONFLICT DO NOTHING", [.integer(original)])
    }

    static func isOff(_ original: Int64, _ session: any Connection) throws -> Bool {
        try session.first("SELECT 1 FROM family_sharing_off WHERE original = ?", [.integer(original)]) { _ in true }
            ?? false
    }

    private static func transactions(_ numbers: [Int64], _ session: any Connection) throws -> [StoreTransaction] {
        try numbers.compactMap { try TransactionTable.find($0, session) }
    }

    private static func subscriptions(_ documents: [String]) throws -> [StoreSubscription] {
        try documents.map { try StoredDocument.read(StoreSubscription.self, from: $0) }
    }
}
