import TillAPI
import TillBilling
import TillJSON
import TillLedger

/// Moving in from another system. `till import` calls these when a server uses the ledger. Rows without a signature
/// give points on the caller's word, which an operator may not.
extension OpenAPI {
    /// The longest line of a file, and its escapes in JSON.
    private static let rowsLimit = 16 << 20

    static let importEndpoints: [Endpoint] = [
        Endpoint(
            method: .post, path: Paths.imports, id: "beginImport", tag: .imports, action: Server.beginImport,
            summary: "Begin an import",
            description: """
                Rows follow with `POST /v1/imports/{id}/rows`. An import of the same file that was cut off is \
                continued. Imported rows cause no events and no reminders. docs/moving.md has the formats.
                """,
            caller: .backend, body: .json("BeginImport"), isRepeatable: false,
            answers: [.created("The import.", "LedgerImport")]),
        Endpoint(
            method: .get, path: Paths.imports, id: "listImports", tag: .imports, action: Server.listImports,
            summary: "List the imports, newest first", caller: .backend, parameters: [.limit, .cursor],
            answers: [.ok("The imports.", "LedgerImportPage")]),
        Endpoint(
            method: .post, path: Paths.importCheck, id: "checkImport", tag: .imports, action: Server.checkImport,
            summary: "Say what would become of rows", description: "A dry run: it writes nothing.",
            caller: .backend, body: .json("ImportRows"), bodyLimit: rowsLimit, isRepeatable: false,
            answers: [.ok("How each row would end.", "ImportOutcomes")], refusals: [.noInAppPurchaseKey]),
        Endpoint(
            method: .post, path: Paths.importRows, id: "importRows", tag: .imports, action: Server.importRows,
            summary: "Import rows",
            description: """
                Rows that share no customer, chain or order may be recorded in commits of their own. A row that the \
                ledger has already, for the same user, is `unchanged`, so the same request again has no second effect.
                """,
            caller: .backend, parameters: [importID], body: .json("ImportRows"), bodyLimit: rowsLimit,
            isRepeatable: false, answers: [.ok("How each row ended.", "ImportOutcomes")],
            refusals: [.unknownImport, .importUndone, .noInAppPurchaseKey]),
        Endpoint(
            method: .post, path: Paths.importEnd, id: "endImport", tag: .imports, action: Server.endImport,
            summary: "End an import", caller: .backend, parameters: [importID], body: .json("EndImport"),
            isRepeatable: false, answers: [.ok("The import.", "LedgerImport")], refusals: [.unknownImport]),
        Endpoint(
            method: .post, path: Paths.importUndo, id: "undoImport", tag: .imports, action: Server.undoImport,
            summary: "Undo an import",
            description: """
                Reverses what the import recorded, for the next hundred customers; repeat it with `next`. A customer \
                who has spent, renewed or changed something of it since keeps all of it, and is named.
                """,
            caller: .backend, parameters: [importID], body: .json("UndoImport", isRequired: false),
            isRepeatable: false, answers: [.ok("What was undone.", "ImportUndone")], refusals: [.unknownImport]),
    ]

    private static let importID = Endpoint.Parameter.path("id", .uuid("The import's id."), "The import's id.")
    private static let formats = ImportFormat.allCases.map(\.rawValue)

    static let importBodies: BodyTable = [
        Body("BeginImport", BeginImportBody.self, "The file of an import."): [
            "format": .oneOf("The format of the file.", formats), "name": .prose("The file's name.", 255),
            "sha256": .text("The SHA-256 of the file, hexadecimal.", 64),
        ],
        Body("ImportRow", ImportRowBody.self, "One row of a file."): [
            "line": .integer("The line where it begins, from 1.", 1...Int64.max),
            "row": .text("The row as the text of a JSON object.", 12 << 20),
        ],
        Body("ImportRows", ImportRowsBody.self, "Rows of a file."): [
            "format": .oneOf("The format of the rows; only for a check.", formats),
            "verify": .oneOf(
                "When Apple is asked about rows without a signature: before they are recorded, or afterwards, which is "
                    + "the default.", ImportVerification.self),
            "rows": .list("At most 500 rows.", 1...500),
        ],
        Body("EndImport", EndImportBody.self, "What the caller counted."): [
            "rows": .integer("The rows of the file.", 0...Int64.max),
            "unchanged": .integer("The rows that the ledger had.", 0...Int64.max),
            "refused": .integer("The refused rows.", 0...Int64.max),
        ],
        Body("UndoImport", UndoImportBody.self, "How to undo it."): [
            "force": "Whether to undo what customers have spent, renewed or changed, too. False if absent.",
            "dryRun": "Whether to write nothing. False if absent.",
            "after": .integer("`next` of the answer before.", 0...Int64.max),
        ],
        Body("ImportOutcome", ImportOutcomeReply.self, "How a row ended; a receipt has one for each purchase."): [
            "line": "The line.", "outcome": .oneOf("How it ended.", ["imported", "unchanged", "refused", "waiting"]),
            "code": "Why it is refused or waits: a stable code.", "sentence": "Why, and what to do.",
            "subject": "A transaction's id, a kind of points, or a token.", "userId": "The user that it names.",
        ],
        Body("ImportOutcomes", ImportRowsReply.self, "How rows ended."): ["data": "In the order of the rows."],
        .page("LedgerImportPage", of: LedgerImportReply.self): [:],
        Body("LedgerImport", LedgerImportReply.self, "An import."): [
            "id": .uuid("Its id."), "format": .oneOf("The format of the file.", formats), "name": "The file's name.",
            "sha256": "The SHA-256 of the file, hexadecimal.",
            "environment": .environment("The environment into which it went."), "caller": "The caller who imported it.",
            "beganAt": "When it began.", "endedAt": "Absent while it runs, or if it was cut off.",
            "rows": "The rows of the last run.", "imported": "What was imported, over all runs.",
            "unchanged": "The rows of the last run that the ledger had.",
            "refused": "The refused rows of the last run.", "undone": "How much was undone.",
            "undoneAt": "When something was undone last.", "undoneBy": "The caller who undid it.",
        ],
        Body("ImportUndone", UndoImportReply.self, "What an undo did for some customers."): [
            "undone": "The purchases, balances and tokens that were undone.",
            "kept": "What was touched since, whose customers keep everything.",
            "next": "`after` for the next call; absent at the end.",
        ],
        Body("ImportKept", UndoImportReply.Kept.self, "What was touched since."): [
            "userId": "The customer.", "line": "The line.", "subject": "A transaction's id, or a kind of points.",
            "reason": .oneOf("What happened.", LedgerImport.UndoPage.Reason.self),
        ],
    ]

    private static let importExample: JSONValue = [
        "id": "0198a1f2-7c3d-7a4b-9c5d-6e7f8091a2b3", "format": "till", "name": "orders.csv",
        "sha256": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", "environment": "production",
        "caller": "key:backend", "beganAt": "2026-03-01T09:00:00.000Z", "endedAt": "2026-03-01T09:04:00.000Z",
        "rows": 1_000, "imported": 990, "unchanged": 8, "refused": 2, "undone": 0,
    ]

    static let importExamples: [String: JSONValue] = [
        "BeginImport": [
            "format": "till", "name": "orders.csv",
            "sha256": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        ],
        "ImportRows": [
            "rows": [["line": 2, "row": "{\"userId\":\"u1\",\"signedTransaction\":\"eyJhbGciOiJFUzI1NiJ9.e30.c2ln\"}"]]
        ],
        "EndImport": ["rows": 1_000, "unchanged": 8, "refused": 2],
        "UndoImport": ["dryRun": true],
        "LedgerImport": importExample,
        "LedgerImportPage": ["data": [importExample], "hasMore": false, "nextCursor": nil],
        "ImportOutcomes": [
            "data": [
                ["line": 2, "outcome": "imported", "subject": "2000000123456789", "userId": "u1"],
                [
                    "line": 3, "outcome": "refused", "code": "owned_by_another", "subject": "2000000123456790",
                    "sentence": ["en": "Another user has this purchase.", "zh": "这笔购买属于另一位用户。"], "userId": "u2",
                ],
            ]
        ],
        "ImportUndone": [
            "undone": 990, "kept": [["userId": "u1", "line": 2, "subject": "points", "reason": "spent"]],
        ],
    ]
}
