import Testing
import TillLedger
import TillSQL
import TillSQLite

@testable import till

@Suite("A ledger from before the first release") struct OlderLedgerTests {
    @Test("It is refused with a sentence in English and in Chinese that names the cure")
    func refused() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/till.db"
        var older = SQLiteDatabase.Options(.ledger)
        older.schema.firstVersion = 1
        older.schema.migrations = [["CREATE TABLE orders (id INTEGER)"]]
        let ledger = try SQLiteDatabase.open(path: path, role: .server, options: older)
        await ledger.close()
        let refusal = #expect(throws: DatabaseError.self) {
            try SQLiteDatabase.open(path: path, role: .server, options: .init(.ledger))
        }
        let sentence = refusal.map { LedgerLocation.sqlite(path: path).failure($0) }?.reasons.first
        #expect(sentence?.en.contains("from before the first release") == true)
        #expect(sentence?.zh.contains("由首个正式版之前的 Till 写成") == true)
    }
}
