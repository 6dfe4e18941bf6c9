import Testing
import TillSQL
import TillTestDatabases

@testable import TillPostgres

@Suite("Statements on PostgreSQL", .enabled(if: PostgresCluster.isInstalled, "\(PostgresCluster.missing)"))
struct PostgresStatementTests {
    private static let (integer, wholeNumber, bytes, text): (UInt32, UInt32, UInt32, UInt32) = (20, 23, 17, 25)

    @Test("PostgreSQL prepares every statement of the ledger, for the types of values that the driver sends and reads")
    func prepared() async throws {
        try await withLedgerPlace(on: .postgres) { place in
            let session = try #require(try place.session())
            let (shared, alone) = (try SourceStatements.ofTheLedger(), try SourceStatements.ofPostgresAlone())
            #expect(shared.count > 250 && alone.count == 17, "\(shared.count), \(alone.count)")
            let statements = shared + alone
            for statement in statements {
                do {
                    try check(statement, session)
                } catch {
                    Issue.record("\(error) in \(statement)")
                }
            }
        }
    }

    private func check(_ statement: SourceStatement, _ session: PostgresSession) throws {
        let text = StatementText(statement.whole).text
        let inferred = try session.prepare(text)
        let sent: Set<UInt32> = [Self.integer, Self.bytes, Self.text]
        // The driver sends each integer with eight bytes, also where PostgreSQL would take four.
        let types = inferred.parameters.map { $0 == Self.wholeNumber ? Self.integer : $0 }
        #expect(Set(types).isSubset(of: sent), "parameters of the types \(types) in \(statement)")
        let prepared = try session.prepare(text, types: types)
        for column in prepared.columns {
            let isRead = sent.contains(column.type) || column.type == Self.wholeNumber
            #expect(isRead, "\(column.name) has the type \(column.type) in \(statement)")
        }
    }

    @Test("A statement that PostgreSQL refuses is found, and so is a sum that the driver cannot read")
    func planted() async throws {
        try await withLedgerPlace(on: .postgres) { place in
            let session = try #require(try place.session())
            #expect(throws: PostgresSession.Failure.self) { try session.prepare("SELECT user_name FROM orders") }
            #expect(throws: PostgresSession.Failure.self) {
                try session.prepare("SELECT product FROM orders GROUP BY quantity")
            }
            #expect(try session.prepare("SELECT sum(amount) AS sum FROM postings").columns.map(\.type) == [1_700])
        }
    }
}
