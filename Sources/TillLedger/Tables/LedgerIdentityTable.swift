import TillBilling
import TillSQL

extension Schema {
    /// Which ledger this is. `epoch` is raised when the ledger is put back to a backup: what was told of positions
    /// before is about another course of events. The secret leaves the file in no answer.
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

/// Which ledger this is, in which epoch, and the secret that ids are derived with which a repetition must get again and
/// a stranger must not know before.
public struct LedgerIdentity: Sendable, Hashable {
    public let id: UniqueID
    public let epoch: Int64
    package let secret: [UInt8]
}

/// `ledger`: one row.
public struct LedgerIdentityTable {
    static let secretLength = 32
    private static let columns: Columns = "ledger_id, epoch, secret"

    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public func find() throws -> LedgerIdentity? {
        try session.first("SELECT \(Self.columns) FROM ledger WHERE single_row = 1", []) { row in
            LedgerIdentity(
                id: try row.uniqueID("ledger_id"), epoch: row.integer("epoch"), secret: row.blob("secret"))
        }
    }

    /// Keeps a fresh identity, unless there is one.
    ///
    /// - Returns: the one that counts.
    func keep(_ fresh: LedgerIdentity, at now: Instant) throws -> LedgerIdentity {
        try session.execute(
            """
            INSERT INTO ledger (single_row, \(Self.columns), created_at) VALUES (1, ?1, ?2, ?3, ?4) \
            ON CONFLICT (single_row) DO NOTHING
            """, [.id(fresh.id), .integer(fresh.epoch), .blob(fresh.secret), .instant(now)])
        return try find() ?? fresh
    }

    /// To be called when a ledger is put back to a backup, before anybody reads it.
    ///
    /// - Parameter fresh: what the ledger is from now on if it was never asked who it is.
    package func raiseEpoch(_ fresh: LedgerIdentity, at now: Instant) throws {
        _ = try keep(fresh, at: now)
        try session.execute("UPDATE ledger SET epoch = epoch + 1 WHERE single_row = 1", [])
    }
}

extension Ledger {
    /// Which course of events this ledger tells of. A ledger that was never asked who it is, is in its first.
    package func epoch() async throws -> Int64 {
        try await database.read { try LedgerIdentityTable($0).find()?.epoch } ?? 1
    }

    /// Which ledger this is; drawn when it is needed for the first time.
    package func identity() async throws -> LedgerIdentity {
        if let known = try await database.read({ try LedgerIdentityTable($0).find() }) { return known }
        let (now, fresh) = (clock(), freshIdentity())
        return try await database.write(locking: [.ledger("identity")]) {
            try LedgerIdentityTable($0).keep(fresh, at: now)
        }
    }

    /// To be called when the ledger was put back to a backup, before it serves: cursors from before are refused.
    package func beginEpoch() async throws {
        let (now, fresh) = (clock(), freshIdentity())
        try await database.write(locking: [.ledger("identity")]) {
            try LedgerIdentityTable($0).raiseEpoch(fresh, at: now)
        }
    }

    private func freshIdentity() -> LedgerIdentity {
        LedgerIdentity(
            id: UniqueID(random: entropy(16)), epoch: 1, secret: entropy(LedgerIdentityTable.secretLength))
    }
}
