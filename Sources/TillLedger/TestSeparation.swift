import TillBilling
import TillSQL

extension Ledger {
    /// The environment of rows that this configuration must not serve: purchases of the App Store in a ledger for
    /// Xcode's local tests, or tests in any other ledger. Nil if there are none. Call before the server listens.
    package func environmentToRefuse() async throws -> StoreEnvironment? {
        let refused: [StoreEnvironment] = settings.apple.acceptsXcode ? [.production, .sandbox] : [.xcode]
        return try await database.read { connection in
            try refused.first { try Self.hasRows(of: $0, connection) }
        }
    }

    /// Every purchase has a transaction or a saved proof, and every point a balance.
    private static func hasRows(of environment: StoreEnvironment, _ connection: any Connection) throws -> Bool {
        try connection.first(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM transactions WHERE environment = ?1) \
            OR EXISTS (SELECT 1 FROM balances WHERE environment = ?1) \
            OR EXISTS (SELECT 1 FROM saved_proofs WHERE environment = ?1)
            """, [environment.column]
        ) { _ in true } ?? false
    }
}
