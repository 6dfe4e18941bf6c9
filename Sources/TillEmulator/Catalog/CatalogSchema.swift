extension StoreSchema {
    /// Products that were removed. Their ids and numbers are never given again (facts/business-rules §2).
    static let removedProducts: StaticString = """
        CREATE TABLE removed_products (
            product_id TEXT NOT NULL PRIMARY KEY,
            kind TEXT NOT NULL,
            apple_id INTEGER NOT NULL UNIQUE
        ) STRICT, WITHOUT ROWID;
        """
}
