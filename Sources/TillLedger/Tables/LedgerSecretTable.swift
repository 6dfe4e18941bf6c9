import TillBilling
import TillSQL

extension Schema {
    /// One random key, as old as the ledger's first need of it. It leaves the file in no answer.
    static let ledgerSecret: StaticString = """
        CREATE TABLE ledger_secrets (
            only INTEGER PRIMARY KEY CHECK (only = 1),
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
        try session.first("SELECT secret FROM ledger_secrets WHERE only = 1", []) { $0.blob(0) }
    }

    /// Keeps a fresh secret, unless there is one.
    ///
    /// - Returns: the one that counts.
    public func keep(_ fresh: [UInt8]) throws -> [UInt8] {
        try session.execute(
            "INSERT INTO ledger_secrets (only, secret) VALUES (1, ?) ON CONFLICT (only) DO NOTHING", [.blob(fresh)])
        return try find() ?? fresh
    }
}
