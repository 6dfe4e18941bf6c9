import TillAPI
import TillBilling
import TillJSON

/// Purchases that move to another user, and purchases without an owner.
extension OpenAPI {
    static let ownershipEndpoints: [Endpoint] = [
        Endpoint(
            method: .post, path: Paths.restores, id: "restorePurchases", tag: .transfers,
            action: Server.restorePurchases, summary: "Restore what a device shows",
            description: """
                Non-consumables and auto-renewable subscriptions come back to their owner; consumables don't. Every \
                proof is verified and settled as by `POST /v1/transactions`. What another customer has is `kept` by \
                them, or `moved` with its whole chain if the server's `restore.policy` is `move`, as often a year as \
                `restore.movesPerYear` says; under `ask` it is kept and the backend may decide. What Apple signed for \
                nobody (a family's copy, an offer code redeemed outside of the app) and nobody has is `claimed`, \
                except under `ask`. A receipt stands for the newest transaction of each chain in it.
                """,
            caller: .app, body: .json("Restore"), bodyLimit: Server.receiptBodyLimit,
            answers: [.ok("What became of each. Proofs that are none are `refused` one by one.", "RestoreReply")],
            refusals: proofRefusals + [.forbidden, .revocationUnknown, .accountMerged, .guestMerged]),
        Endpoint(
            method: .post, path: Paths.guests, id: "mergeGuest", tag: .transfers, action: Server.mergeGuest,
            summary: "Make a guest part of this account",
            description: """
                Everything that the guest has moves to the account: purchases of both environments, all of the \
                wallet, debts too, and whatever is paid under the guest's orders from now on. Once: the same pair \
                again is the same transfer. An app needs the guest's own user token beside its user's, and the token \
                says `"guest": true` (or the id has the prefix of `guests.prefix`): accounts are never merged.
                """,
            caller: .app, body: .json("MergeGuest"),
            answers: [.created("Merged.", "Transfer"), .ok("Merged before.", "Transfer")],
            refusals: [.notAGuest, .guestTaken, .accountMerged, .sameUser]),
        Endpoint(
            method: .get, path: Paths.userTransfers, id: "listTransfers", tag: .transfers, action: Server.listTransfers,
            summary: "List what went to and from a user", caller: .backend, parameters: [.limit, .cursor],
            answers: [.ok("The transfers.", "TransferPage")]),
        Endpoint(
            method: .post, path: Paths.transfers, id: "makeTransfer", tag: .transfers, action: Server.makeTransfer,
            summary: "Move a purchase to another user",
            description: """
                For support, under every policy: what `from` has of one chain of transactions becomes `to`'s, with \
                what is left of the points that came with it. What renews in that chain follows.
                """,
            caller: .backend, body: .json("MakeTransfer"), answers: [.created("Moved.", "Transfer").bare],
            refusals: [.notTheHolder, .accountMerged, .sameUser]),
        Endpoint(
            method: .post, path: Paths.transferReversal, id: "reverseTransfer", tag: .transfers,
            action: Server.reverseTransfer, summary: "Take a transfer back",
            description: """
                Moves back what is still where the transfer brought it, as a transfer of its own. `stayed` says what \
                isn't: purchases that went on, points that were spent. A guest is a customer of its own again. A \
                merge can be taken back for `guests.undoDays` days, 30 if nothing else is configured.
                """,
            caller: .backend, parameters: [.transferID], body: .json("ReverseTransfer"),
            answers: [.created("Taken back.", "Transfer").bare, .ok("Taken back before.", "Transfer").bare],
            refusals: [.unknownTransfer, .notReversible, .undoExpired]),
        Endpoint(
            method: .post, path: Paths.claims, id: "claimPurchases", tag: .claims, action: Server.claimPurchases,
            summary: "Claim a purchase by Apple's order number, or accept one",
            description: """
                With `orderNumber`, for somebody who paid and got nothing: the number stands in Apple's mail. Apple is \
                asked which transactions it is of; those that are nobody's become this user's. A number of another \
                customer's purchase is answered like one that Apple doesn't know. If Apple can't be asked, the claim \
                waits and is asked about again by the server. At most \(OrderNumberClaim.dailyLimit) in a day for each \
                user; each is recorded. Production only.

                With `transactionId`, the user accepts a purchase that `listClaimable` shows. It is granted at once \
                under an order of its own; the same again is the same claim.
                """,
            caller: .app, body: .json("ClaimOrder"),
            answers: [
                .ok("What became of each transaction.", "Claim"),
                .accepted("Apple can't be asked now; the server goes on by itself.", "Claim").bare,
            ],
            refusals: [
                .guestMerged, .unknownOrderNumber, .noOrderLookup, .tooManyRequests, .unknownTransaction, .notClaimable,
                .notInQuarantine,
            ]),
        Endpoint(
            method: .get, path: Paths.claimable, id: "listClaimable", tag: .claims, action: Server.listClaimable,
            summary: "List what waits for a user's word",
            description: """
                Purchases that Apple signed for an order of this user, and that are of another product or quantity \
                than was ordered. Anybody can pay under an order's id, so none is granted until the user accepts it \
                with `claimPurchases`. No other user sees or gets it.
                """,
            caller: .app, parameters: [.environment, .limit, .cursor],
            answers: [.ok("The purchases, the newest first.", "ClaimablePage")]),
        Endpoint(
            method: .get, path: Paths.claims, id: "listClaims", tag: .claims, action: Server.listClaims,
            summary: "List what a user claimed", caller: .app, parameters: [.limit, .cursor],
            answers: [.ok("The claims.", "ClaimPage")]),
        Endpoint(
            method: .get, path: Paths.quarantine, id: "listQuarantine", tag: .claims, action: Server.listQuarantined,
            summary: "List what is paid and nobody's yet", caller: .backend, parameters: [.limit, .cursor],
            answers: [.ok("The transactions.", "QuarantinePage")]),
        Endpoint(
            method: .post, path: Paths.quarantineClaims, id: "claimQuarantined", tag: .claims,
            action: Server.claimQuarantined, summary: "Give what is in quarantine to a user",
            description: """
                For support: an operator decides whose a transaction is, and says why. It is granted like any other, \
                under an order that is made on the spot. What Apple signed for another customer can't be given away. \
                The same decision again is the same grant.
                """,
            caller: .backend,
            parameters: [.path("transactionId", .name("Apple's id.", 128), "Apple's id.")],
            body: .json("ClaimQuarantined"), answers: [.ok("Granted, now or before.", "SubmitProofReply")],
            refusals: [.unknownTransaction, .notInQuarantine, .notClaimable]),
    ]

    static let ownershipBodies: BodyTable = [
        Body("Restore", RestoreBody.self, "Proofs: one of the two."): [
            "userId": .name("For whom; a backend must say.", UserID.maximumLength).unchecked,
            "signedTransactions": .list(
                "Each exactly as StoreKit gave it (JWS), at most \(RestoreBody.maximumCount).",
                1...RestoreBody.maximumCount),
            "receipt": "An app receipt in base64; white space inside is ignored.",
        ],
        Body("RestoreReply", RestoreReply.self, "What became of each: of signed transactions in their order."): [
            "data": "The transactions."
        ],
        Body("RestoredTransaction", RestoredTransaction.self, "What became of one transaction."): [
            "transactionId": "Apple's id; absent where the proof is none.", "originalTransactionId": "Its chain.",
            "productId": "What it is of.", "outcome": "What became of it.",
            "reason": "Why it is kept, quarantined, accepted only or refused: a stable code.",
            "askBackend": "The app's backend may move it.",
            "finish": "Whether the device may finish the transaction. Obey only this.",
        ],
        Body("MergeGuest", MergeGuestBody.self, "A guest."): [
            "guestId": .userID, "guestToken": "The guest's own user token, with the claim guest; needed from an app.",
            "reason": .prose("For the record.", 500),
        ],
        Body("MakeTransfer", MakeTransferBody.self, "Which purchase goes to whom."): [
            "from": .userID, "to": .userID, "originalTransactionId": .name("Its chain.", 128),
            "environment": .environment("Production if the server accepts it, if absent."),
            "reason": .prose("For the record.", 500), "operator": .name("Who decided.", 128),
        ],
        Body("ReverseTransfer", ReverseTransferBody.self, "Why, and who says so."): [
            "reason": .prose("For the record.", 500), "operator": .name("Who decided.", 128),
        ],
        Body(
            "Transfer", TransferReply.self,
            "Purchases that went from one user to another, with what was left of their points."
        ): [
            "id": "For its reversal.", "kind": .words("Why there is one.", Transfer.Kind.self), "from": .userID,
            "to": .userID, "reason": "As it was given.", "actor": "Whose request it was.", "operator": "Who decided.",
            "at": "When.", "grantCount": "How many purchases were moved.", "grants": "The newest 100 of them.",
            "points": "What was moved of each kind.", "reverses": "The transfer that this one took back.",
            "reversedBy": "The transfer that took this one back.",
        ],
        .page("TransferPage", of: TransferReply.self): [:],
        Body("MovedGrant", TransferReply.MovedGrant.self, "A purchase that was moved."): [
            "id": "The grant's.", "transactionId": "Apple's id.", "originalTransactionId": "Its chain.",
            "productId": "As in the catalogue.", "environment": .words("Where it was paid.", Environment.self),
        ],
        Body("MovedPoints", TransferReply.Points.self, "Points of one kind."): [
            "environment": .words("Whose books.", Environment.self), "currency": "The kind of points.",
            "amount": "How many; below zero it is a debt.",
        ],
        Body("Stayed", TransferReply.Stayed.self, "What of a reversed transfer did not come back."): [
            "grantCount": "Purchases that had gone on to somebody else.", "points": "Points that were spent meanwhile.",
        ],
        Body("ClaimOrder", ClaimOrderBody.self, "What is claimed: one of `orderNumber` and `transactionId`."): [
            "orderNumber": .name("As in Apple's mail; letters and digits.", 64).unchecked,
            "transactionId": .name("Apple's id of a purchase that the user accepts.", 128),
            "environment": .environment("Where that was paid; the user's usual environment if absent."),
        ],
        .page("ClaimablePage", of: ClaimableReply.self): [:],
        Body("Claimable", ClaimableReply.self, "A purchase that is granted when the user accepts it."): [
            "transactionId": "Apple's id.", "productId": "What it is of.", "quantity": "How many.",
            "purchasedAt": "When it was paid.", "orderId": "The order whose id it carries.",
            "orderedProductId": "What that order is for.", "orderedQuantity": "How many of it.",
            "reason": "Why it waits: a stable code.",
        ],
        Body("Claim", ClaimReply.self, "A claim, and what became of it."): [
            "id": "The claim's.", "orderNumber": "As it was given; absent from an acceptance.",
            "state": "Where it stands; `unknown`: Apple has no such order of this app, or it is another customer's.",
            "at": "When.", "endedAt": "When it was answered.", "data": "What became of each transaction.",
        ],
        .page("ClaimPage", of: ClaimReply.self): [:],
        Body("ClaimedTransaction", ClaimedTransaction.self, "What became of one transaction."): [
            "outcome": "What became of it.", "transactionId": "Apple's id.", "productId": "What it is of.",
            "orderId": "The order it pays for, of what is this user's.",
            "reason": "Why it was not given: a stable code.",
        ],
        Body("ClaimQuarantined", ClaimQuarantinedBody.self, "Who gets it, and why."): [
            "userId": .userID, "reason": .prose("For the record.", 500), "operator": .name("Who decided.", 128),
            "environment": .environment("Production if the server accepts it, if absent."),
        ],
        .page("QuarantinePage", of: QuarantinedTransaction.self): [:],
        Body("QuarantinedTransaction", QuarantinedTransaction.self, "Paid and genuine, and nobody's yet."): [
            "transactionId": "Apple's id.", "originalTransactionId": "Its chain.", "productId": "What it is of.",
            "quantity": "How many.", "environment": .words("Where it was paid.", Environment.self),
            "purchasedAt": "When it was paid.", "receivedAt": "When it came here first.",
            "reason": .words("Why nobody could be named the owner.", QuarantineReason.self),
            "evidence": "Every decision about it, oldest first.",
            "reasons": "How often it was brought and stayed here, for each reason.",
        ],
        Body(
            "QuarantineReason", QuarantinedTransaction.Reason.self,
            "Posts that left a purchase in quarantine for the same reason."
        ): [
            "reason": "Why: a stable code.", "count": "How many posts.", "firstAt": "When the first came.",
            "lastAt": "When the last came.", "lastCaller": "Who brought the last.",
        ],
        Body("Evidence", QuarantinedTransaction.Evidence.self, "A decision, and what it rests on."): [
            "at": "When.", "decision": "What was decided.", "ground": "On what ground: a stable code.",
            "detail": "What each rung of the matching ladder said.", "door": "Through which door it came.",
            "caller": "Who brought it.",
        ],
    ]

    static let ownershipExamples: [String: JSONValue] = [
        "Restore": ["signedTransactions": ["eyJhbGciOiJFUzI1NiIsIng1YyI6WyJNSUlC…"]],
        "RestoreReply": [
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
        ],
        "MergeGuest": ["guestId": "guest-3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64"],
        "Transfer": [
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
        ],
        "MakeTransfer": [
            "from": "u1", "to": "u2", "originalTransactionId": "2000000356937285",
            "reason": "account lost, ticket 4711", "operator": "li",
        ],
        "ReverseTransfer": ["reason": "the wrong account", "operator": "li"],
        "ClaimOrder": ["orderNumber": "MVXK0ABC12"],
        "Claim": [
            "id": "6d9a35b3-eea1-46d2-9a75-8b7273506f71", "orderNumber": "MVXK0ABC12", "state": "answered",
            "at": "2026-01-16T00:00:00.000Z", "endedAt": "2026-01-16T00:00:00.400Z",
            "data": [
                [
                    "outcome": "granted", "transactionId": "2000000356937285",
                    "productId": "com.example.learn.points60", "orderId": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64",
                ]
            ],
        ],
        "ClaimQuarantined": ["userId": "u1", "reason": "showed Apple's receipt, ticket 4711", "operator": "li"],
    ]
}
