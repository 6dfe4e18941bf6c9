import Testing
import TillSQL

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

    @Test("Of bodies that share a commit each that fails is undone alone, with savepoints and without")
    func sharedCommit() throws {
        let directory = TemporaryDirectory()
        let database = try SQLiteDatabase.open(
            path: directory.database, role: .server, options: Ledger.options { $0.threads = .inline })
        var next: Int64 = 0
        // The first batch has no savepoints and runs again with them; the later ones have them, and then none again.
        for round in 0..<(GroupCommit.guardedAfterFailure + 3) {
            let fails = round < 3 || round == GroupCommit.guardedAfterFailure + 1
            let first = next
            let bodies: [@Sendable (any Connection) throws -> Int64] = [
                { try Ledger.grant(first, in: $0) },
                { connection in
                    try Ledger.grant(first + 1, in: connection)
                    if fails { throw Refused(reason: "late") }
                    return first + 1
                },
                { connection in
                    // An order that is missing at the end makes the commit fail: the driver finds out before.
                    try connection.execute(
                        "INSERT INTO grants (id, \"order\", points) VALUES (?1, ?2, 1)",
                        [.integer(first + 2), .integer(fails ? -1 : first)])
                    return first + 2
                },
                { try Ledger.grant(first + 3, in: $0) },
            ]
            let succeeded = database.together(bodies).map { (try? $0.get()) != nil }
            #expect(succeeded == [true, !fails, false, true], "round \(round)")
            next += 4
        }
        let count: @Sendable (any Connection) throws -> [Int64] = { try Ledger.granted(in: $0) }
        let granted = try database.together([count])[0].get()
        #expect(granted.count == Int(next) / 4 * 3 - 4)
    }

    @Test("An id that a failed body drew is drawn again, and one that was used is not")
    func drawnIDs() throws {
        let directory = TemporaryDirectory()
        let database = try SQLiteDatabase.open(
            path: directory.database, role: .server, options: Ledger.options { $0.threads = .inline })
        let create: @Sendable (any Connection) throws -> Int = {
            try $0.execute("CREATE TABLE t (row_id INTEGER PRIMARY KEY) STRICT", [])
        }
        _ = try database.together([create])[0].get()
        func draw(fails: Bool, uses: Bool = true) -> @Sendable (any Connection) throws -> Int64 {
            { connection in
                let id = try connection.drawID(of: "t")
                if uses { try connection.execute("INSERT INTO t (row_id) VALUES (?1)", [.integer(id)]) }
                if fails { throw Refused(reason: "late") }
                return id
            }
        }
        func drawn(_ bodies: [@Sendable (any Connection) throws -> Int64]) -> [Int64?] {
            database.together(bodies).map { try? $0.get() }
        }
        #expect(drawn([draw(fails: false), draw(fails: true), draw(fails: false)]) == [1, nil, 2])
        #expect(drawn([draw(fails: true, uses: false), draw(fails: false)]) == [nil, 3])
        #expect(drawn([draw(fails: true)]) == [nil])
        #expect(drawn([draw(fails: false), draw(fails: false)]) == [4, 5])
        // A body that chooses its ids, such as a copy of a ledger.
        let insert: @Sendable (any Connection) throws -> Int64 = {
            Int64(try $0.execute("INSERT INTO t (row_id) VALUES (50)", []))
        }
        #expect(drawn([insert]) == [1])
        #expect(drawn([draw(fails: false)]) == [51])
    }

}
