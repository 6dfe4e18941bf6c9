import TillBilling
import TillSQL

/// Why a ledger was not copied. What is already in the target stays there; the same copy goes on from it.
package enum CopyError: Error, Sendable, Hashable {
    /// The target has rows that no copy put there.
    case targetIsNotEmpty(table: String)
    /// The target has the beginning of another ledger's copy.
    case otherSource
    /// PostgreSQL can't store these texts. Each is a table, a key and a column.
    case textsWithNUL([String])
    /// Rows were changed while they were copied: a server works on the source.
    case sourceChanged(table: String)
    /// The target does not have what the source has.
    case differs(table: String, expected: Int64, found: Int64)
    case sumsDiffer(currency: String)
}

/// Copies a whole ledger into an empty database of the same schema, table by table in batches, and verifies it. Every
/// batch is one commit together with its position, so a copy that ends at any moment goes on where it was.
package struct LedgerCopy: Sendable {
    package struct Progress: Sendable, Hashable {
        package let table: String
        package let rows: Int64
        package let isVerifying: Bool
    }

    package struct Report: Sendable, Hashable {
        package let tables: Int
        package let rows: Int64
    }

    private let source: any Database
    private let target: any Database
    /// Rows in one commit.
    private let batch: Int
    /// Whether the target is unable to store U+0000 in a text.
    private let refusesNUL: Bool
    /// Whether nothing else can change the source meanwhile.
    private let isSourceLocked: Bool
    private let tables: [CopiedTable]
    private let onProgress: @Sendable (Progress) -> Void

    package init(
        from source: any Database, to target: any Database, batch: Int = 2_000, refusesNUL: Bool,
        isSourceLocked: Bool, tables: [CopiedTable] = CopiedTable.all,
        onProgress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) {
        self.source = source
        self.target = target
        self.batch = batch
        self.refusesNUL = refusesNUL
        self.isSourceLocked = isSourceLocked
        self.tables = tables
        self.onProgress = onProgress
    }

    /// - Parameter finish: runs in the transaction that ends the copy, with the number of each table's last row: a
    ///   database that counts rows itself is told where to go on.
    package func run(
        finish: @escaping @Sendable (any Connection, [(table: CopiedTable, lastNumber: Int64)]) throws -> Void
    ) async throws -> Report {
        try await begin()
        for table in tables { try await copy(table) }
        for table in tables where table.hasLaterReferences { try await addLaterReferences(of: table) }
        let rows = try await verify()
        try await target.write(locking: [.ledger("copy")]) { [tables] connection in
            try PurchasesWithRights(connection)?.addAll()
            let numbers = try tables.compactMap { table in
                try table.lastNumber(connection).map { (table: table, lastNumber: $0) }
            }
            try finish(connection, numbers)
            try CopyProgressTable(connection).end(tables)
        }
        return Report(tables: tables.count, rows: rows)
    }

    // MARK: The beginning

    /// What names the source: a copy goes on with the same ledger only.
    private func sourceName() async throws -> String {
        try await source.read { try LedgerIdentityTable($0).find()?.id.description } ?? "a ledger without an identity"
    }

    private func begin() async throws {
        let name = try await sourceName()
        try await target.write(locking: [.ledger("copy")]) { [tables] connection in
            let progress = CopyProgressTable(connection)
            if let known = try progress.source() {
                guard known == name else { throw CopyError.otherSource }
                return
            }
            // A new schema has one row, the app that every ledger has; the source has it too.
            for table in tables where table.text != "apps" {
                guard try table.isEmpty(connection) else { throw CopyError.targetIsNotEmpty(table: table.text) }
            }
            try connection.execute("DELETE FROM apps", [])
            try progress.begin(from: name, tables)
        }
    }

    // MARK: Rows

    private func copy(_ table: CopiedTable) async throws {
        let known = try await target.read { try CopyProgressTable($0).find(table) }
        guard var entry = known else { throw CopyError.otherSource }
        guard entry.state == .copying else { return }
        var rows = try await read(table, after: entry.position)
        while !rows.isEmpty {
            try checkTexts(rows, of: table)
            let last = rows.last.map(table.keyValues)
            // The next rows are read while these are written.
            async let next = read(table, after: last)
            for row in rows { entry.digest.add(row) }
            entry.position = last
            try await write(rows, entry, to: table)
            onProgress(Progress(table: table.text, rows: entry.digest.rows, isVerifying: false))
            rows = try await next
        }
        entry.state = .copied
        try await write([], entry, to: table)
    }

    private func read(_ table: CopiedTable, after position: CopiedTable.Values?) async throws -> [CopiedTable.Values] {
        let limit = batch
        return try await source.read { try table.read(after: position, limit: limit, $0) }
    }

    private func write(
        _ rows: [CopiedTable.Values], _ entry: CopyProgressTable.Entry, to table: CopiedTable
    ) async throws {
        try await target.write(locking: [.ledger("copy")]) { connection in
            try table.write(rows, connection)
            try CopyProgressTable(connection).update(entry)
        }
    }

    /// Says which rows they are; none is left out or changed.
    private func checkTexts(_ rows: [CopiedTable.Values], of table: CopiedTable) throws {
        guard refusesNUL else { return }
        let found = rows.compactMap { row in
            table.columnWithNUL(in: row).map { "\(table.text) \(Self.text(table.keyValues(of: row))): \($0)" }
        }
        guard found.isEmpty else { throw CopyError.textsWithNUL(found) }
    }

    private static func text(_ key: CopiedTable.Values) -> String {
        key.map { value in
            switch value {
            case .null: "null"
            case .integer(let number): "\(number)"
            case .text(let text): text
            case .blob(let blob): blob.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            }
        }.joined(separator: ", ")
    }

    /// All rows of the table exist now. Interrupted, it begins again.
    private func addLaterReferences(of table: CopiedTable) async throws {
        let known = try await target.read { try CopyProgressTable($0).find(table) }
        guard var entry = known, entry.state == .copied else { return }
        var rows = try await read(table, after: nil)
        while !rows.isEmpty {
            let written = rows
            try await target.write(locking: [.ledger("copy")]) { try table.writeLater(written, $0) }
            rows = try await read(table, after: rows.last.map(table.keyValues))
        }
        entry.state = .complete
        try await write([], entry, to: table)
    }

    // MARK: Verification

    /// Reads everything that was written, and compares it with what was read. A source that others may change is read
    /// again.
    ///
    /// - Returns: how many rows were compared.
    private func verify() async throws -> Int64 {
        var rows: Int64 = 0
        for table in tables {
            guard let entry = try await target.read({ try CopyProgressTable($0).find(table) }) else {
                throw CopyError.otherSource
            }
            if !isSourceLocked, try await digest(of: table, in: source) != entry.digest {
                throw CopyError.sourceChanged(table: table.text)
            }
            let found = try await digest(of: table, in: target)
            guard found == entry.digest else {
                throw CopyError.differs(table: table.text, expected: entry.digest.rows, found: found.rows)
            }
            rows += found.rows
            onProgress(Progress(table: table.text, rows: found.rows, isVerifying: true))
        }
        let (before, after) = (try await source.read(Self.sums), try await target.read(Self.sums))
        if let wrong = before.first(where: { !after.contains($0) }) ?? after.first(where: { !before.contains($0) }) {
            throw CopyError.sumsDiffer(currency: wrong.currency)
        }
        return rows
    }

    private func digest(of table: CopiedTable, in database: any Database) async throws -> RowDigest {
        var (digest, position) = (RowDigest(), CopiedTable.Values?.none)
        while true {
            let (after, limit) = (position, batch)
            let rows = try await database.read { try table.read(after: after, limit: limit, $0) }
            guard let last = rows.last else { return digest }
            for row in rows { digest.add(row) }
            position = table.keyValues(of: last)
        }
    }

    private struct Sum: Sendable, Hashable {
        let environment: Int64
        let currency: String
        let postings: Int64
        let amount: Int64
    }

    /// The database adds up itself, apart from the digests.
    @Sendable private static func sums(_ connection: any Connection) throws -> Set<Sum> {
        Set(
            try connection.query(
                """
                SELECT environment, currency, count(*) AS postings, CAST(coalesce(sum(amount), 0) AS BIGINT) AS amount \
                FROM postings GROUP BY environment, currency
                """, []
            ) { row in
                Sum(
                    environment: row.integer("environment"), currency: row.text("currency"),
                    postings: row.integer("postings"), amount: row.integer("amount"))
            })
    }
}
