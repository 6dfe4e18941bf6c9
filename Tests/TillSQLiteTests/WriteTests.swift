import Testing

@testable import TillSQLite

@Suite("Writes and reads on one file")
struct WriteTests {
    let directory = TemporaryDirectory()

    @Test("A write is read back, by this server and by the next one on the same file")
    func roundTrip() async throws {
        let first = try SQLiteDatabase.open(path: directory.database, role: .server, options: Ledger.options())
        let id = try await first.write { try Ledger.grant(7, in: $0) }
        #expect(id == 7)
        #expect(try await first.read(Ledger.granted) == [7])
        await first.close()
        let second = try SQLiteDatabase.open(path: directory.database, role: .server, options: Ledger.options())
        #expect(try await second.read(Ledger.granted) == [7])
        await second.close()
    }

    @Test("A body that throws is undone alone, and its caller gets its own error")
    func oneBodyIsUndoneAlone() async throws {
        let database = try SQLiteDatabase.open(path: directory.database, role: .server, options: Ledger.options())
        let outcomes = await withTaskGroup(of: (Int64, Bool).self) { group in
            for id in Int64(1)...300 {
                group.addTask {
                    do {
                        try await database.write { connection in
                            try Ledger.grant(id, in: connection)
                            if id % 3 == 0 { throw Refused(reason: "\(id)") }
                        }
                        return (id, true)
                    } catch {
                        #expect(error as? Refused == Refused(reason: "\(id)"))
                        return (id, false)
                    }
                }
            }
            return await group.reduce(into: [Int64: Bool]()) { $0[$1.0] = $1.1 }
        }
        #expect(outcomes.count == 300)
        let expected = (Int64(1)...300).filter { $0 % 3 != 0 }
        #expect(outcomes.filter(\.value).keys.sorted() == expected)
        #expect(try await database.read(Ledger.granted) == expected)
        #expect(
            try await database.read {
                try $0.first(
                    "SELECT count(*) AS count FROM orders", []
                ) { $0.integer("count") }
            } == 200)
        await database.close()
    }
}
