import TillBilling

extension Store {
    /// Puts these products in place of all there were.
    ///
    /// - Throws: `StoreRefusal` for a known id with another kind, or `DatabaseError`.
    public func replaceProducts(_ products: [StoreProduct]) async throws {
        try await change { turn in try ProductTable.replace(products, turn.session) }.get()
    }

    public func products() async throws -> [StoreProduct] {
        try await ask { session in try ProductTable.all(session) }
    }

    /// Takes over a file of products with the settings it has; all of it or nothing.
    ///
    /// - Parameter force: whether ids may come again that were removed before.
    /// - Returns: the products as they are sold now.
    public func load(_ file: ProductFile, force: Bool = false) async throws -> Result<[StoreProduct], StoreRefusal> {
        try await change { turn in
            if case .failure(let refusal) = try ProductTable.replace(file.products, force: force, turn.session) {
                return .failure(refusal)
            }
            if let pace = file.pace { try RenewalPace.set(pace, turn.session) }
            if let storefront = file.storefront {
                // Xcode has one customer, who is at home where the file says.
                var account = try AccountTable.account(
                    Emulator.defaultAccount, openingIn: storefront, turn.session)
                account.storefront = storefront
                try AccountTable.update(account, turn.session)
            }
            return .success(try ProductTable.all(turn.session))
        }
    }

    func review(
        _ step: ProductReview.Step, _ id: String, withAppVersion: Bool, byApple: Bool
    ) async throws -> Result<StoreProduct, StoreRefusal> {
        try await change { turn in
            try ProductReview.take(step, id, withAppVersion: withAppVersion, byApple: byApple, turn)
        }
    }

    func edit(_ product: StoreProduct) async throws -> Result<StoreProduct, StoreRefusal> {
        try await change { turn in try ProductReview.edit(product, turn) }
    }
}
