import TillAPI
import TillBilling
import TillJSON

extension OpenAPI {
    private static let debitExample: JSONValue = ["currency": "points", "amount": 10, "reference": "lesson-42-u1"]

    private static let postingExample: JSONValue = [
        "account": "user:u1", "contra": "sold", "currency": "points", "amount": 60, "kind": "purchase",
        "reference": "6d9a35b3-eea1-46d2-9a75-8b7273506f71", "at": "2026-03-01T08:30:02.456Z",
    ]

    private static let correctionExample: JSONValue = [
        "currency": "points", "amount": -10, "reference": "ticket-4711", "reason": "Given twice", "operator": "anna",
    ]

    private static let lotExample: JSONValue = [
        "kind": "purchase", "reference": "6d9a35b3-eea1-46d2-9a75-8b7273506f71", "transactionId": "2000000000000001",
        "at": "2026-03-01T08:30:00.123Z", "amount": 60, "takenBack": 0, "used": 10, "remaining": 50,
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
            refusals: [.insufficientFunds, .inDebt, .unknownCurrency, .referenceConflict, .guestMerged]),
        OpenAPIOperation(
            method: .post, path: Paths.bonuses, id: "giveBonus", tag: .wallet, summary: "Give points away",
            description: "The reference makes a repetition the same bonus.", caller: .backend,
            parameters: [.userID, .environment],
            body: OpenAPIOperation.Body(
                "Bonus", example: ["currency": "points", "amount": 5, "reference": "spring-u1", "reason": "Spring"]),
            isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(
                    201, "Given.", "HandPosting",
                    example: [
                        "reference": "spring-u1", "currency": "points", "amount": 5, "reason": "Spring", "balance": 55,
                        "at": "2026-03-01T09:00:00.000Z",
                    ]),
                OpenAPIOperation.Answer(200, "Given before, under the same reference.", "HandPosting"),
            ],
            refusals: [.unknownCurrency, .referenceConflict, .guestMerged]),
        OpenAPIOperation(
            method: .post, path: Paths.corrections, id: "correctWallet", tag: .wallet, summary: "Put a balance right",
            description: """
                For a reason that an operator answers for. The reference makes a repetition the same correction. The \
                balance goes below zero only with `allowDebt`.
                """, caller: .backend, parameters: [.userID, .environment],
            body: OpenAPIOperation.Body("Correction", example: correctionExample), isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(201, "Put right.", "HandPosting"),
                OpenAPIOperation.Answer(200, "Put right before, under the same reference.", "HandPosting"),
            ],
            refusals: [.insufficientFunds, .unknownCurrency, .referenceConflict]),
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
        OpenAPIOperation(
            method: .get, path: Paths.lots, id: "listLots", tag: .wallet,
            summary: "List what came in at once, and what is left of it",
            description: "Newest first. Points are taken from the oldest lot that has any.", caller: .app,
            parameters: [
                .userID, .environment,
                .query("currency", OpenAPISchema.name("The kind of points.", maximum: 64), "Which kind. Required."),
                .limit, .cursor,
            ],
            answers: [
                OpenAPIOperation.Answer(
                    200, "The lots.", "LotPage",
                    example: [
                        "currency": "points", "balance": 50, "debt": 0, "data": [lotExample], "hasMore": false,
                        "nextCursor": nil,
                    ])
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
                ],
                "held": [
                    "type": "object",
                    "description": """
                    What of the balances can't be spent yet, by kind of points: it rests on a receipt alone. Missing \
                    if nothing is held.
                    """,
                    "additionalProperties": ["type": "integer", "format": "int64"],
                ], "sandbox": OpenAPISchema.sandboxMark,
            ], optional: ["held", "sandbox"]),
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
                "at": OpenAPISchema.time("When they were taken."), "sandbox": OpenAPISchema.sandboxMark,
            ], optional: ["sandbox"]),
        "Posting": OpenAPISchema.object(
            "One movement of points. Never edited, never deleted.",
            [
                "account": OpenAPISchema.text("Whose wallet."),
                "contra": OpenAPISchema.words("The other side.", ContraAccount.allCases.map(\.rawValue)),
                "currency": OpenAPISchema.text("The kind of points."),
                "amount": OpenAPISchema.integer("Positive into the wallet, negative out of it."),
                "kind": OpenAPISchema.words("Why.", PostingKind.allCases.map(\.rawValue)),
                "reference": OpenAPISchema.text("A grant's id, or the backend's own reference."),
                "reason": OpenAPISchema.text("Why it was posted by hand.", maximum: 500),
                "operator": OpenAPISchema.text("Who did.", maximum: 128), "at": OpenAPISchema.time("When."),
            ], optional: ["reason", "operator"]),
        "Bonus": OpenAPISchema.object(
            "Points to give.",
            [
                "currency": OpenAPISchema.name("The kind of points.", maximum: 64),
                "amount": OpenAPISchema.integer("How many.", 1...1_000_000_000_000),
                "reference": OpenAPISchema.name("The backend's own name for this bonus.", maximum: 128),
                "reason": OpenAPISchema.name("What for, in the app's own words.", maximum: 500),
            ], optional: ["reason"]),
        "Correction": OpenAPISchema.object(
            "What is put right.",
            [
                "currency": OpenAPISchema.name("The kind of points.", maximum: 64),
                "amount": OpenAPISchema.integer(
                    "Points to add, or to take if negative. Not 0.", -1_000_000_000_000...1_000_000_000_000),
                "reference": OpenAPISchema.name("The backend's own name for this correction.", maximum: 128),
                "reason": OpenAPISchema.name("Why.", maximum: 500),
                "operator": OpenAPISchema.name("Who answers for it.", maximum: 128),
                "allowDebt": OpenAPISchema.truth("Whether the balance may go below zero. If absent it may not."),
            ], optional: ["allowDebt"]),
        "HandPosting": OpenAPISchema.object(
            "A bonus or a correction, and what is there after it.",
            [
                "reference": OpenAPISchema.text("As it was sent."),
                "currency": OpenAPISchema.text("The kind of points."),
                "amount": OpenAPISchema.integer("Positive into the wallet, negative out of it."),
                "reason": OpenAPISchema.text("As it was sent."), "operator": OpenAPISchema.text("Of a correction."),
                "balance": OpenAPISchema.integer("What is there now; on a repetition too."),
                "at": OpenAPISchema.time("When it was posted."),
            ], optional: ["reason", "operator"]),
        "Lot": OpenAPISchema.object(
            "Points that came in at once. `remaining` is `amount` less `takenBack` and `used`.",
            [
                "kind": OpenAPISchema.words("How.", ["purchase", "bonus", "correction"]),
                "reference": OpenAPISchema.text("A grant's id, or the backend's own reference."),
                "transactionId": OpenAPISchema.text("Of a purchase."),
                "at": OpenAPISchema.time("When it was bought or given."), "amount": OpenAPISchema.integer("Points."),
                "takenBack": OpenAPISchema.integer("What refunds took of it."),
                "used": OpenAPISchema.integer("What was spent of it."),
                "remaining": OpenAPISchema.integer("What is left to spend."),
            ], optional: ["transactionId"]),
        "LotPage": OpenAPISchema.object(
            "One page, newest first. The remaining points of all lots less the debt are the balance.",
            [
                "currency": OpenAPISchema.text("The kind of points."),
                "balance": OpenAPISchema.integer("The balance now."),
                "debt": OpenAPISchema.integer("What no lot covers: the next one pays it."),
                "data": OpenAPISchema.list("The page.", of: ref("Lot")),
                "hasMore": OpenAPISchema.truth("Whether there are older ones."),
                "nextCursor": OpenAPISchema.orNull(OpenAPISchema.text("For `cursor`, to go on with older ones.")),
            ]),
        "PostingPage": OpenAPISchema.page(of: "Posting"),
    ]
}
