import TillAPI
import TillBilling
import TillJSON

/// Points, and the consent to report their use to Apple.
extension OpenAPI {
    static let walletEndpoints: [Endpoint] = [
        Endpoint(
            method: .get, path: Paths.wallet, id: "readWallet", tag: .wallet, action: Server.readWallet,
            summary: "Read a user's balances", caller: .app, parameters: [.environment],
            answers: [.ok("The balances. An unknown user has none.", "Wallet")]),
        Endpoint(
            method: .post, path: Paths.debits, id: "debitWallet", tag: .wallet, action: Server.debitWallet,
            summary: "Spend points",
            description:
                "A repeated request with the same reference is the same debit. A debit never makes a balance negative.",
            caller: .backend, parameters: [.environment], body: .json("Debit"),
            answers: [.created("Spent.", "DebitReply"), .ok("Spent before, under the same reference.", "DebitReply")],
            refusals: [.insufficientFunds, .inDebt, .unknownCurrency, .referenceConflict, .guestMerged]),
        Endpoint(
            method: .post, path: Paths.bonuses, id: "giveBonus", tag: .wallet, action: Server.giveBonus,
            summary: "Give points as a bonus",
            description: "A repeated request with the same reference is the same bonus.",
            caller: .backend, parameters: [.environment], body: .json("Bonus"),
            answers: [
                .created("Given.", "HandPosting"), .ok("Given before, under the same reference.", "HandPosting"),
            ],
            refusals: [.unknownCurrency, .referenceConflict, .guestMerged]),
        Endpoint(
            method: .post, path: Paths.corrections, id: "correctWallet", tag: .wallet, action: Server.correctWallet,
            summary: "Correct a balance",
            description: """
                For a reason that an operator states. A repeated request with the same reference is the same \
                correction. The balance goes below zero only with `allowDebt`.
                """,
            caller: .backend, parameters: [.environment], body: .json("Correction"),
            answers: [
                .created("Corrected.", "HandPosting").bare,
                .ok("Corrected before, under the same reference.", "HandPosting").bare,
            ],
            refusals: [.insufficientFunds, .unknownCurrency, .referenceConflict]),
        Endpoint(
            method: .get, path: Paths.postings, id: "listPostings", tag: .wallet, action: Server.listPostings,
            summary: "List the postings of a user's points", caller: .app, parameters: [.environment, .limit, .cursor],
            answers: [.ok("The postings.", "PostingPage")]),
        Endpoint(
            method: .get, path: Paths.lots, id: "listLots", tag: .wallet, action: Server.listLots,
            summary: "List a user's lots of points",
            description: "Newest first. Points are spent from the oldest lot that has any left.", caller: .app,
            parameters: [
                .environment,
                .query("currency", .name("The kind of points.", 64), "The kind of points. Required."),
                .limit, .cursor,
            ],
            answers: [.ok("The lots.", "LotPage")]),
        Endpoint(
            method: .get, path: Paths.consumptionConsent, id: "readConsumptionConsent", tag: .consents,
            action: Server.readConsumptionConsent,
            summary: "Read a user's consent to consumption data for Apple", caller: .app,
            answers: [.ok("The consent. A user without a recorded choice has not consented.", "ConsentReply")]),
        Endpoint(
            method: .put, path: Paths.consumptionConsent, id: "recordConsumptionConsent", tag: .consents,
            action: Server.recordConsumptionConsent,
            summary: "Record a user's consent to consumption data for Apple",
            description: """
                The newest choice counts when the server answers Apple. Older choices stay on record, so a user can \
                give consent at most ten times a day; withdrawing it is always possible.
                """,
            caller: .app, body: .json("Consent"),
            answers: [
                .ok("Recorded, or unchanged.", "ConsentReply", ["given": true, "at": "2026-03-01T09:00:00.000Z"])
            ],
            refusals: [.guestMerged, .tooManyRequests]),
        Endpoint(
            method: .get, path: Paths.consumptionRequests, id: "listConsumptionRequests", tag: .operations,
            action: Server.listConsumptionRequests,
            summary: "List Apple's consumption requests and their answers", caller: .backend,
            parameters: [.limit, .cursor], answers: [.ok("The requests.", "ConsumptionRequestPage")]),
    ]

    static let walletBodies: BodyTable = [
        Body("Wallet", WalletReply.self, "A user's points."): [
            "balances": "The balances by kind of points.",
            "held": """
            The part of the balances that cannot be spent yet, by kind of points, because only a receipt proves the \
            purchase. Absent if nothing is held.
            """,
        ],
        Body("Debit", DebitBody.self, "The points to spend."): [
            "currency": .name("The kind of points.", 64),
            "amount": .integer("The number of points.", 1...1_000_000_000_000),
            "reference": .name("The backend's own name for this debit.", 128),
        ],
        Body("DebitReply", DebitReply.self, "A debit and the balance."): [
            "reference": "The reference from the request.", "currency": "The kind of points.",
            "amount": "The number of points spent.",
            "balance": "The current balance, also for a repeated request.", "at": "The time of the debit.",
        ],
        Body("Bonus", BonusBody.self, "The points to give."): [
            "currency": .name("The kind of points.", 64),
            "amount": .integer("The number of points.", 1...1_000_000_000_000),
            "reference": .name("The backend's own name for this bonus.", 128),
            "reason": .prose("The reason for the bonus.", 500),
        ],
        Body("Correction", CorrectionBody.self, "The correction of a balance."): [
            "currency": .name("The kind of points.", 64),
            "amount": .integer("Points to add, or to take if negative. Not 0.", -1_000_000_000_000...1_000_000_000_000),
            "reference": .name("The backend's own name for this correction.", 128),
            "reason": .prose("The reason for the correction.", 500),
            "operator": .name("The responsible operator.", 128),
            "allowDebt": "Whether the balance may go below zero. False if absent.",
        ],
        Body("HandPosting", ManualPostingReply.self, "A bonus or a correction and the balance."): [
            "reference": "The reference from the request.", "currency": "The kind of points.",
            "amount": "Positive into the wallet, negative out of it.", "reason": "The reason from the request.",
            "operator": "The operator of a correction.",
            "balance": "The current balance, also for a repeated request.", "at": "The time of the posting.",
        ],
        Body("Posting", PostingReply.self, "One movement of points. Postings are never edited or deleted."): [
            "account": "The account of the wallet.",
            "contra": .oneOf("The account on the other side.", ContraAccount.self),
            "currency": "The kind of points.", "amount": "Positive into the wallet, negative out of it.",
            "kind": .oneOf("The kind of the posting.", PostingKind.self),
            "reference": "A grant's id, or the backend's own reference.",
            "reason": .text("The reason of a bonus or correction.", 500),
            "operator": .text("The operator of a correction.", 128), "at": "The time of the posting.",
        ],
        .page("PostingPage", of: PostingReply.self): [:],
        Body(
            "Lot", LotReply.self,
            "Points that entered the wallet at once. `remaining` is `amount` minus `takenBack` and `used`."
        ): [
            "kind": .oneOf("The origin of the points.", ["purchase", "bonus", "correction"]),
            "reference": "A grant's id, or the backend's own reference.",
            "transactionId": "The transaction of a purchase.",
            "at": "The time of the purchase or gift.", "amount": "The number of points that entered.",
            "takenBack": "The points that refunds took back.",
            "used": "The points that were spent.", "remaining": "The points left to spend.",
        ],
        Body(
            "LotPage", LotsReply.self,
            "One page, newest first. The remaining points of all lots minus the debt are the balance."
        ): [
            "currency": "The kind of points.", "balance": "The current balance.",
            "debt": "The points owed beyond all lots; the next lot pays them.", "data": "The lots of this page.",
            "hasMore": "Whether older lots follow.",
            "nextCursor": .orNull("The `cursor` of the next page; null on the last page."),
        ],
        Body("Consent", ConsentBody.self, "A user's choice."): ["given": "Whether the user consents."],
        Body("ConsentReply", ConsentReply.self, "A user's consent."): [
            "given": "Whether the user consents.", "at": "The time of the choice; absent without one.",
        ],
        Body(
            "ConsumptionAnswer", ConsumptionRequestReply.Answer.self,
            "The consumption data sent to Apple, in Apple's terms."): [
                "customerConsented": "Always true: without consent nothing is sent.",
                "deliveryStatus": "`DELIVERED`, or Apple's value for the problem.",
                "sampleContentProvided": "Whether sample content was available, as configured.",
                "consumptionPercentage": .integer("The consumed share in thousandths of a percent.", 0...100_000),
                "refundPreference": "`DECLINE`, `GRANT_FULL` or `GRANT_PRORATED`.",
            ],
        Body(
            "ConsumptionRequest", ConsumptionRequestReply.self,
            "A request from Apple for consumption data of a purchase whose refund a customer requested."
        ): [
            "transactionId": "The transaction of the purchase.", "environment": "The environment of the purchase.",
            "userId": "The purchase's owner; absent if unknown.", "productId": "The product; absent if unknown.",
            "reason": "The customer's reason, as Apple reports it.", "requestedAt": "The time of Apple's request.",
            "answerBy": "The time until which Apple accepts an answer.", "state": "The state of the request.",
            "attempts": "The number of failed attempts to send the answer.",
            "detail": "The reason for waiting or for the outcome: a code and a sentence.",
            "endedAt": "The time at which it was answered or given up.",
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
