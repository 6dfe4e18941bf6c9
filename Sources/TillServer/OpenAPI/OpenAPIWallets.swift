import TillAPI
import TillAppStore
import TillBilling

extension OpenAPI {
    private static let debitExample: JSONValue = ["currency": "points", "amount": 10, "reference": "lesson-42-u1"]

    private static let postingExample: JSONValue = [
        "account": "user:u1", "contra": "sold", "currency": "points", "amount": 60, "kind": "purchase",
        "reference": "6d9a35b3-eea1-46d2-9a75-8b7273506f71", "at": "2026-03-01T08:30:02.456Z",
    ]

    static let walletOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .get, path: Paths.wallet, id: "readWallet", tag: .wallet, summary: "Read a user's balances",
            caller: .app, parameters: [.userID, .environment],
            answers: [
                OpenAPIOperation.Answer(
                    200, "The balances. A user nobody knows has none.", "Wallet", example: ["balances": ["points": 60]])
            ],
            refusals: [.forbidden, .invalidField]),
        OpenAPIOperation(
            method: .post, path: Paths.debits, id: "debitWallet", tag: .wallet, summary: "Spend points",
            description: "The reference makes a repetition the same debit. A balance never goes below zero here.",
            caller: .backend, parameters: [.userID, .environment],
            body: OpenAPIOperation.Body("Debit", example: debitExample), isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(
                    201, "Spent.", "DebitReply",
                    example: [
                        "reference": "lesson-42-u1", "currency": "points", "amount": 10, "balance": 50,
                        "at": "2026-03-01T09:00:00.000Z",
                    ]),
                OpenAPIOperation.Answer(200, "Spent before, under the same reference.", "DebitReply"),
            ],
            refusals: [.insufficientFunds, .referenceConflict]),
        OpenAPIOperation(
            method: .get, path: Paths.postings, id: "listPostings", tag: .wallet,
            summary: "List how a user's points moved", caller: .app,
            parameters: [.userID, .environment, .limit, .cursor],
            answers: [
                OpenAPIOperation.Answer(
                    200, "The postings.", "PostingPage",
                    example: ["data": [postingExample], "hasMore": false, "nextCursor": nil])
            ],
            refusals: [.forbidden, .invalidField]),
    ]

    static let walletSchemas: [String: JSONValue] = [
        "Wallet": OpenAPISchema.object(
            "A user's points.",
            [
                "balances": [
                    "type": "object", "description": "By kind of points.",
                    "additionalProperties": ["type": "integer", "format": "int64"],
                ]
            ]),
        "Debit": OpenAPISchema.object(
            "Points to take.",
            [
                "currency": OpenAPISchema.name("The kind of points.", maximum: 64),
                "amount": OpenAPISchema.integer("How many.", 1...1_000_000_000_000),
                "reference": OpenAPISchema.name("The backend's own name for this debit.", maximum: 128),
            ]),
        "DebitReply": OpenAPISchema.object(
            "A debit, and what is left.",
            [
                "reference": OpenAPISchema.text("As it was sent."),
                "currency": OpenAPISchema.text("The kind of points."),
                "amount": OpenAPISchema.integer("Points that were taken."),
                "balance": OpenAPISchema.integer("What is left now; on a repetition too."),
                "at": OpenAPISchema.time("When they were taken."),
            ]),
        "Posting": OpenAPISchema.object(
            "One movement of points. Never edited, never deleted.",
            [
                "account": OpenAPISchema.text("Whose wallet."),
                "contra": OpenAPISchema.words("The other side.", ContraAccount.allCases.map(\.rawValue)),
                "currency": OpenAPISchema.text("The kind of points."),
                "amount": OpenAPISchema.integer("Positive into the wallet, negative out of it."),
                "kind": OpenAPISchema.words("Why.", PostingKind.allCases.map(\.rawValue)),
                "reference": OpenAPISchema.text("A grant's id, or a debit's reference."),
                "at": OpenAPISchema.time("When."),
            ]),
        "PostingPage": OpenAPISchema.page(of: "Posting"),
    ]
}
