import TillBilling
import TillStorage

/// What the store sells.
enum ProductTable {
    /// Puts these products in place of all there were. A product that keeps its id keeps its number.
    static func replace(_ products: [StoreProduct], _ session: any Session) throws {
        let numbers = Dictionary(
            try session.query("SELECT product_id, apple_id FROM products", []) { ($0.text(0), $0.integer(1)) },
            uniquingKeysWith: { first, _ in first })
        try session.execute("DELETE FROM prices", [])
        try session.execute("DELETE FROM products", [])
        for (position, product) in products.enumerated() {
            var product = product
            if let known = numbers[product.id.text] { product.appleID = known }
            if product.appleID == 0 { product.appleID = try Counter.product.take(session) }
            try insert(product, position: Int64(position), session)
        }
    }

    /// Writes what may change in a product's life: all but its id and its kind.
    static func update(_ product: StoreProduct, _ session: any Session) throws {
        let position = try session.first(
            "SELECT position FROM products WHERE product_id = ?", [.text(product.id.text)]
        ) { $0.integer(0) }
        guard let position else { return }
        try session.execute("DELETE FROM prices WHERE product_id = ?", [.text(product.id.text)])
        try session.execute("DELETE FROM products WHERE product_id = ?", [.text(product.id.text)])
        try insert(product, position: position, session)
    }

    private static func insert(_ product: StoreProduct, position: Int64, _ session: any Session) throws {
        try session.execute(
            """
            INSERT INTO products (product_id, position, kind, name, apple_id, group_id, state, details)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(product.id.text), .integer(position), .text(product.kind.rawValue), .text(product.name),
                .integer(product.appleID), .optional(product.subscription?.groupID), .text(product.state.rawValue),
                .text(try StoredDocument.text(Details(product))),
            ])
        for (storefront, price) in product.prices.sorted(by: { $0.key < $1.key }) {
            try session.execute(
                "INSERT INTO prices (product_id, storefront, amount, currency) VALUES (?, ?, ?, ?)",
                [
                    .text(product.id.text), .text(storefront), .integer(price.amount), .text(price.currency.text),
                ])
        }
    }

    static func all(_ session: any Session) throws -> [StoreProduct] {
        var prices: [String: [String: Money]] = [:]
        _ = try session.query("SELECT product_id, storefront, amount, currency FROM prices", []) { row in
            prices[row.text(0), default: [:]][row.text(1)] = Money(
                amount: row.integer(2), currency: Currency(row.text(3)))
        }
        let products = try session.query(
            "SELECT product_id, kind, name, apple_id, state, details FROM products ORDER BY position", [], product)
        return products.compactMap { product in
            guard var product else { return nil }
            product.prices = prices[product.id.text] ?? [:]
            return product
        }
    }

    static func find(_ id: ProductID, _ session: any Session) throws -> StoreProduct? {
        let found = try session.first(
            "SELECT product_id, kind, name, apple_id, state, details FROM products WHERE product_id = ?",
            [.text(id.text)], product)
        guard var product = found ?? nil else { return nil }
        _ = try session.query(
            "SELECT storefront, amount, currency FROM prices WHERE product_id = ?", [.text(id.text)]
        ) { row in
            product.prices[row.text(0)] = Money(amount: row.integer(1), currency: Currency(row.text(2)))
        }
        return product
    }

    /// What is read as a whole and never searched for.
    private struct Details: Codable {
        var subscription: SubscriptionTerms?
        var offers: [ProductOffer]
        var isFamilyShareable: Bool
        var localizations: [StoreProduct.Localization]
        var hasReviewScreenshot: Bool

        init(_ product: StoreProduct) {
            subscription = product.subscription
            offers = product.offers
            isFamilyShareable = product.isFamilyShareable
            localizations = product.localizations
            hasReviewScreenshot = product.hasReviewScreenshot
        }
    }

    private static func product(_ row: any Row) throws -> StoreProduct? {
        guard let kind = ProductKind(rawValue: row.text(1)), let state = ProductState(rawValue: row.text(4)) else {
            return nil
        }
        let details = try StoredDocument.read(Details.self, from: row.text(5))
        var product = StoreProduct(
            id: ProductID(row.text(0)), kind: kind, name: row.text(2), prices: [:],
            subscription: details.subscription)
        product.appleID = row.integer(3)
        product.state = state
        product.offers = details.offers
        product.isFamilyShareable = details.isFamilyShareable
        product.localizations = details.localizations
        product.hasReviewScreenshot = details.hasReviewScreenshot
        return product
    }
}
