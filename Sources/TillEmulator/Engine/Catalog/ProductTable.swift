import TillBilling
import TillSQL

/// The store's products.
enum ProductTable {
    static let columns: Columns = "product_id, kind, name, apple_id, state, details"
    static let priceColumns: Columns = "product_id, storefront, amount, currency"
    /// The columns kept for a removed product.
    static let numberColumns: Columns = "product_id, kind, apple_id"

    /// Replaces all products with these. A product that keeps its id keeps its number, and so does a removed product
    /// that returns. If it refuses, nothing is written.
    ///
    /// - Parameter force: whether removed ids and discontinued types may come in. App Store Connect never allows it; a
    ///   new store begins with whatever its developer already had.
    static func replace(
        _ products: [StoreProduct], force: Bool = true, _ connection: any Connection
    ) throws -> Result<Void, StoreRefusal> {
        let (selling, removed) = (try numbers(connection), try removedNumbers(connection))
        for product in products {
            let known = selling[product.id.text] ?? removed[product.id.text]
            if let known, known.kind != product.kind.rawValue {
                return .failure(
                    .kindIsFixed(product.id.text, ProductType(rawValue: known.kind) ?? product.kind))
            }
            if !force, removed[product.id.text] != nil { return .failure(.idWasUsed(product.id.text)) }
            if !force, product.kind == .freeSubscription, try !isUnchanged(product, connection) {
                return .failure(.discontinued(product.id.text))
            }
        }
        try connection.execute(
            """
            INSERT INTO removed_products (\(numberColumns))
            SELECT \(numberColumns) FROM products WHERE true ON CONFLICT DO NOTHING
            """, [])
        try connection.execute("DELETE FROM prices", [])
        try connection.execute("DELETE FROM products", [])
        for (position, product) in products.enumerated() {
            var product = product
            if let known = selling[product.id.text] ?? removed[product.id.text] { product.appleID = known.number }
            if product.appleID == 0 { product.appleID = try Counter.product.take(connection) }
            try insert(product, position: Int64(position), connection)
            try connection.execute("DELETE FROM removed_products WHERE product_id = ?", [.text(product.id.text)])
        }
        return .success(())
    }

    /// Whether the store has this product, with the same metadata.
    private static func isUnchanged(_ product: StoreProduct, _ connection: any Connection) throws -> Bool {
        guard let saved = try find(product.id, connection) else { return false }
        return saved.name == product.name && !ProductReview.differInMore(saved, product)
            && saved.prices == product.prices
    }

    /// Adds a new product after the others.
    static func add(
        _ product: StoreProduct, _ connection: any Connection
    ) throws -> Result<StoreProduct, StoreRefusal> {
        let id = product.id.text
        let (count, last) =
            try connection.first(
                "SELECT count(*) AS count, coalesce(max(position), -1) AS last FROM products", []
            ) { ($0.integer("count"), $0.integer("last")) } ?? (0, -1)
        guard try find(product.id, connection) == nil else { return .failure(.productExists(id)) }
        guard try removedNumbers(connection)[id] == nil else { return .failure(.idWasUsed(id)) }
        guard count < Int64(ProductText.limit) else { return .failure(.tooManyProducts(ProductText.limit)) }
        var product = product
        product.appleID = try Counter.product.take(connection)
        try insert(product, position: last + 1, connection)
        return .success(product)
    }

    private typealias Numbers = [String: (kind: String, number: Int64)]

    private static func numbers(_ connection: any Connection) throws -> Numbers {
        Dictionary(
            try connection.query("SELECT \(numberColumns) FROM products", []) {
                ($0.text("product_id"), (kind: $0.text("kind"), number: $0.integer("apple_id")))
            }, uniquingKeysWith: { first, _ in first })
    }

    private static func removedNumbers(_ connection: any Connection) throws -> Numbers {
        Dictionary(
            try connection.query("SELECT \(numberColumns) FROM removed_products", []) {
                ($0.text("product_id"), (kind: $0.text("kind"), number: $0.integer("apple_id")))
            }, uniquingKeysWith: { first, _ in first })
    }

    /// Writes everything except a product's id and kind.
    static func update(_ product: StoreProduct, _ connection: any Connection) throws {
        let position = try connection.first(
            "SELECT position FROM products WHERE product_id = ?", [.text(product.id.text)]
        ) { $0.integer("position") }
        guard let position else { return }
        try connection.execute("DELETE FROM prices WHERE product_id = ?", [.text(product.id.text)])
        try connection.execute("DELETE FROM products WHERE product_id = ?", [.text(product.id.text)])
        try insert(product, position: position, connection)
    }

    private static func insert(_ product: StoreProduct, position: Int64, _ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO products (\(columns), localizations, position, group_id) VALUES (\(marks: 9))
            """,
            [
                .text(product.id.text), .text(product.kind.rawValue), .text(product.name), .integer(product.appleID),
                .text(product.state.rawValue), .text(try StoredDocument.text(Details(product))),
                .text(try StoredDocument.text(product.localizations)), .integer(position),
                .optional(product.subscription?.groupID),
            ])
        for (storefront, price) in product.prices.sorted(by: { $0.key < $1.key }) {
            try connection.execute(
                "INSERT INTO prices (\(priceColumns)) VALUES (\(marks: 4))",
                [
                    .text(product.id.text), .text(storefront), .integer(price.amount), .text(price.currency.text),
                ])
        }
    }

    static func all(_ connection: any Connection) throws -> [StoreProduct] {
        var prices: [String: [String: Money]] = [:]
        _ = try connection.query("SELECT \(priceColumns) FROM prices", []) { row in
            prices[row.text("product_id"), default: [:]][row.text("storefront")] = Money(
                amount: row.integer("amount"), currency: Currency(row.text("currency")))
        }
        let products = try connection.query(
            """
            SELECT \(columns), localizations FROM products ORDER BY position
            """, [], wholeProduct)
        return products.compactMap { product in
            guard var product else { return nil }
            product.prices = prices[product.id.text] ?? [:]
            return product
        }
    }

    static func ids(_ connection: any Connection) throws -> [String] {
        try connection.query("SELECT product_id FROM products ORDER BY position", []) { $0.text("product_id") }
    }

    static func states(_ connection: any Connection) throws -> [ProductState] {
        try connection.query("SELECT DISTINCT state FROM products", []) { ProductState(rawValue: $0.text("state")) }
            .compactMap { $0 }
    }

    /// The refusal of an unknown product, with the nearest known id.
    static func unknown(_ id: String, _ connection: any Connection) throws -> StoreRefusal {
        .unknownProduct(
            String(id.prefix(100)),
            nearest: id.utf8.count <= 100 ? nearestName(to: id, among: try ids(connection)) : nil)
    }

    /// The product with its price in one storefront only and without its localizations: all that a purchase needs, in
    /// one row. It must not be saved again.
    static func priced(_ id: ProductID, storefront: String, _ connection: any Connection) throws -> StoreProduct? {
        let found = try connection.first(
            """
            SELECT \(columns, of: "p"), q.amount, q.currency
            FROM products p LEFT JOIN prices q ON q.product_id = p.product_id AND q.storefront = ?
            WHERE p.product_id = ?
            """, [.text(storefront), .text(id.text)]
        ) { row -> StoreProduct? in
            guard var product = try product(row) else { return nil }
            if let amount = row.optionalInteger("amount") {
                product.prices = [storefront: Money(amount: amount, currency: Currency(row.text("currency")))]
            }
            return product
        }
        return found ?? nil
    }

    /// The product as a device shows it: with its price in one storefront only, and with its localizations. It must not
    /// be saved again.
    static func offered(_ id: String, storefront: String, _ connection: any Connection) throws -> StoreProduct? {
        let found = try connection.first(
            """
            SELECT \(columns, of: "p"), p.localizations, q.amount, q.currency
            FROM products p JOIN prices q ON q.product_id = p.product_id AND q.storefront = ?
            WHERE p.product_id = ?
            """, [.text(storefront), .text(id)]
        ) { row -> StoreProduct? in
            guard var product = try wholeProduct(row) else { return nil }
            product.prices = [
                storefront: Money(amount: row.integer("amount"), currency: Currency(row.text("currency")))
            ]
            return product
        }
        return found ?? nil
    }

    /// Every auto-renewable with a price in this storefront, in the same form.
    static func subscriptions(storefront: String, _ connection: any Connection) throws -> [StoreProduct] {
        try connection.query(
            """
            SELECT \(columns, of: "p"), p.localizations, q.amount, q.currency
            FROM products p JOIN prices q ON q.product_id = p.product_id AND q.storefront = ?
            WHERE p.group_id IS NOT NULL ORDER BY p.position
            """, [.text(storefront)]
        ) { row -> StoreProduct? in
            guard var product = try wholeProduct(row) else { return nil }
            product.prices = [
                storefront: Money(amount: row.integer("amount"), currency: Currency(row.text("currency")))
            ]
            return product
        }.compactMap { $0 }
    }

    static func find(_ id: ProductID, _ connection: any Connection) throws -> StoreProduct? {
        let found = try connection.first(
            """
            SELECT \(columns), localizations FROM products WHERE product_id = ?
            """, [.text(id.text)], wholeProduct)
        guard var product = found ?? nil else { return nil }
        _ = try connection.query(
            "SELECT \(priceColumns) FROM prices WHERE product_id = ?", [.text(id.text)]
        ) { row in
            product.prices[row.text("storefront")] = Money(
                amount: row.integer("amount"), currency: Currency(row.text("currency")))
        }
        return product
    }

    /// The part that is read as a whole and never searched.
    private struct Details: Codable {
        var subscription: SubscriptionTerms?
        var offers: [ProductOffer]
        var isFamilyShareable: Bool
        var hasReviewScreenshot: Bool
        var isWithAppVersion: Bool

        init(_ product: StoreProduct) {
            subscription = product.subscription
            offers = product.offers
            isFamilyShareable = product.isFamilyShareable
            hasReviewScreenshot = product.hasReviewScreenshot
            isWithAppVersion = product.isWithAppVersion
        }
    }

    private static func wholeProduct(_ row: any Row) throws -> StoreProduct? {
        guard var product = try product(row) else { return nil }
        product.localizations = try StoredDocument.read(
            [StoreProduct.Localization].self, from: row.text("localizations"))
        return product
    }

    private static func product(_ row: any Row) throws -> StoreProduct? {
        guard let kind = ProductType(rawValue: row.text("kind")), let state = ProductState(rawValue: row.text("state"))
        else {
            return nil
        }
        let details = try StoredDocument.read(Details.self, from: row.text("details"))
        var product = StoreProduct(
            id: ProductID(row.text("product_id")), kind: kind, name: row.text("name"), prices: [:],
            subscription: details.subscription)
        product.appleID = row.integer("apple_id")
        product.state = state
        product.offers = details.offers
        product.isFamilyShareable = details.isFamilyShareable
        product.hasReviewScreenshot = details.hasReviewScreenshot
        product.isWithAppVersion = details.isWithAppVersion
        return product
    }
}

extension StoreSchema {
    /// Removed products. Their ids and numbers are never reused (facts/business-rules §2).
    static let removedProducts: StaticString = """
        CREATE TABLE removed_products (
            product_id TEXT NOT NULL PRIMARY KEY,
            kind TEXT NOT NULL,
            apple_id INTEGER NOT NULL UNIQUE
        ) STRICT, WITHOUT ROWID;
        """
}

extension Store {
    /// Replaces all products with these.
    ///
    /// - Throws: `StoreRefusal` for a known id with another kind, or `DatabaseError`.
    public func replaceProducts(_ products: [StoreProduct]) async throws {
        try await change { change in try ProductTable.replace(products, change.connection) }.get()
    }

    public func products() async throws -> [StoreProduct] {
        try await ask { connection in try ProductTable.all(connection) }
    }

    /// Loads a product file with its settings, completely or not at all.
    ///
    /// - Parameter force: whether removed ids may return.
    /// - Returns: the products now on sale.
    public func load(_ file: ProductFile, force: Bool = false) async throws -> Result<[StoreProduct], StoreRefusal> {
        try await change { change in
            if case .failure(let refusal) = try ProductTable.replace(file.products, force: force, change.connection) {
                return .failure(refusal)
            }
            if let pace = file.pace { try RenewalPace.set(pace, change.connection) }
            if let storefront = file.storefront {
                // Xcode has one customer, in the file's storefront.
                var account = try AccountTable.account(
                    Emulator.defaultAccount, openingIn: storefront, change.connection)
                account.storefront = storefront
                try AccountTable.update(account, change.connection)
            }
            return .success(try ProductTable.all(change.connection))
        }
    }

    func review(
        _ step: ProductReview.Step, _ id: String, withAppVersion: Bool, byApple: Bool
    ) async throws -> Result<StoreProduct, StoreRefusal> {
        try await change { change in
            try ProductReview.take(step, id, withAppVersion: withAppVersion, byApple: byApple, change)
        }
    }

    func create(_ product: StoreProduct) async throws -> Result<StoreProduct, StoreRefusal> {
        try await change { change in try ProductReview.create(product, change) }
    }

    func amend(_ id: String, with metadata: ProductMetadata) async throws -> Result<StoreProduct, StoreRefusal> {
        try await change { change in try ProductReview.amend(id, with: metadata, change) }
    }

    func edit(_ product: StoreProduct) async throws -> Result<StoreProduct, StoreRefusal> {
        try await change { change in try ProductReview.edit(product, change) }
    }
}
