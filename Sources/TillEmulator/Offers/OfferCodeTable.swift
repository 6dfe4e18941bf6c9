import TillBilling
import TillSQL

extension StoreSchema {
    static let offerCodes: StaticString = """
        CREATE TABLE offer_nonces (
            nonce TEXT NOT NULL PRIMARY KEY,
            used_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX offer_nonces_used ON offer_nonces (used_at);

        CREATE TABLE offer_code_batches (
            number INTEGER PRIMARY KEY,
            bundle_id TEXT NOT NULL,
            product_id TEXT NOT NULL,
            offer TEXT NOT NULL,
            is_custom INTEGER NOT NULL,
            expires_at INTEGER
        ) STRICT;

        CREATE TABLE offer_codes (
            code TEXT NOT NULL PRIMARY KEY,
            batch INTEGER NOT NULL REFERENCES offer_code_batches (number),
            remaining INTEGER NOT NULL,
            redeemed INTEGER NOT NULL DEFAULT 0
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE offer_code_customers (
            code TEXT NOT NULL REFERENCES offer_codes (code),
            account TEXT NOT NULL,
            PRIMARY KEY (code, account)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE offer_code_quarters (
            bundle_id TEXT NOT NULL,
            quarter INTEGER NOT NULL,
            redeemed INTEGER NOT NULL,
            PRIMARY KEY (bundle_id, quarter)
        ) STRICT, WITHOUT ROWID;
        """
}

/// One code that stands for an offer.
public struct OfferCode: Sendable, Hashable {
    /// Codes that were made together.
    public struct Batch: Sendable, Hashable {
        public var bundleID: String
        public var productID: ProductID
        /// The offer's identifier in the product.
        public var offer: String
        /// One text for many customers; otherwise each code is for one.
        public var isCustom: Bool
        /// From then on nobody redeems it; nil: never.
        public var expires: Instant?
    }

    /// In capital letters.
    public var text: String
    public var batch: Batch
    public var remaining: Int64
    public var redeemed: Int64
}

/// Every offer code that was made, and how often each was redeemed.
enum OfferCodeTable {
    static func insert(_ batch: OfferCode.Batch, _ session: any Connection) throws -> Int64 {
        try session.insert(
            """
            INSERT INTO offer_code_batches (bundle_id, product_id, offer, is_custom, expires_at) VALUES (?, ?, ?, ?, ?)
            """,
            [
                .text(batch.bundleID), .text(batch.productID.text), .text(batch.offer), .flag(batch.isCustom),
                .optional(batch.expires?.milliseconds),
            ])
    }

    /// - Returns: false if there is a code of this text.
    static func insert(_ code: String, batch: Int64, limit: Int64, _ session: any Connection) throws -> Bool {
        try session.execute(
            "INSERT INTO offer_codes (code, batch, remaining) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [.text(code), .integer(batch), .integer(limit)]) == 1
    }

    /// Capital and small letters are the same.
    static func find(_ code: String, _ session: any Connection) throws -> OfferCode? {
        try session.first(
            """
            SELECT code, remaining, redeemed, bundle_id, product_id, offer, is_custom, expires_at
            FROM offer_codes JOIN offer_code_batches ON number = batch WHERE code = ?
            """, [.text(code.uppercased())]
        ) { row in
            OfferCode(
                text: row.text("code"),
                batch: OfferCode.Batch(
                    bundleID: row.text("bundle_id"), productID: ProductID(row.text("product_id")),
                    offer: row.text("offer"),
                    isCustom: row.flag("is_custom"),
                    expires: row.optionalInteger("expires_at").map(Instant.init(milliseconds:))),
                remaining: row.integer("remaining"), redeemed: row.integer("redeemed"))
        }
    }

    static func redeem(_ code: String, _ session: any Connection) throws {
        try session.execute(
            """
            UPDATE offer_codes SET remaining = remaining - 1, redeemed = redeemed + 1 WHERE code = ? AND remaining > 0
            """, [.text(code)])
    }

    static func hasRedeemed(_ code: String, _ account: String, _ session: any Connection) throws -> Bool {
        try session.first(
            "SELECT 1 FROM offer_code_customers WHERE code = ? AND account = ?", [.text(code), .text(account)]
        ) { _ in true } ?? false
    }

    static func setRedeemed(_ code: String, _ account: String, _ session: any Connection) throws {
        try session.execute(
            "INSERT INTO offer_code_customers (code, account) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [.text(code), .text(account)])
    }

    static func redemptions(bundleID: String, quarter: Int64, _ session: any Connection) throws -> Int64 {
        try session.first(
            "SELECT redeemed FROM offer_code_quarters WHERE bundle_id = ? AND quarter = ?",
            [.text(bundleID), .integer(quarter)]
        ) { $0.integer("redeemed") } ?? 0
    }

    static func addRedemption(bundleID: String, quarter: Int64, _ session: any Connection) throws {
        try session.execute(
            """
            INSERT INTO offer_code_quarters (bundle_id, quarter, redeemed) VALUES (?, ?, 1)
            ON CONFLICT (bundle_id, quarter) DO UPDATE SET redeemed = redeemed + 1
            """, [.text(bundleID), .integer(quarter)])
    }
}
