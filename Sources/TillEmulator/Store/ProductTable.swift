import TillBilling
import TillStorage

/// What the store sells.
enum ProductTable {
    /// Puts these products in place of all there were.
    static func replace(_ products: [StoreProduct], _ session: any Session) throws {
        try session.execute("DELETE FROM prices", [])
        try session.execute("DELETE FROM products", [])
        for (position, product) in products.enumerated() {
            try session.execute(
                """
                INSERT INTO products (product_id, position, kind, name, group_id, period) VALUES (?, ?, ?, ?, ?, ?)
                """,
                [
                    .text(product.id.text), .integer(Int64(position)), .text(product.kind.rawValue),
                    .text(product.name), .optional(product.groupID), .optional(product.period?.rawValue),
                ])
            for (storefront, price) in product.prices.sorted(by: { $0.key < $1.key }) {
                try session.execute(
                    "INSERT INTO prices (product_id, storefront, amount, currency) VALUES (?, ?, ?, ?)",
                    [
                        .text(product.id.text), .text(storefront), .integer(price.amount), .text(price.currency.text),
                    ])
            }
        }
    }

    static func all(_ session: any Session) throws -> [StoreProduct] {
        var prices: [String: [String: Money]] = [:]
        _ = try session.query("SELECT product_id, storefront, amount, currency FROM prices", []) { row in
            prices[row.text(0), default: [:]][row.text(1)] = Money(
                amount: row.integer(2), currency: Currency(row.text(3)))
        }
        let products = try session.query(
            "SELECT product_id, kind, name, group_id, period FROM products ORDER BY position", []
        ) { row in product(row) }
        return products.compactMap { product in
            guard var product else { return nil }
            product.prices = prices[product.id.text] ?? [:]
            return product
        }
    }

    static func find(_ id: ProductID, _ session: any Session) throws -> StoreProduct? {
        let found = try session.first(
            "SELECT product_id, kind, name, group_id, period FROM products WHERE product_id = ?", [.text(id.text)]
        ) { row in product(row) }
        guard var product = found ?? nil else { return nil }
        _ = try session.query(
            "SELECT storefront, amount, currency FROM prices WHERE product_id = ?", [.text(id.text)]
        ) { row in
            product.prices[row.text(0)] = Money(amount: row.integer(1), currency: Currency(row.text(2)))
        }
        return product
    }

    private static func product(_ row: any Row) -> StoreProduct? {
        guard let kind = ProductKind(rawValue: row.text(1)) else { return nil }
        return StoreProduct(
            id: ProductID(row.text(0)), kind: kind, name: row.text(2), prices: [:], groupID: row.optionalText(3),
            period: row.optionalText(4).flatMap(SubscriptionPeriod.init(rawValue:)))
    }
}

extension SQLValue {
    static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
    static func optional(_ number: Int64?) -> SQLValue { number.map { .integer($0) } ?? .null }
}

extension Row {
    func optionalText(_ column: Int) -> String? { isNull(column) ? nil : text(column) }
    func optionalInteger(_ column: Int) -> Int64? { isNull(column) ? nil : integer(column) }
}
