import TillBilling
import TillSQL

extension Schema {
    /// One random key, as old as the ledger's first need of it. It leaves the file in no answer.
    static let ledgerSecret: StaticString = """
        CREATE TABLE ledger_secrets (
            single_row INTEGER PRIMARY KEY CHECK (single_row = 1),
            secret BLOB NOT NULL CHECK (length(secret) = 32)
        ) STRICT;
        """
}

/// `ledger_secrets`: what ids are derived with that a repetition must get again and a stranger must not know before.
public struct LedgerSecretTable {
    public static let length = 32

    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public func find() throws -> [UInt8]? {
        try session.first("SELECT secret FROM ledger_secrets WHERE single_row = 1", []) { $0.blob("secret") }
    }

    /// Keeps a fresh secret, unless there is one.
    ///
    /// - Returns: the one that counts.
    public func keep(_ fresh: [UInt8]) throws -> [UInt8] {
        try session.execute(
            """
            INSERT INTO ledger_secrets (single_row, secret) VALUES (1, ?1) ON CONFLICT (single_row) DO NOTHING
            """, [.blob(fresh)])
        return try find() ?? fresh
    }
}
