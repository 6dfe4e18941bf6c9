import TillAPI
import TillBilling
import TillHTTP
import TillJSON
import TillLedger

extension Server {
    private var imports: LedgerImport { get throws { try LedgerImport(ledger) } }

    private func imports(for rows: ImportRowsBody) throws -> LedgerImport {
        try LedgerImport(ledger, verify: rows.verify.flatMap(ImportVerification.init(rawValue:)) ?? .later)
    }

    /// `POST /v1/imports`: begins an import, or continues the one of this file that was cut off.
    func beginImport(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(BeginImportBody.self)
        guard let format = ImportFormat(rawValue: body.format) else { throw Self.unknownFormat }
        guard let digest = Self.digest(body.sha256) else {
            throw RefusalError(
                .invalidField, "sha256: 64 hexadecimal digits", zh: "sha256：应为 64 位十六进制数字")
        }
        let file = ImportedFile(format: format, name: body.name, sha256: digest)
        let stored = try await imports.begin(file, by: call.caller)
        return JSONText.response(201, LedgerImportReply(stored))
    }

    /// `POST /v1/imports/check`: says what would become of rows, and writes nothing.
    func checkImport(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(ImportRowsBody.self)
        guard let format = body.format.flatMap(ImportFormat.init(rawValue:)) else { throw Self.unknownFormat }
        let outcomes = try await imports(for: body).check(body.entries, as: format)
        return JSONText.response(200, ImportRowsReply(outcomes))
    }

    /// `POST /v1/imports/{id}/rows`.
    func importRows(_ call: Call) async throws -> HTTPResponse {
        let stored = try await importInPath(call)
        let body = try call.body(ImportRowsBody.self)
        let outcomes = try await imports(for: body).record(body.entries, into: stored, by: call.caller)
        return JSONText.response(200, ImportRowsReply(outcomes))
    }

    /// `POST /v1/imports/{id}/end`.
    func endImport(_ call: Call) async throws -> HTTPResponse {
        let stored = try await importInPath(call)
        let body = try call.body(EndImportBody.self)
        var counts = ImportCounts()
        (counts.rows, counts.unchanged, counts.refused) = (body.rows, body.unchanged, body.refused)
        counts.imported = body.rows - body.unchanged - body.refused
        return JSONText.response(200, LedgerImportReply(try await imports.end(stored, counts)))
    }

    /// `POST /v1/imports/{id}/undo`: undoes the import for its next customers.
    func undoImport(_ call: Call) async throws -> HTTPResponse {
        let stored = try await importInPath(call)
        let body = try call.bodyIfAny(UndoImportBody.self) ?? UndoImportBody()
        let page = try await imports.undo(
            stored, after: body.after, isForced: body.force ?? false, isDry: body.dryRun ?? false, by: call.caller)
        return JSONText.response(200, UndoImportReply(page))
    }

    /// `GET /v1/imports?limit=&cursor=`: newest first.
    func listImports(_ call: Call) async throws -> HTTPResponse {
        let page = try await page(call)
        let found = try await database.read { try ImportTable($0).list(before: page.before, limit: page.rows) }
        return page.response(found, at: \.rowID) { LedgerImportReply($0) }
    }

    private func importInPath(_ call: Call) async throws -> ImportTable.Stored {
        guard let id = UniqueID(call.parameters["id"]) else { throw RefusalError(.unknownImport) }
        return try await imports.find(id)
    }

    private static let unknownFormat = RefusalError(
        .invalidField, "format: \(ImportFormat.allCases.map(\.rawValue).joined(separator: ", "))",
        zh: "format：应为 \(ImportFormat.allCases.map(\.rawValue).joined(separator: "、"))")

    private static func digest(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count == 64 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 64, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }
}

extension ImportRowsBody {
    fileprivate var entries: [ImportEntry] { rows.map { ImportEntry(line: $0.line, object: Array($0.row.utf8)) } }
}

extension ImportRowsReply {
    package init(_ outcomes: [ImportOutcome]) {
        self.init(
            data: outcomes.map { outcome in
                let (line, subject, user) = (outcome.line, outcome.subject, outcome.user?.text)
                return switch outcome.result {
                case .imported: ImportOutcomeReply(line: line, outcome: "imported", subject: subject, userId: user)
                case .unchanged: ImportOutcomeReply(line: line, outcome: "unchanged", subject: subject, userId: user)
                case .refused(let why):
                    ImportOutcomeReply(
                        line: line, outcome: "refused", code: why.code, sentence: why.sentence, subject: subject,
                        userId: user)
                case .waiting(let why):
                    ImportOutcomeReply(
                        line: line, outcome: "waiting", code: why.code, sentence: why.sentence, subject: subject,
                        userId: user)
                }
            })
    }
}

extension LedgerImportReply {
    package init(_ stored: ImportTable.Stored) {
        self.init(
            id: stored.id.description, format: stored.format.rawValue,
            file: (stored.name, stored.sha256.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()),
            environment: stored.environment, caller: stored.caller, beganAt: stored.beganAt, endedAt: stored.endedAt,
            counts: [stored.rows, stored.imported, stored.unchanged, stored.refused], undone: stored.undone,
            undoneAt: stored.undoneAt, undoneBy: stored.undoneBy)
    }
}

extension UndoImportReply {
    package init(_ page: LedgerImport.UndoPage) {
        self.init(
            undone: page.undone,
            kept: page.kept.map {
                Kept(userId: $0.user.text, line: $0.line, subject: $0.subject, reason: $0.reason.rawValue)
            }, next: page.next)
    }
}
