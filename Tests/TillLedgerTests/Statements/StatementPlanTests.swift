import CTillSQLite
import Testing
import TillEmulator
import TillSQL
import TillSQLite

@testable import TillLedger

/// SQLite's plans for the statements in the sources, over the real tables.
@Suite("Statements and their tables") struct StatementPlanTests {
    /// A module with tables, and its schema.
    struct SampleLedger: Sendable, CustomStringConvertible {
        let module: String
        let schema: DatabaseSchema
        /// The least number of its statements: an extraction that finds none proves nothing.
        let least: Int

        var description: String { module }
    }

    static let all = [
        SampleLedger(module: "TillLedger", schema: .ledger, least: 250),
        SampleLedger(
            module: "TillEmulator", schema: DatabaseSchema(migrations: StoreSchema.migrations, applicationID: 0),
            least: 100),
    ]

    @Test("Every statement of the sources is prepared by SQLite over the real tables", arguments: all)
    func prepared(_ sampleLedger: SampleLedger) throws {
        let database = try PlainDatabase(sampleLedger.schema)
        let statements = try SourceStatements.statements(of: sampleLedger.module)
        #expect(statements.count > sampleLedger.least, "\(statements.count)")
        for statement in statements {
            let error = database.fault(in: statement.whole)
            #expect(error == nil, "\(error ?? "") in \(statement)")
        }
    }

    @Test(
        "Every non-unique partial index is used by a statement whose text states its constants", arguments: all
    )
    func partialIndices(_ sampleLedger: SampleLedger) throws {
        let database = try PlainDatabase(sampleLedger.schema)
        let partial = try database.names(
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql LIKE 'CREATE INDEX % WHERE %'")
        #expect(partial.count > 10, "\(partial.count)")
        let plans = try SourceStatements.statements(of: sampleLedger.module).flatMap { try database.plan(of: $0.whole) }
        for index in partial {
            let isUsed = plans.contains { $0.split(separator: " ").contains(Substring(index)) }
            #expect(isUsed, "no statement of \(sampleLedger.module) uses \(index)")
        }
    }

    @Test("A page of the completed orders reads as many as it shows, and sorts none")
    func completedOrders() throws {
        let statements = try SourceStatements.ofTheLedger().filter {
            $0.whole.contains("ORDER BY t.order_row_id DESC LIMIT")
        }
        #expect(statements.count == 1)
        for statement in statements {
            let plan = try PlainDatabase(.ledger).plan(of: statement.whole)
            #expect(plan.contains { $0.contains("COVERING INDEX transactions_by_order") }, "\(plan)")
            #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
        }
    }

    @Test("Giving events their positions reads those that wait, and not the events before them")
    func positions() throws {
        let statements = try SourceStatements.ofTheLedger().filter { $0.whole.contains("AS waits") }
        #expect(statements.count == 1)
        for statement in statements {
            let plan = try PlainDatabase(.ledger).plan(of: statement.whole)
            #expect(plan.contains("SEARCH u USING INTEGER PRIMARY KEY (rowid<?)"), "\(plan)")
            #expect(plan.contains("SEARCH o USING INTEGER PRIMARY KEY (rowid=?)"), "\(plan)")
        }
    }

    @Test("A parameter in place of an index's constant is found, and so is a column that no table has")
    func planted() throws {
        let database = try PlainDatabase(.ledger)
        func plan(_ condition: String) throws -> [String] {
            try database.plan(of: "SELECT row_id FROM notifications WHERE \(condition) ORDER BY row_id")
        }
        #expect(try plan("state = 0").contains { $0.contains("notifications_pending") })
        #expect(try plan("state = ?1").contains { $0.contains("notifications_pending") } == false)
        #expect(database.fault(in: "SELECT user_name FROM orders")?.contains("user_name") == true)
    }

    @Test("No statement uses SELECT *, and every column list in a statement is known", arguments: all)
    func lists(_ sampleLedger: SampleLedger) throws {
        for statement in try SourceStatements.statements(of: sampleLedger.module) {
            #expect(!statement.text.contains(/SELECT \*|\w\.\*/), "\(statement)")
            #expect(!statement.text.contains("\\("), "a list that is not known in \(statement)")
        }
    }
}

/// SQLite without the driver: any text can be prepared. Used by one test at a time.
private final class PlainDatabase {
    private var handle: OpaquePointer?

    init(_ schema: DatabaseSchema) throws {
        try #require(sqlite3_open(":memory:", &handle) == SQLITE_OK)
        for script in schema.migrations.flatMap(\.scripts) {
            let code = sqlite3_exec(handle, script.description, nil, nil, nil)
            try #require(code == SQLITE_OK, "\(String(cString: sqlite3_errmsg(handle)))")
        }
    }

    deinit { sqlite3_close(handle) }

    /// Why the text can't be prepared; nil if it can.
    func fault(in text: String) -> String? {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        let code = sqlite3_prepare_v2(handle, text, -1, &statement, nil)
        return code == SQLITE_OK ? nil : String(cString: sqlite3_errmsg(handle))
    }

    /// The planner's description of each step.
    func plan(of text: String) throws -> [String] { try column(3, of: "EXPLAIN QUERY PLAN " + text) }

    func names(_ text: String) throws -> [String] { try column(0, of: text) }

    private func column(_ column: Int32, of text: String) throws -> [String] {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        try #require(sqlite3_prepare_v2(handle, text, -1, &statement, nil) == SQLITE_OK, "\(text)")
        var found: [String] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            found.append(sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "")
        }
        return found
    }
}
