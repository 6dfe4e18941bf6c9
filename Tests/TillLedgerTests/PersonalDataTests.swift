import Foundation
import Testing
import TillSQL
import TillTestDatabases

@testable import TillLedger

@Suite("The list of personal data") struct PersonalDataTests {
    /// What the drivers keep about the schema.
    private static let ofDrivers: Set<String> = ["schema_backfills", "schema_identity", "schema_migrations"]

    @Test("Every column of every table is in the list, once")
    func complete() async throws {
        try await withLedger(on: .sqlite) { ledger in
            let found = try await ledger.read { connection in
                try connection.query(
                    """
                    SELECT t.name AS table_name, c.name AS column_name FROM sqlite_schema t \
                    JOIN pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.name, c.cid
                    """, []
                ) { ($0.text("table_name"), $0.text("column_name")) }
            }.filter { !Self.ofDrivers.contains($0.0) && !$0.0.hasPrefix("sqlite_") }.map { "\($0.0).\($0.1)" }
            #expect(found.count > 400, "\(found.count)")
            let listed = PersonalData.tables.flatMap { table in table.columns.map { "\(table.name).\($0.name)" } }
            let (unlisted, unknown) = (Set(found).subtracting(listed), Set(listed).subtracting(found))
            #expect(unlisted.isEmpty, "say in PersonalData what these columns hold: \(unlisted.sorted())")
            #expect(unknown.isEmpty, "no table has these columns: \(unknown.sorted())")
            #expect(listed.count == Set(listed).count, "a column is listed twice")
        }
    }

    @Test("Every personal column is exported, or the export says why it is not")
    func exported() {
        let shown = Set(ExportSection.all.flatMap { $0.members.flatMap(\.sources) })
        let omitted = Set(CustomerExport.omitted.values.flatMap { $0 })
        let personal = PersonalData.columns { $0.isPersonal }
        #expect(shown.subtracting(personal).isEmpty, "\(shown.subtracting(personal).sorted())")
        let missing = personal.subtracting(shown).subtracting(omitted)
        #expect(missing.isEmpty, "neither exported nor named in CustomerExport.omitted: \(missing.sorted())")
        #expect(omitted.subtracting(personal).isEmpty, "\(omitted.subtracting(personal).sorted())")
        #expect(shown.isDisjoint(with: omitted), "\(shown.intersection(omitted).sorted())")
        #expect(Set(CustomerExport.omitted.keys) == Set(CustomerExport.omissions.map(\.what)))
    }

    @Test(
        "The page names every table that holds personal data, and every list and omission of an export",
        arguments: ["docs/personal-data.md", "docs/personal-data.zh-CN.md"])
    func documented(_ page: String) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent(page), encoding: .utf8)
        let shared: Set<String> = [
            // "Orders, payments, grants, …: several".
            "grants", "grant_owners", "ownership_basis", "distrusted_receipts", "transfer_points", "subscriptions",
            "purchases_with_rights",
            "balances", "reminders", "quarantine_reasons", "consumption_requests", "differences", "erasures",
            // What Apple signed, beside the tables that the page names.
            "waiting_receipts", "foreign_notifications", "unmatched_tokens", "apple_tasks", "apple_chains",
        ]
        let personal = PersonalData.tables.filter { table in table.columns.contains { $0.holding.isPersonal } }
        for table in personal where !shared.contains(table.name) {
            #expect(text.contains("`\(table.name)`"), "\(table.name)")
        }
        for table in personal where table.columns.contains(where: { !$0.holding.isKept }) {
            #expect(text.contains("`\(table.name)`"), "\(table.name) is not described, and an erasure changes it")
        }
        for name in CustomerExport.lists + CustomerExport.omissions.map(\.what) {
            #expect(text.contains("`\(name)`"), "\(name)")
        }
    }

    @Test("Tables whose rows are never edited keep what they hold")
    func neverEdited() {
        let neverEdited = Set(DatabaseSchema.ledger.appendOnlyTables.map { "\($0)" })
        #expect(neverEdited.count >= 7)
        for table in PersonalData.tables where neverEdited.contains(table.name) {
            for column in table.columns {
                #expect(column.holding.isKept, "\(table.name).\(column.name) can't be erased")
            }
        }
    }

    @Test("Every list of an export is read on each database", arguments: LedgerDatabase.each)
    func lists(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.read { connection in
                for section in ExportSection.all {
                    let rows = try connection.query(section.rows, [.integer(1), .integer(0), .integer(10)]) {
                        try section.item($0)
                    }
                    #expect(rows.isEmpty, "\(section.name)")
                }
            }
        }
    }
}
