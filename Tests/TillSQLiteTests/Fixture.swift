import Foundation
import TillSQL

@testable import TillSQLite

/// A directory that is deleted with the value.
final class TemporaryDirectory: Sendable {
    let path: String

    init() {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("till-sqlite-\(UUID().uuidString)").path
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    var database: String { path + "/ledger.db" }
    var name: String { URL(fileURLWithPath: path).lastPathComponent }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Two linked tables, like an order and its grant: a grant without its order can't exist.
enum Ledger {
    static let migrations: [Migration] = [
        [
            """
            CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT, proof BLOB) STRICT;
            CREATE TABLE grants (
                id INTEGER PRIMARY KEY,
                "order" INTEGER NOT NULL UNIQUE REFERENCES orders (id) DEFERRABLE INITIALLY DEFERRED,
                points INTEGER NOT NULL CHECK (points > 0)
            ) STRICT;
            """
        ]
    ]

    static func options(_ change: (inout SQLiteDatabase.Options) -> Void = { _ in }) -> SQLiteDatabase.Options {
        var options = SQLiteDatabase.Options(DatabaseSchema(migrations: migrations, applicationID: 0x5469_6C6C))
        change(&options)
        return options
    }

    /// A grant in short: an order and its grant in one body.
    @discardableResult
    static func grant(_ id: Int64, points: Int64 = 60, proof: [UInt8] = [], in connection: any Connection) throws
        -> Int64
    {
        try connection.execute(
            "INSERT INTO orders (id, note, proof) VALUES (?, ?, ?)", [.integer(id), .text("order \(id)"), .blob(proof)])
        try connection.execute(
            "INSERT INTO grants (id, \"order\", points) VALUES (?, ?, ?)",
            [.integer(id), .integer(id), .integer(points)])
        return id
    }

    static func granted(in connection: any Connection) throws -> [Int64] {
        try connection.query("SELECT id FROM grants ORDER BY id", []) { $0.integer("id") }
    }
}

/// The fault that `write` or `read` threw, if the driver threw one.
func thrownError<Value>(_ body: () async throws -> Value) async -> DatabaseError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? DatabaseError
    }
}

struct Refused: Error, Equatable {
    let reason: String
}
