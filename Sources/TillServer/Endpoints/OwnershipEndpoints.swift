import TillAPI
import TillBilling
import TillJSON

/// Purchases that move to another user, and purchases without an owner.
extension OpenAPI {
    static let ownershipEndpoints: [Endpoint] = [
        Endpoint(
            method: .post, path: Paths.restores, id: "restorePurchases", tag: .transfers,
            action: Server.restorePurchases, summary: "Restore the purchases on a device",
            description: """
                Non-consumables and auto-renewable subscriptions return to their owner; consumables do not. Every \
                proof is verified and processed as by `POST /v1/transactions`. A purchase of another customer is \
                `kept` by that customer, or `moved` with its whole transaction chain if the server's `restore.policy` \
                is `move`, at most `restore.movesPerYear` times a year; under `ask` it is kept, and the backend may \
                move it. A purchase without an owner that Apple signed for no user (a family member's copy, an offer \
                code redeemed outside of the app) is `claimed`, except under `ask`. A receipt stands for the newest \
                transaction of each chain in it.
                """,
            caller: .app, body: .json("Restore"), bodyLimit: Server.receiptBodyLimit,
            answers: [.ok("The outcome of each transaction. Invalid proofs are `refused` one by one.", "RestoreReply")],
            refusals: proofRefusals + [
                .forbidden, .revocationUnknown, .receiptRefused, .receiptNeedsRefresh, .accountMerged, .guestMerged,
            ]),
        Endpoint(
            method: .post, path: Paths.guests, id: "mergeGuest", tag: .transfers, action: Server.mergeGuest,
            summary: "Merge a guest into this account",
            description: """
                Everything that the guest owns moves to the account: purchases of both environments, the whole wallet \
                including debts, and every later payment under the guest's orders. The same pair again returns the \
                same transfer. An app sends the guest's own user token beside its user's. That token has the claim \
                `"guest": true` (or the id has the prefix `guests.prefix`), because two accounts are never merged.
                """,
            caller: .app, body: .json("MergeGuest"),
            answers: [.created("Merged.", "Transfer"), .ok("Merged before.", "Transfer")],
            refusals: [.notAGuest, .guestTaken, .accountMerged, .sameUser]),
        Endpoint(
            method: .get, path: Paths.userTransfers, id: "listTransfers", tag: .transfers, action: Server.listTransfers,
            summary: "List the transfers to and from a user", caller: .backend, parameters: [.limit, .cursor],
            answers: [.ok("The transfers.", "TransferPage")]),
        Endpoint(
            method: .post, path: Paths.transfers, id: "makeTransfer", tag: .transfers, action: Server.makeTransfer,
            summary: "Move a purchase to another user",
            description: """
                For support, under every restore policy: the purchases that `from` owns in one transaction chain move \
                to `to`, with the remaining points that came with them. Later renewals in that chain follow.
                """,
            caller: .backend, body: .json("MakeTransfer"), answers: [.created("Moved.", "Transfer").bare],
            refusals: [.notTheOwner, .accountMerged, .sameUser]),
        Endpoint(
            method: .post, path: Paths.transferReversal, id: "reverseTransfer", tag: .transfers,
            action: Server.reverseTransfer, summary: "Reverse a transfer",
            description: """
                Moves back, as a new transfer, everything that the receiving user still has. `stayed` lists the rest: \
                purchases that moved on and points that were spent. A merged guest becomes a separate customer again. \
                A merge can be reversed for `guests.undoDays` days, 30 by default.
                """,
            caller: .backend, parameters: [.transferID], body: .json("ReverseTransfer"),
            answers: [.created("Reversed.", "Transfer").bare, .ok("Reversed before.", "Transfer").bare],
            refusals: [.unknownTransfer, .notReversible, .undoExpired]),
        Endpoint(
            method: .post, path: Paths.claims, id: "claimPurchases", tag: .claims, action: Server.claimPurchases,
            summary: "Claim a purchase by Apple's order number, or accept one",
            description: """
                With `orderNumber`, for a user who paid and received nothing: the number is in Apple's mail. The \
                server asks Apple for the transactions of that order; those without an owner become this user's. A \
                number of another customer's purchase is answered like a number that Apple does not know. If Apple \
                cannot be reached, the claim waits and the server retries it. At most \(OrderNumberClaim.dailyLimit) \
                claims a day for each user; each claim is recorded. Production only.

                With `transactionId`, the user accepts a purchase that `listClaimable` shows. It is granted at once \
                under a new order; accepting it again returns the same claim.
                """,
            caller: .app, body: .json("ClaimOrder"),
            answers: [
                .ok("The outcome of each transaction.", "Claim"),
                .accepted("Apple cannot be reached now; the server retries the claim.", "Claim").bare,
            ],
            refusals: [
                .guestMerged, .unknownOrderNumber, .noOrderLookup, .tooManyRequests, .unknownTransaction, .notClaimable,
                .notInQuarantine,
            ]),
        Endpoint(
            method: .get, path: Paths.claimable, id: "listClaimable", tag: .claims, action: Server.listClaimable,
            summary: "List purchases that wait for a user's acceptance",
            description: """
                Purchases that Apple signed for an order of this user, but with another product or quantity than \
                ordered. Any Apple Account can pay under an order's id, so the server grants none of them until the \
                user accepts it with `claimPurchases`. Other users can neither see nor claim them.
                """,
            caller: .app, parameters: [.environment, .limit, .cursor],
            answers: [.ok("The purchases, newest first.", "ClaimablePage")]),
        Endpoint(
            method: .get, path: Paths.claims, id: "listClaims", tag: .claims, action: Server.listClaims,
            summary: "List a user's claims", caller: .app, parameters: [.limit, .cursor],
            answers: [.ok("The claims.", "ClaimPage")]),
        Endpoint(
            method: .get, path: Paths.quarantine, id: "listQuarantine", tag: .claims, action: Server.listQuarantined,
            summary: "List paid purchases without an owner", caller: .backend, parameters: [.limit, .cursor],
            answers: [.ok("The transactions.", "QuarantinePage")]),
        Endpoint(
            method: .post, path: Paths.quarantineClaims, id: "claimQuarantined", tag: .claims,
            action: Server.claimQuarantined, summary: "Grant a quarantined purchase to a user",
            description: """
                For support: an operator decides who owns a transaction and states the reason. It is granted like any \
                other purchase, under a new order. A purchase that Apple signed for another customer is refused. The \
                same decision again returns the same grant.
                """,
            caller: .backend,
            parameters: [.path("transactionId", .name("Apple's transaction id.", 128), "Apple's transaction id.")],
            body: .json("ClaimQuarantined"), answers: [.ok("Granted, now or before.", "SubmitProofReply")],
            refusals: [.unknownTransaction, .notInQuarantine, .notClaimable]),
    ]

    static let ownershipBodies: BodyTable = [
        Body("Restore", RestoreBody.self, "Proofs: either `signedTransactions` or `receipt`."): [
            "userId": .name("The user to restore for. Required from a backend.", UserID.maximumLength).unchecked,
            "signedTransactions": .list(
                "Signed transactions (JWS) from StoreKit, unchanged; at most \(RestoreBody.maximumCount).",
                1...RestoreBody.maximumCount),
            "receipt": "An app receipt in base64; white space inside is ignored.",
        ],
        Body("RestoreReply", RestoreReply.self, "The outcome of each transaction."): [
            "data": "The transactions; signed transactions in the order of the request."
        ],
        Body("RestoredTransaction", RestoredTransaction.self, "The outcome of one transaction."): [
            "transactionId": "Apple's transaction id; absent for an invalid proof.",
            "originalTransactionId": "The original transaction id of its chain.",
            "productId": "The product.", "outcome": "The outcome of the restore.",
            "reason": "The reason for `kept`, `quarantined`, `accepted` or `refused`: a stable code.",
            "askBackend": "Whether the app's backend may move the purchase.",
            "finish": "Whether the device may finish the transaction. Decide by this member alone.",
        ],
        Body("MergeGuest", MergeGuestBody.self, "The guest to merge."): [
            "guestId": .userID,
            "guestToken": "The guest's own user token, with the claim `guest`. Required from an app.",
            "reason": .prose("The reason, kept in the transfer.", 500),
        ],
        Body("MakeTransfer", MakeTransferBody.self, "The purchase to move and its new owner."): [
            "from": .userID, "to": .userID,
            "originalTransactionId": .name("The original transaction id of the chain.", 128),
            "environment": .environment("The environment; production by default if the server accepts it."),
            "reason": .prose("The reason, kept in the transfer.", 500),
            "operator": .name("The operator who decided.", 128),
        ],
        Body("ReverseTransfer", ReverseTransferBody.self, "The reason for the reversal and the operator."): [
            "reason": .prose("The reason, kept in the transfer.", 500),
            "operator": .name("The operator who decided.", 128),
        ],
        Body(
            "Transfer", TransferReply.self,
            "A move of purchases from one user to another, with their remaining points."
        ): [
            "id": "The transfer's id.", "kind": .oneOf("The kind of the transfer.", Transfer.Kind.self),
            "from": .userID,
            "to": .userID, "reason": "The reason from the request.", "actor": "The caller of the request.",
            "operator": "The operator who decided.",
            "at": "The time of the transfer.", "grantCount": "The number of purchases moved.",
            "grants": "The newest 100 of the purchases moved.",
            "points": "The points moved, by kind.", "reverses": "The transfer that this one reversed.",
            "reversedBy": "The transfer that reversed this one.",
        ],
        .page("TransferPage", of: TransferReply.self): [:],
        Body("MovedGrant", TransferReply.MovedGrant.self, "A purchase that was moved."): [
            "id": "The grant's id.", "transactionId": "Apple's transaction id.",
            "originalTransactionId": "The original transaction id of its chain.",
            "productId": "The product's id in the catalogue.",
            "environment": .oneOf("The environment of the payment.", StoreEnvironment.self),
        ],
        Body("MovedPoints", TransferReply.Points.self, "Points of one kind."): [
            "environment": .oneOf("The environment of the points.", StoreEnvironment.self),
            "currency": "The kind of points.",
            "amount": "The number of points; a negative amount is a debt.",
        ],
        Body("Stayed", TransferReply.Remaining.self, "The part of a reversed transfer that did not move back."): [
            "grantCount": "The number of purchases that had moved to a third user.",
            "points": "The points that were spent meanwhile.",
        ],
        Body("ClaimOrder", ClaimOrderBody.self, "The claim: either `orderNumber` or `transactionId`."): [
            "orderNumber": .name("The order number from Apple's mail; letters and digits.", 64).unchecked,
            "transactionId": .name("Apple's id of the transaction that the user accepts.", 128),
            "environment": .environment("The environment of the payment; the user's usual environment if absent."),
        ],
        .page("ClaimablePage", of: ClaimableReply.self): [:],
        Body("Claimable", ClaimableReply.self, "A purchase that is granted when the user accepts it."): [
            "transactionId": "Apple's transaction id.", "productId": "The product that was paid.",
            "quantity": "The quantity that was paid.",
            "purchasedAt": "The time of the payment.", "orderId": "The order whose id the payment carries.",
            "orderedProductId": "The product of that order.", "orderedQuantity": "The quantity of that order.",
            "reason": "The reason for waiting: a stable code.",
        ],
        Body("Claim", ClaimReply.self, "A claim and its outcome."): [
            "id": "The claim's id.", "orderNumber": "The order number from the request; absent for an acceptance.",
            "state": "The claim's state; `unknown`: Apple has no such order of this app, or it is another customer's.",
            "at": "The time of the claim.", "endedAt": "The time of the outcome.",
            "data": "The outcome of each transaction.",
        ],
        .page("ClaimPage", of: ClaimReply.self): [:],
        Body("ClaimedTransaction", ClaimedTransaction.self, "The outcome of one transaction."): [
            "outcome": "The outcome of the claim.", "transactionId": "Apple's transaction id.",
            "productId": "The product.",
            "orderId": "The order that it pays for, if it belongs to this user.",
            "reason": "The reason why it was not granted: a stable code.",
        ],
        Body("ClaimQuarantined", ClaimQuarantinedBody.self, "The new owner and the reason."): [
            "userId": .userID, "reason": .prose("The reason, kept in the evidence.", 500),
            "operator": .name("The operator who decided.", 128),
            "environment": .environment("The environment; production by default if the server accepts it."),
        ],
        .page("QuarantinePage", of: QuarantinedTransaction.self): [:],
        Body("QuarantinedTransaction", QuarantinedTransaction.self, "A paid and genuine purchase without an owner."): [
            "transactionId": "Apple's transaction id.",
            "originalTransactionId": "The original transaction id of its chain.", "productId": "The product.",
            "quantity": "The quantity.",
            "environment": .oneOf("The environment of the payment.", StoreEnvironment.self),
            "purchasedAt": "The time of the payment.", "receivedAt": "The time at which the server first received it.",
            "reason": .oneOf("The reason why no owner was found.", QuarantineReason.self),
            "appAccountToken": "The token that Apple signed; absent if there is none.",
            "evidence": "Every decision about it, oldest first.",
            "reasons": "The submissions that left it in quarantine, by reason.",
        ],
        Body(
            "QuarantineReason", QuarantinedTransaction.Reason.self,
            "Submissions that left a purchase in quarantine for the same reason."
        ): [
            "reason": "The reason: a stable code.", "count": "The number of submissions.",
            "firstAt": "The time of the first submission.",
            "lastAt": "The time of the last submission.", "lastCaller": "The caller of the last submission.",
        ],
        Body("Evidence", QuarantinedTransaction.Evidence.self, "A decision and its ground."): [
            "at": "The time of the decision.", "decision": "The decision.", "ground": "The ground: a stable code.",
            "detail": "The result of each step of owner matching.",
            "source": "The source: the app, a notification, reconciliation, a claim.",
            "caller": "The caller who submitted the proof.",
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
