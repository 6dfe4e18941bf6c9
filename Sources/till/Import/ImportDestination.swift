import TillAPI
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The ledger into which a command imports: its own, or that of the server that holds it.
protocol ImportDestination: Sendable {
    /// Rows of one request or commit.
    var batch: Int { get }
    func begin(_ file: ImportedFile) async throws -> LedgerImportReply
    /// Verifies proofs, where that can happen before the rows are recorded.
    func prepare(_ rows: [ImportFileReader.Row], as format: ImportFormat) async throws -> PreparedImportRows
    func record(_ rows: PreparedImportRows, into run: LedgerImportReply) async throws -> [ImportOutcomeReply]
    func check(_ rows: [ImportFileReader.Row], as format: ImportFormat) async throws -> [ImportOutcomeReply]
    func end(_ run: LedgerImportReply, _ counts: ImportCounts) async throws -> LedgerImportReply
    func undo(_ run: String, _ body: UndoImportBody) async throws -> UndoImportReply
    func list() async throws -> [LedgerImportReply]
}

struct PreparedImportRows: Sendable {
    let rows: [ImportFileReader.Row]
    var verified: LedgerImport.PreparedRows?
}

/// A ledger that no server holds.
struct LocalImport: ImportDestination {
    private let work: LedgerImport
    private let ledger: Ledger
    private static let actor = "till"
    var batch: Int { work.batch }

    init(_ ledger: Ledger, verify: ImportVerification) throws {
        work = try LedgerImport(ledger, verify: verify)
        self.ledger = ledger
    }

    func begin(_ file: ImportedFile) async throws -> LedgerImportReply {
        LedgerImportReply(try await work.begin(file, by: Self.actor))
    }

    func prepare(_ rows: [ImportFileReader.Row], as format: ImportFormat) async throws -> PreparedImportRows {
        PreparedImportRows(rows: rows, verified: try await work.prepared(rows.map(\.entry), as: format))
    }

    func record(_ rows: PreparedImportRows, into run: LedgerImportReply) async throws -> [ImportOutcomeReply] {
        let stored = try await find(run.id)
        let outcomes =
            if let verified = rows.verified {
                try await work.record(verified, into: stored, by: Self.actor)
            } else {
                try await work.record(rows.rows.map(\.entry), into: stored, by: Self.actor)
            }
        return ImportRowsReply(outcomes).data
    }

    func check(_ rows: [ImportFileReader.Row], as format: ImportFormat) async throws -> [ImportOutcomeReply] {
        ImportRowsReply(try await work.check(rows.map(\.entry), as: format)).data
    }

    func end(_ run: LedgerImportReply, _ counts: ImportCounts) async throws -> LedgerImportReply {
        LedgerImportReply(try await work.end(try await find(run.id), counts))
    }

    func undo(_ run: String, _ body: UndoImportBody) async throws -> UndoImportReply {
        UndoImportReply(
            try await work.undo(
                try await find(run), after: body.after, isForced: body.force ?? false, isDry: body.dryRun ?? false,
                by: Self.actor))
    }

    func list() async throws -> [LedgerImportReply] {
        try await ledger.database.read { try ImportTable($0).list(before: .max, limit: 100) }
            .map { LedgerImportReply($0) }
    }

    private func find(_ text: String) async throws -> ImportTable.Stored {
        guard let id = UniqueID(text) else { throw RefusalError(.unknownImport) }
        return try await work.find(id)
    }
}

/// The ledger of a running server.
struct ServerImport: ImportDestination {
    let client: ServerClient
    let verify: ImportVerification
    /// Its database is unknown here.
    let batch = LedgerImport.batch(isShared: false)

    func begin(_ file: ImportedFile) async throws -> LedgerImportReply {
        try await post(
            LedgerImportReply.self, Paths.imports,
            BeginImportBody(format: file.format.rawValue, name: file.name, sha256: hexadecimal(file.sha256)))
    }

    func prepare(_ rows: [ImportFileReader.Row], as format: ImportFormat) async throws -> PreparedImportRows {
        PreparedImportRows(rows: rows)
    }

    func record(_ rows: PreparedImportRows, into run: LedgerImportReply) async throws -> [ImportOutcomeReply] {
        try await send(rows.rows, Paths.importRows(run.id), format: nil)
    }

    func check(_ rows: [ImportFileReader.Row], as format: ImportFormat) async throws -> [ImportOutcomeReply] {
        try await send(rows, Paths.importCheck, format: format.rawValue)
    }

    func end(_ run: LedgerImportReply, _ counts: ImportCounts) async throws -> LedgerImportReply {
        try await post(
            LedgerImportReply.self, Paths.importEnd(run.id),
            EndImportBody(rows: counts.rows, unchanged: counts.unchanged, refused: counts.refused))
    }

    func undo(_ run: String, _ body: UndoImportBody) async throws -> UndoImportReply {
        try await post(UndoImportReply.self, Paths.importUndo(run), body)
    }

    func list() async throws -> [LedgerImportReply] {
        try await client.ask(Page<LedgerImportReply>.self, .get, Paths.imports + "?limit=100").data
    }

    /// A line that is no object never leaves this process.
    private func send(
        _ rows: [ImportFileReader.Row], _ path: String, format: String?
    ) async throws -> [ImportOutcomeReply] {
        var outcomes: [ImportOutcomeReply] = []
        var bodies: [ImportRowBody] = []
        for row in rows {
            switch row.entry.members {
            case .success:
                bodies.append(ImportRowBody(line: row.entry.line, row: String(decoding: row.text, as: UTF8.self)))
            case .failure(let why):
                outcomes.append(
                    ImportOutcomeReply(
                        line: row.entry.line, outcome: "refused", code: why.code, sentence: why.sentence))
            }
        }
        if !bodies.isEmpty {
            let body = ImportRowsBody(format: format, verify: verify == .first ? verify.rawValue : nil, rows: bodies)
            let reply = try await post(ImportRowsReply.self, path, body)
            outcomes += reply.data
        }
        return outcomes
    }

    private func post<Reply: Decodable, Body: Encodable>(
        _ type: Reply.Type, _ path: String, _ body: Body
    ) async throws -> Reply {
        try await client.ask(type, .post, path, [UInt8](try JSONEncoder().encode(body)))
    }
}
