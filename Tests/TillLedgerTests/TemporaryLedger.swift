import Foundation
import TillSQL
import TillSQLite

@testable import TillLedger

/// Runs the body with a new ledger in its own file, which is deleted afterwards.
func withLedger(_ body: (any Database) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let ledger = try SQLiteDatabase.open(
        path: folder.appendingPathComponent("till.db").path, role: .server, options: .init(.ledger))
    do {
        try await body(ledger)
    } catch {
        await ledger.close()
        throw error
    }
    await ledger.close()
}
