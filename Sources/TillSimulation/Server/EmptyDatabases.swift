import TillEmulator
import TillLedger
import TillSQLite

/// The files of a new ledger and of a new store, after all migrations. Each world begins with copies: no fault can
/// occur before its first server has started.
struct EmptyDatabases: Sendable {
    let ledger: [String: [UInt8]]
    let store: [String: [UInt8]]

    static let ledgerPath = "till.db"
    static let storePath = "store.db"

    init() throws {
        ledger = try Self.files(of: SQLiteDatabase.Options(.ledger), at: Self.ledgerPath)
        store = try Self.files(of: Emulator.databaseOptions, at: Self.storePath)
    }

    private static func files(of options: SQLiteDatabase.Options, at path: String) throws -> [String: [UInt8]] {
        let disk = CrashableDisk(seed: 0)
        var options = options
        options.vfs = disk.vfs
        options.threads = .inline
        // Its last connection moves the log into the file.
        do { _ = try SQLiteDatabase.open(path: path, role: .server, options: options) }
        guard let file = disk.contents(of: path), disk.contents(of: path + "-wal") == nil else {
            throw SimulationError("\(path) was not closed")
        }
        return [path: file]
    }
}
