import TillBilling
import TillSQL

extension Schema {
    /// The identity of the ledger. `epoch` is raised when the ledger is restored from a backup, because earlier
    /// positions then refer to different events. No response contains the secret.
    static let ledger: StaticString = """
        CREATE TABLE ledger (
            single_row INTEGER PRIMARY KEY CHECK (single_row = 1),
            ledger_id BLOB NOT NULL CHECK (length(ledger_id) = 16),
            epoch INTEGER NOT NULL CHECK (epoch > 0),
            secret BLOB NOT NULL CHECK (length(secret) = 32),
            created_at INTEGER NOT NULL
        ) STRICT;
        """
}

/// The ledger's id and epoch, and the secret for derived ids: a repeated request must derive the same id, and outsiders
/// must not be able to predict it.
public struct LedgerIdentity: Sendable, Hashable {
    public let id: UniqueID
    public let epoch: Int64
    package let secret: [UInt8]

    static func fresh(_ entropy: Ledger.Entropy) -> LedgerIdentity {
        LedgerIdentity(id: UniqueID(random: entropy(16)), epoch: 1, secret: entropy(LedgerIdentityTable.secretLength))
    }
}

/// `ledger`: one row.
public struct LedgerIdentityTable {
    static let secretLength = 32
    private static let columns: Columns = "ledger_id, epoch, secret"

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public func find() throws -> LedgerIdentity? {
        try connection.first("SELECT \(Self.columns) FROM ledger WHERE single_row = 1", []) { row in
            LedgerIdentity(
                id: try row.uniqueID("ledger_id"), epoch: row.integer("epoch"), secret: row.blob("secret"))
        }
    }

    /// Stores a fresh identity, unless there is one.
    ///
    /// - Returns: the stored identity.
    func store(_ fresh: LedgerIdentity, at now: Instant) throws -> LedgerIdentity {
        try connection.write(
            """
            INSERT INTO ledger (single_row, \(Self.columns), created_at) VALUES (1, ?1, ?2, ?3, ?4) \
            ON CONFLICT (single_row) DO NOTHING
            """, [.id(fresh.id), .integer(fresh.epoch), .blob(fresh.secret), .instant(now)])
        return try find() ?? fresh
    }

    /// - Parameter fresh: the ledger's identity from now on, if it has none yet.
    /// - Returns: the identity with its new epoch.
    func raiseEpoch(_ fresh: LedgerIdentity, at now: Instant) throws -> LedgerIdentity {
        let known = try store(fresh, at: now)
        try connection.write("UPDATE ledger SET epoch = epoch + 1 WHERE single_row = 1", [])
        return try find() ?? known
    }
}

extension Ledger {
    /// What cursors state: 1 before any restore. It differs between two restores of the same backup, whose epochs are
    /// equal, because it includes the time.
    package func cursorEpoch() async throws -> Int64 {
        try await database.read { connection in
            try LedgerRestoreTable(connection).last().map { $0.restoredAt.milliseconds + $0.epoch }
        } ?? 1
    }

    /// The ledger's identity; created when it is first needed.
    package func identity() async throws -> LedgerIdentity {
        if let known = try await database.read({ try LedgerIdentityTable($0).find() }) { return known }
        let (now, fresh) = (clock(), LedgerIdentity.fresh(entropy))
        return try await database.write(locking: [.ledger("identity")]) {
            try LedgerIdentityTable($0).store(fresh, at: now)
        }
    }
}
