import TillAPI
import TillBilling
import TillHTTP
import TillJSON

extension OpenAPITests {
    private static let sha256 = String(repeating: "0a", count: 32)
    private static let unknown = "0198a1f2-7c3d-7a4b-9c5d-6e7f8091a2b3"

    /// Calls about imports: method, pattern, address, body, status.
    static let importCalls: [(HTTPMethod, String, String, JSONValue?, Int)] = [
        (
            .post, Paths.imports, Paths.imports,
            ["format": "till", "name": "orders.csv", "sha256": .string(sha256)], 201
        ),
        (.post, Paths.imports, Paths.imports, ["format": "till", "name": "orders.csv", "sha256": "x"], 400),
        (.get, Paths.imports, Paths.imports, nil, 200),
        (
            .post, Paths.importCheck, Paths.importCheck,
            ["format": "till", "rows": [["line": 1, "row": "{\"userId\":\"u1\"}"]]], 200
        ),
        (.post, Paths.importCheck, Paths.importCheck, ["rows": [["line": 1, "row": "{}"]]], 400),
        (
            .post, Paths.importRows, Paths.importRows(unknown), ["rows": [["line": 1, "row": "{}"]]], 404
        ),
        (
            .post, Paths.importEnd, Paths.importEnd(unknown), ["rows": 0, "unchanged": 0, "refused": 0], 404
        ),
        (.post, Paths.importUndo, Paths.importUndo(unknown), nil, 404),
    ]

    static var importSamples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            func reply(_ isEnded: Bool) -> LedgerImportReply {
                let at = Instant(seconds: 1_790_000_000)
                return LedgerImportReply(
                    id: unknown, format: "till", file: ("orders.csv", sha256), environment: .production,
                    caller: "key:backend", beganAt: at, endedAt: isEnded ? at : nil, counts: [3, 1, 1, 1], undone: 1,
                    undoneAt: isEnded ? at : nil, undoneBy: isEnded ? "till" : nil)
            }
            let kept = UndoImportReply.Kept(userId: "u1", line: 1, subject: "points", reason: "spent")
            let least = ImportOutcomeReply(line: 1, outcome: "imported")
            let full = ImportOutcomeReply(
                line: 1, outcome: "refused", code: "owned_by_another", sentence: LocalizedText(en: "x", zh: "y"),
                subject: "1", userId: "u1")
            let row = ImportRowBody(line: 1, row: "{}")
            return [
                "BeginImport": try same(BeginImportBody(format: "till", name: "x", sha256: sha256)),
                "ImportRow": try same(row),
                "ImportRows": try both(
                    ImportRowsBody(format: "till", verify: "first", rows: [row]), ImportRowsBody(rows: [row])),
                "EndImport": try same(EndImportBody(rows: 3, unchanged: 1, refused: 1)),
                "UndoImport": try both(UndoImportBody(force: true, dryRun: true, after: 1), UndoImportBody()),
                "ImportOutcome": try both(full, least),
                "ImportOutcomes": try same(ImportRowsReply(data: [full])),
                "LedgerImport": try both(reply(true), reply(false)),
                "LedgerImportPage": try both(
                    Page(data: [reply(true)], hasMore: true, nextCursor: "MS4w"),
                    Page(data: [reply(true)], hasMore: false, nextCursor: nil)),
                "ImportUndone": try both(
                    UndoImportReply(undone: 1, kept: [kept], next: 1),
                    UndoImportReply(undone: 1, kept: [kept], next: nil)),
                "ImportKept": try same(kept),
            ]
        }
    }
}
