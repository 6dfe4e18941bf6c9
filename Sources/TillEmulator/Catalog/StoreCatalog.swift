import TillBilling
import TillStorage

extension Store {
    public func replaceProducts(_ products: [StoreProduct]) async throws {
        try await change { turn in try ProductTable.replace(products, turn.session) }
    }

    public func products() async throws -> [StoreProduct] {
        try await ask { session in try ProductTable.all(session) }
    }
}
