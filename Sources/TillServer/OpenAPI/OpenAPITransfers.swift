import TillAPI
import TillBilling
import TillJSON

extension OpenAPI {
    private static let transferExample: JSONValue = [
        "id": "6d9a35b3-eea1-46d2-9a75-8b7273506f71", "kind": "guest_merge",
        "from": "guest-3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64", "to": "u1", "reason": "signed_in", "actor": "user:u1",
        "at": "2026-01-16T00:00:00.000Z", "grantCount": 1,
        "grants": [
            [
                "id": "0d1a35b3-eea1-46d2-9a75-8b7273506f71", "transactionId": "2000000356937285",
                "originalTransactionId": "2000000356937285", "productId": "com.example.learn.points60",
                "environment": "Production",
            ]
        ],
        "points": [["environment": "Production", "currency": "points", "amount": 60]],
    ]

    private static let restoreExample: JSONValue = [
        "data": [
            [
                "transactionId": "2000000356937285", "originalTransactionId": "2000000356937280",
                "productId": "com.example.learn.pro", "outcome": "owned", "finish": true,
            ],
            [
                "transactionId": "2000000356937299", "originalTransactionId": "2000000356937299",
                "productId": "com.example.learn.library", "outcome": "kept", "reason": "other_customer",
                "finish": true,
            ],
        ]
    ]

    static let transferOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .post, path: Paths.restores, id: "restorePurchases", tag: .transfers,
            summary: "Restore what a device shows",
            description: """
                Non-consumables and auto-renewable subscriptions come back to their owner; consumables don't. Every \
                proof is verified and settled as by `POST /v1/transactions`. What another customer has is `kept` by \
                them, or `moved` with its whole chain if the server's `restore.policy` is `move`, as often a year as \
                `restore.movesPerYear` says; under `ask` it is kept and the backend may decide. What Apple signed for \
                nobody (a family's copy, an offer code redeemed outside of the app) and nobody has is `claimed`, \
                except under `ask`. A receipt stands for the newest transaction of each chain in it.
                """,
            caller: .app,
            body: OpenAPIOperation.Body(
                "Restore", example: ["signedTransactions": ["eyJhbGciOiJFUzI1NiIsIng1YyI6WyJNSUlC…"]]),
            bodyLimit: Server.receiptBodyLimit, isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(
                    200, "What became of each. Proofs that are none are `refused` one by one.", "RestoreReply",
                    example: restoreExample)
            ],
            refusals: proofRefusals + [.forbidden, .revocationUnknown, .accountMerged, .guestMerged]),
        OpenAPIOperation(
            method: .post, path: Paths.guests, id: "mergeGuest", tag: .transfers,
            summary: "Make a guest part of this account",
            description: """
                Everything that the guest has moves to the account: purchases of both environments, all of the \
                wallet, debts too, and whatever is paid under the guest's orders from now on. Once: the same pair \
                again is the same transfer. An app needs the guest's own user token beside its user's, and the token \
                says `"guest": true` (or the id has the prefix of `guests.prefix`): accounts are never merged.
                """,
            caller: .app, parameters: [.userID],
            body: OpenAPIOperation.Body(
                "MergeGuest", example: ["guestId": "guest-3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64"]),
            isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(201, "Merged.", "Transfer", example: transferExample),
                OpenAPIOperation.Answer(200, "Merged before.", "Transfer"),
            ],
            refusals: [.forbidden, .notAGuest, .guestTaken, .accountMerged, .sameUser]),
        OpenAPIOperation(
            method: .get, path: Paths.userTransfers, id: "listTransfers", tag: .transfers,
            summary: "List what went to and from a user", caller: .backend, parameters: [.userID, .limit, .cursor],
            answers: [OpenAPIOperation.Answer(200, "The transfers.", "TransferPage")], refusals: [.invalidField]),
        OpenAPIOperation(
            method: .post, path: Paths.transfers, id: "makeTransfer", tag: .transfers,
            summary: "Move a purchase to another user",
            description: """
                For support, under every policy: what `from` has of one chain of transactions becomes `to`'s, with \
                what is left of the points that came with it. What renews in that chain follows.
                """,
            caller: .backend,
            body: OpenAPIOperation.Body(
                "MakeTransfer",
                example: [
                    "from": "u1", "to": "u2", "originalTransactionId": "2000000356937285",
                    "reason": "account lost, ticket 4711", "operator": "li",
                ]),
            isRepeatable: true,
            answers: [OpenAPIOperation.Answer(201, "Moved.", "Transfer")],
            refusals: [.notTheHolder, .accountMerged, .sameUser]),
        OpenAPIOperation(
            method: .post, path: Paths.transferReversal, id: "reverseTransfer", tag: .transfers,
            summary: "Take a transfer back",
            description: """
                Moves back what is still where the transfer brought it, as a transfer of its own. `stayed` says what \
                isn't: purchases that went on, points that were spent. A guest is a customer of its own again. A \
                merge can be taken back for `guests.undoDays` days, 30 if nothing else is configured.
                """,
            caller: .backend, parameters: [.transferID],
            body: OpenAPIOperation.Body(
                "ReverseTransfer", example: ["reason": "the wrong account", "operator": "li"]),
            isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(201, "Taken back.", "Transfer"),
                OpenAPIOperation.Answer(200, "Taken back before.", "Transfer"),
            ],
            refusals: [.unknownTransfer, .notReversible, .undoExpired]),
    ]

    static let transferSchemas: [String: JSONValue] = [
        "Restore": OpenAPISchema.object(
            "Proofs: one of the two.",
            [
                "userId": OpenAPISchema.name("For whom; a backend must say.", maximum: Int64(UserID.maximumLength)),
                "signedTransactions": OpenAPISchema.list(
                    "Each exactly as StoreKit gave it (JWS), at most \(RestoreBody.maximumCount).",
                    of: ["type": "string"]),
                "receipt": OpenAPISchema.text("An app receipt in base64; white space inside is ignored."),
            ], optional: ["userId", "signedTransactions", "receipt"]),
        "RestoreReply": OpenAPISchema.object(
            "What became of each: of signed transactions in their order.",
            ["data": OpenAPISchema.list("The transactions.", of: ref("RestoredTransaction"))]),
        "RestoredTransaction": OpenAPISchema.object(
            "What became of one transaction.",
            [
                "transactionId": OpenAPISchema.text("Apple's id; absent where the proof is none."),
                "originalTransactionId": OpenAPISchema.text("Its chain."),
                "productId": OpenAPISchema.text("What it is of."),
                "outcome": OpenAPISchema.words(
                    "What became of it.", RestoredTransaction.Outcome.allCases.map(\.rawValue)),
                "reason": OpenAPISchema.text("Why it is kept, quarantined, accepted only or refused: a stable code."),
                "askBackend": OpenAPISchema.truth("The app's backend may move it."),
                "finish": OpenAPISchema.truth("Whether the device may finish the transaction. Obey only this."),
            ], optional: ["transactionId", "originalTransactionId", "productId", "reason", "askBackend"]),
        "MergeGuest": OpenAPISchema.object(
            "A guest.",
            [
                "guestId": OpenAPISchema.userID,
                "guestToken": OpenAPISchema.text(
                    "The guest's own user token, with the claim guest; needed from an app."),
                "reason": OpenAPISchema.name("For the record.", maximum: 500),
            ], optional: ["guestToken", "reason"]),
        "MakeTransfer": OpenAPISchema.object(
            "Which purchase goes to whom.",
            [
                "from": OpenAPISchema.userID, "to": OpenAPISchema.userID,
                "originalTransactionId": OpenAPISchema.name("Its chain.", maximum: 128),
                "environment": OpenAPISchema.words(
                    "Production if the server accepts it, if absent.", ["production", "sandbox"]),
                "reason": OpenAPISchema.name("For the record.", maximum: 500),
                "operator": OpenAPISchema.name("Who decided.", maximum: 128),
            ], optional: ["environment"]),
        "ReverseTransfer": OpenAPISchema.object(
            "Why, and who says so.",
            [
                "reason": OpenAPISchema.name("For the record.", maximum: 500),
                "operator": OpenAPISchema.name("Who decided.", maximum: 128),
            ]),
        "Transfer": transfer, "TransferPage": OpenAPISchema.page(of: "Transfer"),
        "MovedGrant": OpenAPISchema.object(
            "A purchase that was moved.",
            [
                "id": OpenAPISchema.uuid("The grant's."), "transactionId": OpenAPISchema.text("Apple's id."),
                "originalTransactionId": OpenAPISchema.text("Its chain."),
                "productId": OpenAPISchema.text("As in the catalogue."),
                "environment": OpenAPISchema.words("Where it was paid.", Environment.allCases.map(\.rawValue)),
            ]),
        "MovedPoints": OpenAPISchema.object(
            "Points of one kind.",
            [
                "environment": OpenAPISchema.words("Whose books.", Environment.allCases.map(\.rawValue)),
                "currency": OpenAPISchema.text("The kind of points."),
                "amount": OpenAPISchema.integer("How many; below zero it is a debt."),
            ]),
        "Stayed": OpenAPISchema.object(
            "What of a reversed transfer did not come back.",
            [
                "grantCount": OpenAPISchema.integer("Purchases that had gone on to somebody else."),
                "points": OpenAPISchema.list("Points that were spent meanwhile.", of: ref("MovedPoints")),
            ]),
    ]

    private static let transfer = OpenAPISchema.object(
        "Purchases that went from one user to another, with what was left of their points.",
        [
            "id": OpenAPISchema.uuid("For its reversal."),
            "kind": OpenAPISchema.words("Why there is one.", Transfer.Kind.allCases.map(\.rawValue)),
            "from": OpenAPISchema.userID, "to": OpenAPISchema.userID,
            "reason": OpenAPISchema.text("As it was given."), "actor": OpenAPISchema.text("Whose request it was."),
            "operator": OpenAPISchema.text("Who decided."), "at": OpenAPISchema.time("When."),
            "grantCount": OpenAPISchema.integer("How many purchases were moved."),
            "grants": OpenAPISchema.list("The newest 100 of them.", of: ref("MovedGrant")),
            "points": OpenAPISchema.list("What was moved of each kind.", of: ref("MovedPoints")),
            "reverses": OpenAPISchema.uuid("The transfer that this one took back."),
            "reversedBy": OpenAPISchema.uuid("The transfer that took this one back."), "stayed": ref("Stayed"),
        ], optional: ["operator", "reverses", "reversedBy", "stayed"])
}
