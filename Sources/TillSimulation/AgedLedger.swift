import TillBilling
import TillCrypto
import TillLedger
import TillSQL

/// The history of a shop that has been open for years: recorded purchases, written directly into the tables in their
/// original order.
public struct AgedLedger: Sendable {
    private let product: ProductID
    private let points: Int64
    /// The value of the `environment` columns.
    private let environment: Int64

    /// Milliseconds from the first purchase to now.
    private static let age: Int64 = 5 * 365 * 86_400_000
    private static let portion: Int64 = 50_000
    /// Purchases per customer, all within one portion, because customers come and go.
    private let purchasesOfUser: Int64
    /// Bytes of a proof without its header, which is the same for all.
    private static let proofBytes: Int64 = 900
    private let areProofsCompressed: Bool

    /// - Parameter areProofsCompressed: whether the proofs are tokens, of which the job has compressed each; otherwise
    ///   they are random bytes.
    public init(
        product: ProductID, points: Int64, environment: StoreEnvironment, purchasesOfUser: Int64 = 12,
        areProofsCompressed: Bool = false
    ) {
        self.product = product
        self.points = points
        self.environment = environment == .production ? 1 : 2
        self.purchasesOfUser = purchasesOfUser
        self.areProofsCompressed = areProofsCompressed
    }

    /// The name of the first customer of an empty ledger.
    public static let firstCustomer = "old0-0"

    /// - Parameter now: the date of the last purchase.
    public func write(_ purchases: Int64, until now: Instant, in ledger: any Database) async throws {
        let pace = max(1, Self.age / purchases)
        for first in stride(from: 0, to: purchases, by: Int(Self.portion)) {
            let count = min(Self.portion, purchases - first)
            let end = now.milliseconds - (purchases - first - count) * pace
            try await ledger.write { connection in try write(count, until: end, pace, connection) }
        }
    }

    private func write(_ count: Int64, until end: Int64, _ pace: Int64, _ connection: any Connection) throws {
        let base =
            try connection.first(
                """
                SELECT max(o, t) AS newest FROM (SELECT coalesce(max(row_id), 0) o FROM orders), \
                (SELECT coalesce(max(row_id), 0) t FROM transactions)
                """, []
            ) { $0.integer("newest") } ?? 0
        try connection.execute(
            "CREATE TEMP TABLE past (number INTEGER PRIMARY KEY, at INTEGER, customer_id INTEGER, id TEXT)", [])
        let customers = max(1, count / purchasesOfUser)
        try connection.execute(
            """
            INSERT INTO customers (user_id, first_seen, last_event) WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL \
            SELECT i + 1 FROM n WHERE i < ?2 - 1) SELECT 'old' || ?1 || '-' || i, ?3, ?4 / ?2 + 1 FROM n
            """, [.integer(base), .integer(customers), .integer(end), .integer(count)])
        try connection.execute(
            """
            INSERT INTO past WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) \
            SELECT ?1 + i, ?3 - (?2 - i) * ?4, \
            (SELECT customer_id FROM customers WHERE app_id = 1 AND user_id = 'old' || ?1 || '-' || (i % ?5)), \
            printf('1%014d', ?1 + i) FROM n
            """,
            [
                .integer(base), .integer(count), .integer(end), .integer(pace),
                .integer(customers),
            ])
        try writeOrders(connection)
        try writeTransactions(connection)
        try writeGrants(connection)
        try connection.execute("DROP TABLE past", [])
    }

    private func writeOrders(_ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO orders (row_id, id, customer_id, product, quantity, status, price, currency, environment, \
            transaction_id, created_at, updated_at, moves, id_source, reason) SELECT number, randomblob(16), \
            customer_id, ?, 1, 1, 600, 'CNY', ?, id, at - 60000, at, 2, 5, 'token' FROM past
            """, [.text(product.text), .integer(environment)])
    }

    private func writeTransactions(_ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO transactions (row_id, environment, id, original_id, product, quantity, token, purchased_at, \
            signed_at, price, currency, state, order_row_id, received_at, type, storefront, app_transaction) \
            SELECT p.number, ?, p.id, p.id, ?, 1, o.id, p.at, p.at, 6000, 'CNY', 1, p.number, p.at, 1, 'CHN', \
            '70431' || (100000000000 + p.customer_id) FROM past p CROSS JOIN orders o ON o.row_id = p.number
            """, [.integer(environment), .text(product.text)])
        if areProofsCompressed {
            try writeCompressedProofs(connection)
        } else {
            try connection.execute(
                "INSERT INTO proofs (transaction_row_id, kind, body) SELECT number, 1, randomblob(?) FROM past",
                [.integer(Self.proofBytes)])
        }
    }

    /// What Apple would have signed, without a valid signature.
    private func writeCompressedProofs(_ connection: any Connection) throws {
        let header = Array((String(repeating: "eyJhbGciOiJFUzI1NiJ9", count: 160) + ".").utf8)
        let known = try connection.first("SELECT row_id FROM proof_headers WHERE header = ?1", [.blob(header)]) {
            $0.integer("row_id")
        }
        let headerRowID =
            try known ?? connection.insert("INSERT INTO proof_headers (header) VALUES (?1)", [.blob(header)])
        let rows = try connection.query(
            """
            SELECT p.number, p.id, p.at, o.id AS token, randomblob(64) AS signature, p.customer_id FROM past p \
            CROSS JOIN orders o ON o.row_id = p.number
            """, []
        ) { row in
            let (id, at) = (row.text("id"), row.integer("at"))
            let token = UniqueID(bytes: row.blob("token"))?.description ?? ""
            let account = 100_000_000_000 + row.integer("customer_id")
            let payload = """
                {"transactionId":"\(id)","originalTransactionId":"\(id)","bundleId":"com.example.learn","productId":\
                "\(product.text)","purchaseDate":\(at),"originalPurchaseDate":\(at),"quantity":1,"type":"Consumable",\
                "appAccountToken":"\(token)","inAppOwnershipType":"PURCHASED","signedDate":\(at + 500),\
                "environment":"Sandbox","transactionReason":"PURCHASE","storefront":"CHN","storefrontId":"143465",\
                "price":6000,"currency":"CNY","appTransactionId":"70431\(account)"}
                """
            return (number: row.integer("number"), signature: row.blob("signature"), payload: payload)
        }
        let form = try CompressedProof()
        for row in rows {
            let rest = Array((Base64.encode(row.payload.utf8, .url) + "." + Base64.encode(row.signature, .url)).utf8)
            guard let body = try form.compress(header: header, rest: rest) else {
                preconditionFailure("a token of this kind compresses")
            }
            try connection.execute(
                "INSERT INTO compressed_proofs (transaction_row_id, header_row_id, body) VALUES (?1, ?2, ?3)",
                [.integer(row.number), .integer(headerRowID), .blob(body)])
        }
    }

    private func writeGrants(_ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO grants (transaction_row_id, id, order_row_id, customer_id, at, decision) SELECT number, \
            randomblob(16), number, customer_id, at, 1 FROM past
            """, [])
        try connection.execute(
            """
            INSERT INTO postings (environment, customer_id, contra, currency, amount, kind, grant_row_id, at) \
            SELECT ?, customer_id, 'sold', 'points', ?, 'purchase', number, at FROM past
            """, [.integer(environment), .integer(points)])
        try connection.execute(
            """
            INSERT INTO balances (environment, customer_id, currency, amount) SELECT ?, customer_id, 'points', \
            count(*) * ? FROM past GROUP BY customer_id
            """, [.integer(environment), .integer(points)])
        try connection.execute(
            """
            INSERT INTO outbox (event_id, type, customer_id, transaction_row_id, at, user_sequence, revision, \
            version, body) SELECT randomblob(16), 'grant.created', customer_id, number, at, row_number() OVER \
            (PARTITION BY customer_id ORDER BY number), 0, 2, '600 CNY' FROM past ORDER BY number
            """, [])
        try connection.execute(
            """
            INSERT INTO event_positions (position, event_row_id) SELECT row_id, row_id FROM outbox \
            WHERE row_id > (SELECT coalesce(max(position), 0) FROM event_positions)
            """, [])
    }
}
