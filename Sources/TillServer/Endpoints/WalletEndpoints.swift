import TillAPI
import TillBilling
import TillJSON

/// Points, and the consent to report their use to Apple.
extension OpenAPI {
    static let walletEndpoints: [Endpoint] = [
        Endpoint(
            method: .get, path: Paths.wallet, id: "readWallet", tag: .wallet, action: Server.readWallet,
            summary: "Read a user's balances", caller: .app, parameters: [.environment],
            answers: [.ok("The balances. A user nobody knows has none.", "Wallet")]),
        Endpoint(
            method: .post, path: Paths.debits, id: "debitWallet", tag: .wallet, action: Server.debitWallet,
            summary: "Spend points",
            description: "The reference makes a repetition the same debit. A balance never goes below zero here.",
            caller: .backend, parameters: [.environment], body: .json("Debit"),
            answers: [.created("Spent.", "DebitReply"), .ok("Spent before, under the same reference.", "DebitReply")],
            refusals: [.insufficientFunds, .inDebt, .unknownCurrency, .referenceConflict, .guestMerged]),
        Endpoint(
            method: .post, path: Paths.bonuses, id: "giveBonus", tag: .wallet, action: Server.giveBonus,
            summary: "Give points away", description: "The reference makes a repetition the same bonus.",
            caller: .backend, parameters: [.environment], body: .json("Bonus"),
            answers: [
                .created("Given.", "HandPosting"), .ok("Given before, under the same reference.", "HandPosting"),
            ],
            refusals: [.unknownCurrency, .referenceConflict, .guestMerged]),
        Endpoint(
            method: .post, path: Paths.corrections, id: "correctWallet", tag: .wallet, action: Server.correctWallet,
            summary: "Put a balance right",
            description: """
                For a reason that an operator answers for. The reference makes a repetition the same correction. The \
                balance goes below zero only with `allowDebt`.
                """,
            caller: .backend, parameters: [.environment], body: .json("Correction"),
            answers: [
                .created("Put right.", "HandPosting").bare,
                .ok("Put right before, under the same reference.", "HandPosting").bare,
            ],
            refusals: [.insufficientFunds, .unknownCurrency, .referenceConflict]),
        Endpoint(
            method: .get, path: Paths.postings, id: "listPostings", tag: .wallet, action: Server.listPostings,
            summary: "List how a user's points moved", caller: .app, parameters: [.environment, .limit, .cursor],
            answers: [.ok("The postings.", "PostingPage")]),
        Endpoint(
            method: .get, path: Paths.lots, id: "listLots", tag: .wallet, action: Server.listLots,
            summary: "List what came in at once, and what is left of it",
            description: "Newest first. Points are taken from the oldest lot that has any.", caller: .app,
            parameters: [
                .environment,
                .query("currency", .name("The kind of points.", 64), "Which kind. Required."),
                .limit, .cursor,
            ],
            answers: [.ok("The lots.", "LotPage")]),
        Endpoint(
            method: .get, path: Paths.consumptionConsent, id: "readConsumptionConsent", tag: .consents,
            action: Server.readConsumptionConsent,
            summary: "Read whether Apple may be told how much of a purchase was used", caller: .app,
            answers: [.ok("How it stands. Who never said anything has not agreed.", "ConsentReply")]),
        Endpoint(
            method: .put, path: Paths.consumptionConsent, id: "recordConsumptionConsent", tag: .consents,
            action: Server.recordConsumptionConsent,
            summary: "Record whether Apple may be told how much of a purchase was used",
            description: """
                The newest word counts, at the moment when Apple is answered. Older ones stay on record, so consent is \
                given ten times a day at most; taking it back is never refused.
                """,
            caller: .app, body: .json("Consent"),
            answers: [
                .ok("Recorded, or so already.", "ConsentReply", ["given": true, "at": "2026-03-01T09:00:00.000Z"])
            ],
            refusals: [.guestMerged, .tooManyRequests]),
        Endpoint(
            method: .get, path: Paths.consumptionRequests, id: "listConsumptionRequests", tag: .operations,
            action: Server.listConsumptionRequests,
            summary: "List what Apple asked before refunds, and what it was told", caller: .backend,
            parameters: [.limit, .cursor], answers: [.ok("The questions.", "ConsumptionRequestPage")]),
    ]

    static let walletBodies: BodyTable = [
        Body("Wallet", WalletReply.self, "A user's points."): [
            "balances": "By kind of points.",
            "held": """
            What of the balances can't be spent yet, by kind of points: it rests on a receipt alone. Missing if \
            nothing is held.
            """,
        ],
        Body("Debit", DebitBody.self, "Points to take."): [
            "currency": .name("The kind of points.", 64), "amount": .integer("How many.", 1...1_000_000_000_000),
            "reference": .name("The backend's own name for this debit.", 128),
        ],
        Body("DebitReply", DebitReply.self, "A debit, and what is left."): [
            "reference": "As it was sent.", "currency": "The kind of points.", "amount": "Points that were taken.",
            "balance": "What is left now; on a repetition too.", "at": "When they were taken.",
        ],
        Body("Bonus", BonusBody.self, "Points to give."): [
            "currency": .name("The kind of points.", 64), "amount": .integer("How many.", 1...1_000_000_000_000),
            "reference": .name("The backend's own name for this bonus.", 128),
            "reason": .prose("What for, in the app's own words.", 500),
        ],
        Body("Correction", CorrectionBody.self, "What is put right."): [
            "currency": .name("The kind of points.", 64),
            "amount": .integer("Points to add, or to take if negative. Not 0.", -1_000_000_000_000...1_000_000_000_000),
            "reference": .name("The backend's own name for this correction.", 128), "reason": .prose("Why.", 500),
            "operator": .name("Who answers for it.", 128),
            "allowDebt": "Whether the balance may go below zero. If absent it may not.",
        ],
        Body("HandPosting", HandPostingReply.self, "A bonus or a correction, and what is there after it."): [
            "reference": "As it was sent.", "currency": "The kind of points.",
            "amount": "Positive into the wallet, negative out of it.", "reason": "As it was sent.",
            "operator": "Of a correction.", "balance": "What is there now; on a repetition too.",
            "at": "When it was posted.",
        ],
        Body("Posting", PostingReply.self, "One movement of points. Never edited, never deleted."): [
            "account": "Whose wallet.", "contra": .words("The other side.", ContraAccount.self),
            "currency": "The kind of points.", "amount": "Positive into the wallet, negative out of it.",
            "kind": .words("Why.", PostingKind.self), "reference": "A grant's id, or the backend's own reference.",
            "reason": .text("Why it was posted by hand.", 500), "operator": .text("Who did.", 128), "at": "When.",
        ],
        .page("PostingPage", of: PostingReply.self): [:],
        Body(
            "Lot", LotReply.self, "Points that came in at once. `remaining` is `amount` less `takenBack` and `used`."
        ): [
            "kind": .words("How.", ["purchase", "bonus", "correction"]),
            "reference": "A grant's id, or the backend's own reference.", "transactionId": "Of a purchase.",
            "at": "When it was bought or given.", "amount": "Points.", "takenBack": "What refunds took of it.",
            "used": "What was spent of it.", "remaining": "What is left to spend.",
        ],
        Body(
            "LotPage", LotsReply.self,
            "One page, newest first. The remaining points of all lots less the debt are the balance."
        ): [
            "currency": "The kind of points.", "balance": "The balance now.",
            "debt": "What no lot covers: the next one pays it.", "data": "The page.",
            "hasMore": "Whether there are older ones.",
            "nextCursor": .orNull("For `cursor`, to go on with older ones."),
        ],
        Body("Consent", ConsentBody.self, "What a user says."): ["given": "Whether Apple may be told."],
        Body("ConsentReply", ConsentReply.self, "How a user's consent stands."): [
            "given": "Whether Apple may be told.", "at": "Since when; absent if nobody ever said.",
        ],
        Body("ConsumptionAnswer", ConsumptionRequestReply.Answer.self, "What Apple was told, in Apple's words."): [
            "customerConsented": "Always true: without it nothing is sent.", "deliveryStatus": "DELIVERED, or why not.",
            "sampleContentProvided": "As configured.",
            "consumptionPercentage": .integer("Thousandths of a percent.", 0...100_000),
            "refundPreference": "DECLINE, GRANT_FULL or GRANT_PRORATED.",
        ],
        Body(
            "ConsumptionRequest", ConsumptionRequestReply.self,
            "A question of Apple's about a purchase whose money a customer wants back."
        ): [
            "transactionId": "What is asked about.", "environment": "Where it was bought.",
            "userId": "Whose it is; absent if nobody knows.", "productId": "What was bought; absent if nobody knows.",
            "reason": "What the customer told Apple.", "requestedAt": "When Apple asked.",
            "answerBy": "Until when an answer counts.", "state": "What became of it.",
            "attempts": "How often nothing could be sent.",
            "detail": "What it waits for, or why it ended so: a code and a sentence.",
            "endedAt": "When it was answered or given up.",
        ],
        .page("ConsumptionRequestPage", of: ConsumptionRequestReply.self): [:],
    ]

    static let walletExamples: [String: JSONValue] = [
        "Wallet": ["balances": ["points": 60]],
        "Debit": ["currency": "points", "amount": 10, "reference": "lesson-42-u1"],
        "DebitReply": [
            "reference": "lesson-42-u1", "currency": "points", "amount": 10, "balance": 50,
            "at": "2026-03-01T09:00:00.000Z",
        ],
        "Bonus": ["currency": "points", "amount": 5, "reference": "spring-u1", "reason": "Spring"],
        "HandPosting": [
            "reference": "spring-u1", "currency": "points", "amount": 5, "reason": "Spring", "balance": 55,
            "at": "2026-03-01T09:00:00.000Z",
        ],
        "Correction": [
            "currency": "points", "amount": -10, "reference": "ticket-4711", "reason": "Given twice",
            "operator": "anna",
        ],
        "Posting": [
            "account": "user:u1", "contra": "sold", "currency": "points", "amount": 60, "kind": "purchase",
            "reference": "6d9a35b3-eea1-46d2-9a75-8b7273506f71", "at": "2026-03-01T08:30:02.456Z",
        ],
        "LotPage": [
            "currency": "points", "balance": 50, "debt": 0, "data": [lot], "hasMore": false, "nextCursor": nil,
        ],
        "ConsentReply": ["given": false],
        "Consent": ["given": true],
        "ConsumptionRequest": [
            "transactionId": "2000000000000001", "environment": "Production", "userId": "u1", "productId": "points60",
            "reason": "UNINTENDED_PURCHASE", "requestedAt": "2026-03-01T09:00:00.000Z",
            "answerBy": "2026-03-01T21:00:00.000Z", "state": "answered", "attempts": 0, "detail": "",
            "answer": [
                "customerConsented": true, "deliveryStatus": "DELIVERED", "sampleContentProvided": false,
                "consumptionPercentage": 16_666,
            ],
            "endedAt": "2026-03-01T09:00:30.000Z",
        ],
    ]

    private static let lot: JSONValue = [
        "kind": "purchase", "reference": "6d9a35b3-eea1-46d2-9a75-8b7273506f71", "transactionId": "2000000000000001",
        "at": "2026-03-01T08:30:00.123Z", "amount": 60, "takenBack": 0, "used": 10, "remaining": 50,
    ]
}
