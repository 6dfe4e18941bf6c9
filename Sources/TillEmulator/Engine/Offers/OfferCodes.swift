import TillBilling
import TillSQL

/// Creates and redeems offer codes (facts/business-rules §9).
enum OfferCodeIssuer {
    /// The most redemptions of one app's codes in a quarter (facts/limits §2).
    static let quarterlyLimit: Int64 = 1_000_000
    /// The most codes created at once (our choice).
    static let batchLimit: Int64 = 10_000

    /// The kind of codes to create.
    enum CodeRequest: Sendable, Hashable {
        /// A number of codes, each for one customer.
        case oneTime(count: Int64)
        /// One text that up to `limit` customers may redeem.
        case custom(String, limit: Int64)
    }

    /// - Returns: the codes; or a refusal if the product has no such offer, or the text is in use.
    static func make(
        _ request: CodeRequest, offer identifier: String, productID: ProductID, bundleID: String, expires: Instant?,
        _ change: StoreChange
    ) throws -> Result<[String], StoreRefusal> {
        guard let product = try ProductTable.find(productID, change.connection) else {
            return .failure(.unknownProduct(productID.text, nearest: nil))
        }
        guard product.offers(.code).contains(where: { $0.identifier == identifier }) else {
            return .failure(.unknownOffer(identifier, product: productID.text))
        }
        if case .custom(let text, _) = request, try OfferCodeTable.find(text, change.connection) != nil {
            return .failure(.codeTaken(text))
        }
        var batch = OfferCode.Batch(
            bundleID: bundleID, productID: productID, offer: identifier, isCustom: false, expires: expires)
        if case .custom = request { batch.isCustom = true }
        let number = try OfferCodeTable.insert(batch, change.connection)
        var codes: [String] = []
        switch request {
        case .custom(let text, let limit):
            codes.append(text.uppercased())
            _ = try OfferCodeTable.insert(text.uppercased(), batch: number, limit: limit, change.connection)
        case .oneTime(let count):
            while codes.count < min(count, batchLimit) {
                let code = text(of: change.entropy(18))
                if try OfferCodeTable.insert(code, batch: number, limit: 1, change.connection) { codes.append(code) }
            }
        }
        return .success(codes)
    }

    /// The code and its offer on this product, if it may still be redeemed.
    static func find(
        _ text: String, for product: StoreProduct, account: String?, _ change: StoreChange
    ) throws -> Result<(code: OfferCode, offer: ProductOffer), StoreRefusal> {
        guard let code = try OfferCodeTable.find(text, change.connection) else { return .failure(.unknownCode(text)) }
        guard code.batch.productID == product.id else {
            return .failure(.codeOfAnotherProduct(code.text, product: code.batch.productID.text))
        }
        if let expires = code.batch.expires, change.now >= expires { return .failure(.codeExpired(code.text)) }
        if code.batch.isCustom, let account, try OfferCodeTable.hasRedeemed(code.text, account, change.connection) {
            return .failure(.codeRedeemed(code.text))
        }
        guard code.remaining > 0 else { return .failure(.codeUsedUp(code.text)) }
        guard let offer = product.offers(.code).first(where: { $0.identifier == code.batch.offer }) else {
            return .failure(.unknownOffer(code.batch.offer, product: product.id.text))
        }
        let before = try OfferCodeTable.redemptions(
            bundleID: code.batch.bundleID, quarter: quarter(of: change.now), change.connection)
        guard before < quarterlyLimit else { return .failure(.tooManyRedemptions(quarterlyLimit)) }
        return .success((code, offer))
    }

    static func use(_ code: OfferCode, account: String?, _ change: StoreChange) throws {
        try OfferCodeTable.redeem(code.text, change.connection)
        if let account { try OfferCodeTable.setRedeemed(code.text, account, change.connection) }
        try OfferCodeTable.addRedemption(
            bundleID: code.batch.bundleID, quarter: quarter(of: change.now), change.connection)
    }

    /// Eighteen letters and digits without similar ones.
    private static func text(of random: [UInt8]) -> String {
        let letters = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789".utf8)
        return String(decoding: random.map { letters[Int($0) % letters.count] }, as: UTF8.self)
    }

    /// Calendar quarters in UTC, counted from the year 0.
    static func quarter(of now: Instant) -> Int64 {
        let date = CivilDate(daysSinceEpoch: Int((now.seconds - (now.seconds % 86_400 + 86_400) % 86_400) / 86_400))
        return Int64(date.year) * 4 + Int64((date.month - 1) / 3)
    }
}

extension Store {
    /// Creates codes for an offer of a product.
    func makeOfferCodes(
        _ request: OfferCodeIssuer.CodeRequest, offer: String, productID: ProductID, bundleID: String, expires: Instant?
    ) async throws -> Result<[String], StoreRefusal> {
        try await change { change in
            try OfferCodeIssuer.make(
                request, offer: offer, productID: productID, bundleID: bundleID, expires: expires, change)
        }
    }

    public func offerCode(_ code: String) async throws -> OfferCode? {
        try await ask { connection in try OfferCodeTable.find(code, connection) }
    }

    /// Redeems a code outside the app.
    public func redeem(
        _ code: String, account: String, bundleID: String
    ) async throws -> Result<PurchaseResult, StoreRefusal> {
        try await change { change in
            try OfferChecks.redeemOutside(code, account: account, bundleID: bundleID, change)
        }
    }
}

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

/// One offer code.
public struct OfferCode: Sendable, Hashable {
    /// Codes created together.
    public struct Batch: Sendable, Hashable {
        public var bundleID: String
        public var productID: ProductID
        /// The offer's identifier in the product.
        public var offer: String
        /// One text for many customers; otherwise each code is for one.
        public var isCustom: Bool
        /// The moment from which it can't be redeemed; nil: never.
        public var expires: Instant?
    }

    /// In upper case.
    public var text: String
    public var batch: Batch
    public var remaining: Int64
    public var redeemed: Int64
}

/// Every offer code and the number of its redemptions.
enum OfferCodeTable {
    static func insert(_ batch: OfferCode.Batch, _ connection: any Connection) throws -> Int64 {
        try connection.insert(
            """
            INSERT INTO offer_code_batches (bundle_id, product_id, offer, is_custom, expires_at) VALUES (?, ?, ?, ?, ?)
            """,
            [
                .text(batch.bundleID), .text(batch.productID.text), .text(batch.offer), .flag(batch.isCustom),
                .optional(batch.expires?.milliseconds),
            ])
    }

    /// - Returns: false if a code with this text exists.
    static func insert(_ code: String, batch: Int64, limit: Int64, _ connection: any Connection) throws -> Bool {
        try connection.execute(
            "INSERT INTO offer_codes (code, batch, remaining) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [.text(code), .integer(batch), .integer(limit)]) == 1
    }

    /// Not case-sensitive.
    static func find(_ code: String, _ connection: any Connection) throws -> OfferCode? {
        try connection.first(
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

    static func redeem(_ code: String, _ connection: any Connection) throws {
        try connection.execute(
            """
            UPDATE offer_codes SET remaining = remaining - 1, redeemed = redeemed + 1 WHERE code = ? AND remaining > 0
            """, [.text(code)])
    }

    static func hasRedeemed(_ code: String, _ account: String, _ connection: any Connection) throws -> Bool {
        try connection.first(
            "SELECT 1 FROM offer_code_customers WHERE code = ? AND account = ?", [.text(code), .text(account)]
        ) { _ in true } ?? false
    }

    static func setRedeemed(_ code: String, _ account: String, _ connection: any Connection) throws {
        try connection.execute(
            "INSERT INTO offer_code_customers (code, account) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [.text(code), .text(account)])
    }

    static func redemptions(bundleID: String, quarter: Int64, _ connection: any Connection) throws -> Int64 {
        try connection.first(
            "SELECT redeemed FROM offer_code_quarters WHERE bundle_id = ? AND quarter = ?",
            [.text(bundleID), .integer(quarter)]
        ) { $0.integer("redeemed") } ?? 0
    }

    static func addRedemption(bundleID: String, quarter: Int64, _ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO offer_code_quarters (bundle_id, quarter, redeemed) VALUES (?, ?, 1)
            ON CONFLICT (bundle_id, quarter) DO UPDATE SET redeemed = redeemed + 1
            """, [.text(bundleID), .integer(quarter)])
    }
}
