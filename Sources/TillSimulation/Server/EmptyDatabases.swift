import CTillSQLite
import TillEmulator
import TillLedger
import TillSQLite

/// The files of a new ledger and of a new store, after all migrations. Each world begins with copies: no fault can
/// occur before its first server has started.
struct EmptyDatabases: Sendable {
    private let ledger: [String: [UInt8]]
    /// A ledger that several servers write, as PostgreSQL has it: a trigger lists what is inserted.
    private let sharedLedger: [String: [UInt8]]
    let store: [String: [UInt8]]

    static let ledgerPath = "till.db"
    static let storePath = "store.db"

    init() throws {
        ledger = try Self.files(of: SQLiteDatabase.Options(.ledger), at: Self.ledgerPath)
        sharedLedger = try Self.files(
            of: SQLiteDatabase.Options(.ledger), at: Self.ledgerPath, adding: Self.listingTrigger)
        store = try Self.files(of: Emulator.databaseOptions, at: Self.storePath)
    }

    func ledger(hasSeveralWriters: Bool) -> [String: [UInt8]] { hasSeveralWriters ? sharedLedger : ledger }

    private static let listingTrigger = """
        CREATE TRIGGER new_purchases_with_rights AFTER INSERT ON transactions
        WHEN NEW.order_row_id IS NOT NULL AND (coalesce(NEW.type, 0) <> 1 OR NEW.state = 3) BEGIN
            INSERT INTO purchases_with_rights (customer_id, transaction_row_id)
                SELECT o.customer_id, NEW.row_id FROM orders o WHERE o.row_id = NEW.order_row_id
                ON CONFLICT DO NOTHING;
        END
        """

    private static func files(
        of options: SQLiteDatabase.Options, at path: String, adding script: String? = nil
    ) throws -> [String: [UInt8]] {
        let disk = CrashableDisk(seed: 0)
        var options = options
        options.vfs = disk.vfs
        options.threads = .inline
        // Its last connection moves the log into the file.
        do { _ = try SQLiteDatabase.open(path: path, role: .server, options: options) }
        if let script { try run(script, on: disk, path) }
        guard let file = disk.contents(of: path), disk.contents(of: path + "-wal") == nil else {
            throw SimulationError("\(path) was not closed")
        }
        return [path: file]
    }

    private static func run(_ script: String, on disk: CrashableDisk, _ path: String) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, disk.vfs) == SQLITE_OK,
            sqlite3_exec(handle, script, nil, nil, nil) == SQLITE_OK
        else { throw SimulationError("\(path): \(String(cString: sqlite3_errmsg(handle)))") }
    }
}
