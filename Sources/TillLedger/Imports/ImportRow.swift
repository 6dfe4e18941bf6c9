import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

/// The formats that an import reads.
package enum ImportFormat: String, Sendable, Hashable, CaseIterable {
    /// A shop's own order table, and what `till export --all` writes.
    case till
    /// A user id and a signed transaction.
    case transactions
    /// A user id and an app receipt.
    case receipts
    /// RevenueCat's export of transactions.
    case revenuecat

    /// Without one of the members of each list a row is of another format.
    package var members: [[String]] {
        switch self {
        case .till: [["userId", "kind", "user_id"]]
        case .transactions: [["signedTransaction"]]
        case .receipts: [["receipt"]]
        case .revenuecat: [["rc_original_app_user_id", "rc_last_seen_app_user_id_alias"], ["store_transaction_id"]]
        }
    }
}

/// The file of an import.
package struct ImportedFile: Sendable, Hashable {
    package let format: ImportFormat
    package let name: String
    package let sha256: [UInt8]

    package init(format: ImportFormat, name: String, sha256: [UInt8]) {
        self.format = format
        self.name = name
        self.sha256 = sha256
    }
}

/// One row of a file, before it is read.
package struct ImportEntry: Sendable {
    /// The line where it begins, from 1.
    package let line: Int64
    /// Its members. A line that is no row has the reason.
    package let members: Result<[String: JSONValue], ImportRefusal>

    package init(line: Int64, members: Result<[String: JSONValue], ImportRefusal>) {
        self.line = line
        self.members = members
    }

    /// - Parameter object: the text of a JSON object.
    package init(line: Int64, object: [UInt8]) {
        self.line = line
        members = (try? JSONValue(decoding: object))?.object.map { .success($0) } ?? .failure(.malformedLine)
    }
}

/// What a row says.
enum ImportRow: Sendable {
    case purchase(Purchase)
    case balance(Balance)
    case accountToken(UniqueID, UserID)

    struct Purchase: Sendable {
        let user: UserID
        /// The id of the order in the old system, if it is a UUID.
        var orderID: OrderID?
        let proof: Proof
        /// What the row says beside a proof, which must agree with it.
        var stated = Statement()
    }

    enum Proof: Sendable {
        case signedTransaction(String)
        /// All purchases in it, unless one is named.
        case receipt([UInt8])
        /// Nothing but the row.
        case statement
    }

    /// A purchase as the row states it.
    struct Statement: Sendable, Hashable {
        var id: TransactionID?
        var originalID: TransactionID?
        var productID: ProductID?
        var quantity: Int?
        var environment: StoreEnvironment?
        var purchasedAt: Instant?
        var expiresAt: Instant?
        var revokedAt: Instant?
        var price: SignedPrice?
        var storefront: String?
        var isRenewal: Bool?
        var isFamilyShared = false
    }

    /// The points that the old system had left.
    struct Balance: Sendable {
        let user: UserID
        let currency: String
        let amount: Int64
        /// When the old system had them; nil: when the import began.
        let statedAt: Instant?
        let environment: StoreEnvironment?
    }
}

/// Reads the members of a row.
struct ImportRowReader {
    private let members: [String: JSONValue]
    private static let balanceLimit: Int64 = 1_000_000_000_000_000

    static func read(_ entry: ImportEntry, as format: ImportFormat) throws(ImportRefusal) -> ImportRow {
        let reader = ImportRowReader(members: try entry.members.get())
        return switch format {
        case .till: try reader.till()
        case .transactions: try reader.transaction()
        case .receipts: try reader.receipt()
        case .revenuecat: try reader.revenueCat()
        }
    }

    // MARK: Formats

    private func till() throws(ImportRefusal) -> ImportRow {
        let kind = try text("kind", limit: 32) ?? "purchase"
        switch kind {
        case "balance":
            guard let amount = try number("balance"), abs(amount) <= Self.balanceLimit else {
                throw .invalidField("balance")
            }
            return .balance(
                ImportRow.Balance(
                    user: try user("userId"), currency: try required("currency", limit: 64), amount: amount,
                    statedAt: try time("at"), environment: try environment()))
        case "accountToken":
            guard let token = UniqueID(try required("token", limit: 64)), !token.isNilOrMaximum else {
                throw .invalidField("token")
            }
            return .accountToken(token, try user("userId"))
        case "purchase": return .purchase(try tillPurchase())
        default: throw .invalidField("kind")
        }
    }

    private func tillPurchase() throws(ImportRefusal) -> ImportRow.Purchase {
        var proof = ImportRow.Proof.statement
        if let signed = try text("signedTransaction", limit: SignedDataVerifier.tokenLimit) {
            proof = .signedTransaction(signed)
        } else if let receipt = try receiptBytes() {
            proof = .receipt(receipt)
        }
        var purchase = ImportRow.Purchase(user: try user("userId"), orderID: try order(), proof: proof)
        purchase.stated = try statement()
        if case .statement = proof { try require(purchase.stated) }
        return purchase
    }

    private func transaction() throws(ImportRefusal) -> ImportRow {
        let signed = try required("signedTransaction", limit: SignedDataVerifier.tokenLimit)
        return .purchase(
            ImportRow.Purchase(user: try user("userId"), orderID: try order(), proof: .signedTransaction(signed)))
    }

    private func receipt() throws(ImportRefusal) -> ImportRow {
        guard let bytes = try receiptBytes() else { throw .missingField("receipt") }
        var purchase = ImportRow.Purchase(user: try user("userId"), orderID: try order(), proof: .receipt(bytes))
        purchase.stated.id = try text("transactionId", limit: 128).map { TransactionID($0) }
        purchase.stated.productID = try text("productId", limit: 255).map { ProductID($0) }
        return .purchase(purchase)
    }

    /// Prices are left out: they are converted amounts, and Apple's signed copy brings the real one.
    private func revenueCat() throws(ImportRefusal) -> ImportRow {
        let store = try required("store", limit: 64)
        guard ["app_store", "mac_app_store"].contains(store) else { throw .otherStore }
        let alias = try text("rc_last_seen_app_user_id_alias", limit: UserID.maximumLength)
        let column = alias == nil ? "rc_original_app_user_id" : "rc_last_seen_app_user_id_alias"
        var stated = ImportRow.Statement()
        stated.id = TransactionID(try required("store_transaction_id", limit: 128))
        stated.originalID = try text("original_store_transaction_id", limit: 128).map { TransactionID($0) }
        stated.productID = ProductID(try required("product_identifier", limit: 255))
        stated.environment = try flag("is_sandbox") == true ? .sandbox : .production
        stated.purchasedAt = try time("start_time")
        stated.expiresAt = try time("effective_end_time")
        if stated.expiresAt == nil { stated.expiresAt = try time("end_time") }
        stated.revokedAt = try time("refunded_at")
        stated.isRenewal = try number("renewal_number").map { $0 > 1 }
        stated.isFamilyShared = try text("ownership_type", limit: 64) == "FAMILY_SHARED"
        try require(stated)
        var purchase = ImportRow.Purchase(user: try user(column), proof: .statement)
        purchase.stated = stated
        return .purchase(purchase)
    }

    // MARK: Statements

    private func statement() throws(ImportRefusal) -> ImportRow.Statement {
        var stated = ImportRow.Statement()
        stated.id = try text("transactionId", limit: 128).map { TransactionID($0) }
        stated.originalID = try text("originalTransactionId", limit: 128).map { TransactionID($0) }
        stated.productID = try text("productId", limit: 255).map { ProductID($0) }
        if let quantity = try number("quantity") {
            guard (1...1_000).contains(quantity) else { throw .invalidField("quantity") }
            stated.quantity = Int(quantity)
        }
        stated.environment = try environment()
        stated.purchasedAt = try time("purchasedAt")
        stated.expiresAt = try time("expiresAt")
        stated.revokedAt = try time("revokedAt")
        stated.storefront = try text("storefront", limit: 8)
        stated.isRenewal = try flag("isRenewal")
        stated.isFamilyShared = try flag("isFamilyShared") ?? false
        if let amount = try number("price"), let code = try text("currency", limit: 8) {
            let currency = Currency(code)
            guard currency.isWellFormed else { throw .invalidField("currency") }
            stated.price = SignedPrice(Money(amount: amount, currency: currency))
        }
        return stated
    }

    /// What a purchase needs that rests on its row alone.
    private func require(_ stated: ImportRow.Statement) throws(ImportRefusal) {
        guard let id = stated.id else { throw .missingField("transactionId") }
        let ids = [id.text, stated.originalID?.text, stated.productID?.text].compactMap { $0 }
        guard ids.allSatisfy({ $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }) else {
            throw .invalidField("transactionId")
        }
        guard stated.productID != nil else { throw .missingField("productId") }
        guard let purchased = stated.purchasedAt else { throw .missingField("purchasedAt") }
        if let expires = stated.expiresAt, expires < purchased { throw .invalidField("expiresAt") }
    }

    // MARK: Members

    /// An empty text counts as absent: a table has a column for every row.
    private func text(_ name: String, limit: Int) throws(ImportRefusal) -> String? {
        switch members[name] {
        case nil, .null: return nil
        case .string(let text):
            guard text.utf8.count <= limit else { throw .invalidField(name) }
            return text.isEmpty ? nil : text
        case .int(let number): return String(number)
        default: throw .invalidField(name)
        }
    }

    private func required(_ name: String, limit: Int) throws(ImportRefusal) -> String {
        guard let text = try text(name, limit: limit) else { throw .missingField(name) }
        return text
    }

    private func user(_ name: String) throws(ImportRefusal) -> UserID {
        let text = try required(name, limit: UserID.maximumLength)
        guard text.firstForbiddenScalar == nil, text.isNormalized else { throw .invalidField(name) }
        guard !UserID(text).isPseudonym else { throw .erasedUser }
        return UserID(text)
    }

    private func order() throws(ImportRefusal) -> OrderID? {
        guard let text = try text("orderId", limit: 128) else { return nil }
        guard let id = OrderID(text), !id.isNilOrMaximum else { throw .invalidField("orderId") }
        return id
    }

    private func number(_ name: String) throws(ImportRefusal) -> Int64? {
        if case .int(let number)? = members[name] { return number }
        guard let text = try text(name, limit: 32) else { return nil }
        guard let number = Int64(text) else { throw .invalidField(name) }
        return number
    }

    private func flag(_ name: String) throws(ImportRefusal) -> Bool? {
        if case .bool(let flag)? = members[name] { return flag }
        switch try text(name, limit: 8)?.lowercased() {
        case nil: return nil
        case "true", "t", "1", "yes": return true
        case "false", "f", "0", "no": return false
        default: throw .invalidField(name)
        }
    }

    /// RFC 3339, the same with a blank and without an offset (UTC), or milliseconds since 1970.
    private func time(_ name: String) throws(ImportRefusal) -> Instant? {
        guard let text = try text(name, limit: 64) else { return nil }
        if let milliseconds = Int64(text), milliseconds > 0 { return Instant(milliseconds: milliseconds) }
        let plain = text.hasSuffix(" UTC") ? String(text.dropLast(4)) : text
        guard let instant = Instant(rfc3339: plain) ?? Instant(rfc3339: plain + "Z") else { throw .invalidField(name) }
        return instant
    }

    private func environment() throws(ImportRefusal) -> StoreEnvironment? {
        guard let text = try text("environment", limit: 32) else { return nil }
        for one in StoreEnvironment.allCases where one.rawValue.lowercased() == text.lowercased() { return one }
        throw .invalidField("environment")
    }

    private func receiptBytes() throws(ImportRefusal) -> [UInt8]? {
        guard let text = try text("receipt", limit: SignedDataVerifier.receiptLimit) else { return nil }
        guard let bytes = Base64.decode(ignoringBlanks: text) else { throw .invalidField("receipt") }
        return bytes
    }
}
