import TillBilling
import TillCrypto
import TillSQL

extension Schema {
    /// Only PostgreSQL's rows need marks; a file has one writer, which knows its own rows.
    static let commitMarks: StaticString = """
        CREATE TABLE commit_marks (
            number INTEGER PRIMARY KEY,
            code BLOB NOT NULL
        ) STRICT;
        """
}

extension PostgresTables {
    static let commitMarks: StaticString = """
        CREATE TABLE commit_marks (
            number BIGINT PRIMARY KEY,
            code BYTEA NOT NULL
        );
        """
}

extension SealKey {
    /// What a server's transaction writes beside its rows: the transaction's number, and a code under this key. Rows of
    /// another program have the number of a transaction without a mark (docs/decisions/0082).
    package var commitMark: CommitMark {
        CommitMark(facts: PostgresStatements.commit) { row in
            let number = row.integer("number")
            let code = self.code(
                ofCommit: number, ledger: row.isNull("ledger_id") ? nil : try row.uniqueID("ledger_id"),
                epoch: row.optionalInteger("epoch"))
            return Statement(
                "INSERT INTO commit_marks (number, code) VALUES (?1, ?2)", [.integer(number), .blob(code)])
        }
    }
}

/// `commit_marks`: the transactions of servers whose rows are not sealed yet.
struct CommitMarkTable {
    private let connection: any Connection
    init(_ connection: any Connection) { self.connection = connection }

    func numbers() throws -> [Int64] {
        try connection.query("SELECT number FROM commit_marks", []) { $0.integer("number") }
    }

    /// The numbers with a right code. A ledger's first rows are older than its identity.
    func valid(under key: SealKey, _ identity: LedgerIdentity) throws -> Set<Int64> {
        Set(
            try connection.query("SELECT number, code FROM commit_marks", []) { row in
                let (number, code) = (row.integer("number"), row.blob("code"))
                let isValid = [
                    key.code(ofCommit: number, ledger: identity.id, epoch: identity.epoch),
                    key.code(ofCommit: number, ledger: nil, epoch: nil),
                ].contains { constantTimeEqual($0, code) }
                return isValid ? number : nil
            }.compactMap { $0 })
    }

    func remove(_ numbers: [Int64]) throws {
        guard !numbers.isEmpty else { return }
        try connection.write(
            PostgresStatements.removeMarks, [.text(numbers.map(String.init).joined(separator: ","))])
    }

    /// Whether a server of a release that leaves no marks is connected.
    func hasOlderServers() throws -> Bool {
        try connection.first(PostgresStatements.olderServer, []) { _ in true } ?? false
    }

    /// The rows of a table between two ids that no marked transaction has written as they are.
    func unmarkedRows(
        of stream: SealedStream, from first: Int64, to last: Int64, marks: Set<Int64>
    ) throws -> Set<Int64> {
        // A row has the lower half of the number.
        let writers = Set(marks.map { $0 & 0xFFFF_FFFF })
        return Set(
            try connection.query(PostgresStatements.writers(of: stream), [.integer(first), .integer(last)]) { row in
                writers.contains(row.integer("writer")) ? nil : row.integer("row_id")
            }.compactMap { $0 })
    }
}
