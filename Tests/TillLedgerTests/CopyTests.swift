import Testing
import TillBilling
import TillSQL
import TillSQLite
import TillTestDatabases
import TillThreads

@testable import TillLedger

@Suite("A ledger is copied into another database")
struct CopyTests {
    // MARK: The list of tables

    /// `purchases_with_rights` is written by triggers, or at the end of the copy.
    private static let notCopied: Set<String> = [
        "commit_marks", "grant_decisions", "heartbeat", "leases", "purchases_with_rights", "schema_backfills",
        "schema_identity", "schema_migrations",
    ]

    @Test("The list has every table of the schema with its columns, kinds and key")
    func list() async throws {
        try await withLedger(on: .sqlite) { ledger in
            let found = try await ledger.read { connection in
                try connection.query(
                    """
                    SELECT m.name AS place, c.name AS name, c.type AS kind, c.pk AS rank FROM sqlite_schema AS m \
                    CROSS JOIN pragma_table_info(m.name) AS c ON 1 = 1 WHERE m.type = 'table' ORDER BY m.name, c.cid
                    """, []
                ) { ($0.text("place"), "\($0.text("name")) \($0.text("kind").lowercased())", $0.integer("rank")) }
            }.filter { !Self.notCopied.contains($0.0) && !$0.0.hasPrefix("sqlite_") }
            let columns = Dictionary(grouping: found, by: \.0).mapValues { $0.map(\.1) }
            let keys = Dictionary(grouping: found.filter { $0.2 > 0 }, by: \.0).mapValues { rows in
                rows.sorted { $0.2 < $1.2 }.map { $0.1.split(separator: " ")[0] }
            }
            #expect(Set(CopiedTable.all.map(\.text)) == Set(columns.keys))
            for table in CopiedTable.all {
                #expect(table.columns.map { "\($0.name) \($0.kind)" } == columns[table.text], "\(table.text)")
                let row = table.columns.map { SQLValue.text("\($0.name)") }
                #expect(
                    table.keyValues(of: row) == keys[table.text]?.map { SQLValue.text(String($0)) }, "\(table.text)")
            }
        }
    }

    @Test("Every table is read from its beginning, after a key and at its end", arguments: LedgerDatabase.each)
    func reading(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.read { connection in
                for table in CopiedTable.all {
                    let row = table.columns.map { column -> SQLValue in
                        switch column.kind {
                        case .integer: .integer(1)
                        case .text: .text("a")
                        case .blob: .blob([1])
                        }
                    }
                    let first = try table.read(after: nil, limit: 3, connection)
                    #expect(first.count == (table.text == "apps" ? 1 : 0), "\(table.text)")
                    #expect(try table.read(after: table.keyValues(of: row), limit: 3, connection).isEmpty)
                    #expect(try table.lastNumber(connection) == (table.text == "apps" ? 1 : nil))
                }
            }
        }
    }

    // MARK: Samples

    /// Rows that are hard to copy: references to later rows, bytes that are no text, keys of several columns.
    private static func fill(_ ledger: any Database, orders: Int64 = 130) async throws {
        try await ledger.write { connection in
            for customer in Int64(1)...40 {
                try connection.execute(
                    "INSERT INTO customers (customer_id, user_id, first_seen) VALUES (?1, ?2, 0)",
                    [.integer(customer), .text("顾客 \(customer) ' \u{301}")])
            }
            // A guest that was merged into an account that came later.
            for guest in Int64(1)...9 {
                try connection.execute(
                    "UPDATE customers SET merged_into = ?2, kind = 1 WHERE customer_id = ?1",
                    [.integer(guest), .integer(40 - guest)])
            }
            for order in 1...orders {
                try connection.execute(
                    """
                    INSERT INTO orders (row_id, id, customer_id, product, quantity, status, price, currency, \
                    created_at, updated_at, moves, id_source) VALUES (?1, ?2, ?3, 'p', 1, 0, ?4, 'CNY', 7, 7, 0, 1)
                    """,
                    [
                        .integer(order * 3),
                        .blob([UInt8](repeating: UInt8(order % 251), count: 15) + [UInt8(order % 7)]),
                        .integer(order % 40 + 1), .integer(order == 5 ? .max : -order),
                    ])
                try connection.execute(
                    """
                    INSERT INTO postings (environment, customer_id, contra, currency, amount, kind, reference, at) \
                    VALUES (2, ?1, 'bonus', ?2, ?3, 'bonus', ?4, 9)
                    """,
                    [
                        .integer(order % 40 + 1), .text(order % 2 == 0 ? "points" : "gems"), .integer(order),
                        .text("r\(order)"),
                    ])
            }
            // A subscription and a purchase of points.
            try connection.execute(
                """
                INSERT INTO transactions (row_id, environment, id, original_id, product, quantity, purchased_at, \
                signed_at, state, order_row_id, received_at, type) VALUES (4, 2, 't4', 't4', 'p', 1, 7, 7, 1, 3, 7, \
                3), (5, 2, 't5', 't5', 'p', 1, 7, 7, 1, 3, 7, 1)
                """, [])
            try connection.execute(
                "INSERT INTO catalog_versions (version, sha256, body, since) VALUES (4, ?1, ?2, 3)",
                [.blob([UInt8](repeating: 0, count: 32)), .blob([0, 255, 0, 10, 13])])
            for token in UInt8(1)...9 {
                try connection.execute(
                    "INSERT INTO unmatched_tokens (token, environment, first_seen) VALUES (?1, ?2, 5)",
                    [.blob([UInt8](repeating: token, count: 16)), .integer(Int64(token % 2) + 1)])
            }
        }
    }

    private func digests(_ ledger: any Database) async throws -> [String: RowDigest] {
        try await ledger.read { connection in
            var all: [String: RowDigest] = [:]
            for table in CopiedTable.all {
                var digest = RowDigest()
                for row in try table.read(after: nil, limit: 1_000_000, connection) { digest.add(row) }
                all[table.text] = digest
            }
            return all
        }
    }

    private func copy(
        _ source: any Database, _ target: any Database, batch: Int = 16, locked: Bool = true, refusesNUL: Bool = false
    ) async throws -> LedgerCopy.Report {
        try await LedgerCopy(
            from: source, to: target, batch: batch, refusesNUL: refusesNUL, isSourceLocked: locked
        ).run { _, _ in }
    }

    // MARK: Both directions

    private static let directions = LedgerDatabase.each.flatMap { from in LedgerDatabase.each.map { (from, $0) } }

    @Test("The copy has the same digest of every table, in both directions", arguments: directions)
    func same(from: LedgerDatabase, to: LedgerDatabase) async throws {
        try await withLedger(on: from) { source in
            try await Self.fill(source)
            try await withLedger(on: to) { target in
                let report = try await copy(source, target)
                let (before, after) = (try await digests(source), try await digests(target))
                #expect(before == after)
                #expect(report.rows == before.values.reduce(0) { $0 + $1.rows })
                #expect(before["customers"]?.rows == 40 && before["orders"]?.rows == 130)
                let merged = try await target.read { connection in
                    try connection.query(
                        "SELECT merged_into FROM customers WHERE customer_id = 1", []
                    ) { $0.integer("merged_into") }
                }
                #expect(merged == [39])
                let rows = try await target.read { connection in
                    try connection.query("SELECT name FROM leases", []) { $0.text("name") }
                }
                #expect(rows.isEmpty, "nothing is left of the copy's progress")
                let listed = try await target.read { connection in
                    try connection.query(
                        "SELECT customer_id * 100 + transaction_row_id AS row FROM purchases_with_rights", []
                    ) { $0.integer("row") }
                }
                #expect(listed == [204], "the subscription, and not the points")
            }
        }
    }

    // MARK: Interruptions

    @Test("A copy that ends after any of its commits goes on and is the same", arguments: LedgerDatabase.each)
    func resume(_ database: LedgerDatabase) async throws {
        try await withLedger(on: .sqlite) { source in
            try await Self.fill(source, orders: 60)
            let before = try await digests(source)
            var commits = 0
            try await withLedger(on: database) { target in
                let counting = BreakingDatabase(target, after: .max)
                _ = try await copy(source, counting)
                commits = counting.commits
            }
            #expect(commits > 60)
            let step = database == .sqlite ? 7 : 23
            // The second copy below makes at most five commits, and must not be the one that ends.
            for broken in stride(from: 1, to: commits - 5, by: step) {
                try await withLedger(on: database) { target in
                    await #expect(throws: DatabaseError.self) {
                        try await copy(source, BreakingDatabase(target, after: broken))
                    }
                    // Once more, a little later; then to the end.
                    _ = try? await copy(source, BreakingDatabase(target, after: 5))
                    _ = try await copy(source, target)
                    #expect(try await digests(target) == before, "interrupted after commit \(broken)")
                }
            }
        }
    }

    @Test("A target that something else changed is found out", arguments: LedgerDatabase.each)
    func corrupted(_ database: LedgerDatabase) async throws {
        try await withLedger(on: .sqlite) { source in
            try await Self.fill(source)
            for statement in [
                "UPDATE orders SET price = price + 1 WHERE row_id = 30" as SQL, "DELETE FROM orders WHERE row_id = 30",
                "UPDATE customers SET user_id = 'another' WHERE customer_id = 3",
                "UPDATE customers SET merged_into = 20 WHERE customer_id = 1",
            ] {
                try await withLedger(on: database) { target in
                    // The last commit is that of the end, after the verification.
                    let counting = BreakingDatabase(target, after: .max)
                    counting.breakOnDrop()
                    await #expect(throws: DatabaseError.self) { try await copy(source, counting) }
                    _ = try await target.write { try $0.execute(statement, []) }
                    let error = await #expect(throws: CopyError.self) { try await copy(source, target) }
                    guard case .differs(let table, _, _)? = error else {
                        Issue.record("\(String(describing: error))")
                        return
                    }
                    #expect(["orders", "customers"].contains(table))
                    #expect(try await target.read { try CopyProgressTable($0).source() } != nil, "still marked")
                }
            }
        }
    }

    @Test("A source that a server changes meanwhile is found out")
    func sourceChanges() async throws {
        try await withLedger(on: .sqlite) { source in
            try await Self.fill(source)
            try await withLedger(on: .sqlite) { target in
                let counting = BreakingDatabase(target, after: .max)
                counting.breakOnDrop()
                await #expect(throws: DatabaseError.self) { try await copy(source, counting, locked: false) }
                _ = try await source.write { try $0.execute("UPDATE orders SET moves = 1 WHERE row_id = 3", []) }
                await #expect(throws: CopyError.sourceChanged(table: "orders")) {
                    try await copy(source, target, locked: false)
                }
            }
        }
    }

    // MARK: Refusals

    @Test("A target with rows, and the beginning of another ledger's copy, are refused")
    func refused() async throws {
        try await withLedger(on: .sqlite) { source in
            try await Self.fill(source)
            try await withLedger(on: .sqlite) { other in
                try await Self.fill(other, orders: 1)
                await #expect(throws: CopyError.targetIsNotEmpty(table: "customers")) { try await copy(source, other) }
            }
            try await withLedger(on: .sqlite) { target in
                await #expect(throws: DatabaseError.self) {
                    try await copy(source, BreakingDatabase(target, after: 3))
                }
                try await withLedger(on: .sqlite) { other in
                    try await other.write { connection in
                        _ = try LedgerIdentityTable(connection).store(
                            LedgerIdentity(
                                id: UniqueID(random: [UInt8](repeating: 1, count: 16)), epoch: 1,
                                secret: [UInt8](repeating: 2, count: 32)), at: Instant(milliseconds: 0))
                    }
                    await #expect(throws: CopyError.otherSource) { try await copy(other, target) }
                }
            }
        }
    }

    @Test("Texts that PostgreSQL can't store are named with their rows, and nothing is left out")
    func textsWithNUL() async throws {
        try await withLedger(on: .sqlite) { source in
            try await Self.fill(source, orders: 3)
            _ = try await source.write {
                try $0.execute("UPDATE orders SET metadata = ?1 WHERE row_id = 6", [.text("a\u{0}b")])
            }
            try await withLedger(on: .sqlite) { target in
                await #expect(throws: CopyError.textsWithNUL(["orders 6: metadata"])) {
                    try await copy(source, target, refusesNUL: true)
                }
            }
        }
    }

    @Test("A digest is the same in any order, and differs for other rows")
    func digest() {
        let rows: [CopiedTable.Values] = [
            [.integer(1), .text("a")], [.integer(2), .null], [.integer(2), .text("")], [.integer(2), .blob([])],
        ]
        func digest(_ rows: [CopiedTable.Values]) -> RowDigest { rows.reduce(into: RowDigest()) { $0.add($1) } }
        #expect(digest(rows) == digest(rows.reversed()))
        for missing in rows.indices {
            var fewer = rows
            fewer.remove(at: missing)
            #expect(digest(fewer) != digest(rows))
            #expect(digest(fewer + [fewer[0]]) != digest(rows))
        }
        let whole = digest(rows)
        #expect(RowDigest(whole.text, rows: whole.rows) == whole)
    }
}

/// A database that fails before a commit, as one whose program is killed.
private final class BreakingDatabase: Database {
    private let base: any Database
    private let last: Int
    private let state = Locked((commits: 0, breaksOnDrop: false))

    init(_ base: any Database, after last: Int) {
        self.base = base
        self.last = last
    }

    var commits: Int { state.withLock { $0.commits } }

    /// Fails at the write that would end the copy: it reads the last rows.
    func breakOnDrop() { state.withLock { $0.breaksOnDrop = true } }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        let (isOver, breaksOnDrop) = state.withLock { state in
            state.commits += 1
            return (state.commits > last, state.breaksOnDrop)
        }
        guard !isOver else { throw DatabaseError(.closed, "killed") }
        return try await base.write(locking: keys()) { connection in
            let value = try body(connection)
            if breaksOnDrop {
                let isThere = try CopyProgressTable(connection).source() != nil
                guard isThere else { throw DatabaseError(.closed, "killed at the end") }
            }
            return value
        }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        try await base.read(body)
    }

    func close() async {}
}
