import TillAPI
import TillBilling
import TillJSON

extension OpenAPI {
    private static let claimExample: JSONValue = [
        "id": "6d9a35b3-eea1-46d2-9a75-8b7273506f71", "orderNumber": "MVXK0ABC12", "state": "answered",
        "at": "2026-01-16T00:00:00.000Z", "endedAt": "2026-01-16T00:00:00.400Z",
        "data": [
            [
                "outcome": "granted", "transactionId": "2000000356937285", "productId": "com.example.learn.points60",
                "orderId": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64",
            ]
        ],
    ]

    static let claimOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .post, path: Paths.claims, id: "claimPurchases", tag: .claims,
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
            caller: .app, parameters: [.userID],
            body: OpenAPIOperation.Body("ClaimOrder", example: ["orderNumber": "MVXK0ABC12"]), isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(200, "What became of each transaction.", "Claim", example: claimExample),
                OpenAPIOperation.Answer(202, "Apple can't be asked now; the server goes on by itself.", "Claim"),
            ],
            refusals: [
                .forbidden, .guestMerged, .unknownOrderNumber, .noOrderLookup, .tooManyRequests, .unknownTransaction,
                .notClaimable, .notInQuarantine,
            ]),
        OpenAPIOperation(
            method: .get, path: Paths.claimable, id: "listClaimable", tag: .claims,
            summary: "List what waits for a user's word",
            description: """
                Purchases that Apple signed for an order of this user, and that are of another product or quantity \
                than was ordered. Anybody can pay under an order's id, so none is granted until the user accepts it \
                with `claimPurchases`. No other user sees or gets it.
                """,
            caller: .app, parameters: [.userID, .environment, .limit, .cursor],
            answers: [OpenAPIOperation.Answer(200, "The purchases, the newest first.", "ClaimablePage")],
            refusals: [.forbidden, .invalidField]),
        OpenAPIOperation(
            method: .get, path: Paths.claims, id: "listClaims", tag: .claims,
            summary: "List what a user claimed", caller: .app, parameters: [.userID, .limit, .cursor],
            answers: [OpenAPIOperation.Answer(200, "The claims.", "ClaimPage")],
            refusals: [.forbidden, .invalidField]),
        OpenAPIOperation(
            method: .get, path: Paths.quarantine, id: "listQuarantine", tag: .claims,
            summary: "List what is paid and nobody's yet", caller: .backend, parameters: [.limit, .cursor],
            answers: [OpenAPIOperation.Answer(200, "The transactions.", "QuarantinePage")],
            refusals: [.invalidField]),
        OpenAPIOperation(
            method: .post, path: Paths.quarantineClaims, id: "claimQuarantined", tag: .claims,
            summary: "Give what is in quarantine to a user",
            description: """
                For support: an operator decides whose a transaction is, and says why. It is granted like any other, \
                under an order that is made on the spot. What Apple signed for another customer can't be given away. \
                The same decision again is the same grant.
                """,
            caller: .backend,
            parameters: [.path("transactionId", ["type": "string", "minLength": 1, "maxLength": 128], "Apple's id.")],
            body: OpenAPIOperation.Body(
                "ClaimQuarantined",
                example: ["userId": "u1", "reason": "showed Apple's receipt, ticket 4711", "operator": "li"]),
            isRepeatable: true,
            answers: [OpenAPIOperation.Answer(200, "Granted, now or before.", "SubmitProofReply")],
            refusals: [.unknownTransaction, .notInQuarantine, .notClaimable]),
    ]

    static let claimSchemas: [String: JSONValue] = [
        "ClaimOrder": OpenAPISchema.object(
            "What is claimed: one of `orderNumber` and `transactionId`.",
            [
                "orderNumber": OpenAPISchema.name("As in Apple's mail; letters and digits.", maximum: 64),
                "transactionId": OpenAPISchema.name("Apple's id of a purchase that the user accepts.", maximum: 128),
                "environment": OpenAPISchema.words(
                    "Where that was paid; the user's usual environment if absent.", ["production", "sandbox"]),
            ], optional: ["orderNumber", "transactionId", "environment"]),
        "ClaimablePage": OpenAPISchema.page(of: "Claimable"),
        "Claimable": OpenAPISchema.object(
            "A purchase that is granted when the user accepts it.",
            [
                "transactionId": OpenAPISchema.text("Apple's id."),
                "productId": OpenAPISchema.text("What it is of."), "quantity": OpenAPISchema.integer("How many."),
                "purchasedAt": OpenAPISchema.time("When it was paid."),
                "orderId": OpenAPISchema.uuid("The order whose id it carries."),
                "orderedProductId": OpenAPISchema.text("What that order is for."),
                "orderedQuantity": OpenAPISchema.integer("How many of it."),
                "reason": OpenAPISchema.text("Why it waits: a stable code."),
                "sandbox": OpenAPISchema.sandboxMark,
            ], optional: ["sandbox"]),
        "Claim": OpenAPISchema.object(
            "A claim, and what became of it.",
            [
                "id": OpenAPISchema.uuid("The claim's."),
                "orderNumber": OpenAPISchema.text("As it was given; absent from an acceptance."),
                "state": OpenAPISchema.words(
                    "Where it stands; `unknown`: Apple has no such order of this app, or it is another customer's.",
                    ClaimReply.State.allCases.map(\.rawValue)),
                "at": OpenAPISchema.time("When."), "endedAt": OpenAPISchema.time("When it was answered."),
                "data": OpenAPISchema.list("What became of each transaction.", of: ref("ClaimedTransaction")),
            ], optional: ["orderNumber", "endedAt"]),
        "ClaimPage": OpenAPISchema.page(of: "Claim"),
        "ClaimedTransaction": OpenAPISchema.object(
            "What became of one transaction.",
            [
                "outcome": OpenAPISchema.words(
                    "What became of it.", ClaimedTransaction.Outcome.allCases.map(\.rawValue)),
                "transactionId": OpenAPISchema.text("Apple's id."),
                "productId": OpenAPISchema.text("What it is of."),
                "orderId": OpenAPISchema.uuid("The order it pays for, of what is this user's."),
                "reason": OpenAPISchema.text("Why it was not given: a stable code."),
            ], optional: ["transactionId", "productId", "orderId", "reason"]),
        "ClaimQuarantined": OpenAPISchema.object(
            "Who gets it, and why.",
            [
                "userId": OpenAPISchema.userID, "reason": OpenAPISchema.name("For the record.", maximum: 500),
                "operator": OpenAPISchema.name("Who decided.", maximum: 128),
                "environment": OpenAPISchema.words(
                    "Production if the server accepts it, if absent.", ["production", "sandbox"]),
            ], optional: ["environment"]),
        "QuarantinePage": OpenAPISchema.page(of: "QuarantinedTransaction"),
        "QuarantinedTransaction": OpenAPISchema.object(
            "Paid and genuine, and nobody's yet.",
            [
                "transactionId": OpenAPISchema.text("Apple's id."),
                "originalTransactionId": OpenAPISchema.text("Its chain."),
                "productId": OpenAPISchema.text("What it is of."), "quantity": OpenAPISchema.integer("How many."),
                "environment": OpenAPISchema.words("Where it was paid.", Environment.allCases.map(\.rawValue)),
                "price": ref("Money"), "purchasedAt": OpenAPISchema.time("When it was paid."),
                "receivedAt": OpenAPISchema.time("When it came here first."),
                "reason": OpenAPISchema.words(
                    "Why nobody could be named the owner.", QuarantineReason.allCases.map(\.rawValue)),
                "evidence": OpenAPISchema.list("Every decision about it, oldest first.", of: ref("Evidence")),
                "reasons": OpenAPISchema.list(
                    "How often it was brought and stayed here, for each reason.", of: ref("QuarantineReason")),
            ], optional: ["price"]),
        "QuarantineReason": OpenAPISchema.object(
            "Posts that left a purchase in quarantine for the same reason.",
            [
                "reason": OpenAPISchema.text("Why: a stable code."), "count": OpenAPISchema.integer("How many posts."),
                "firstAt": OpenAPISchema.time("When the first came."),
                "lastAt": OpenAPISchema.time("When the last came."),
                "lastCaller": OpenAPISchema.text("Who brought the last."),
            ]),
        "Evidence": OpenAPISchema.object(
            "A decision, and what it rests on.",
            [
                "at": OpenAPISchema.time("When."), "decision": OpenAPISchema.text("What was decided."),
                "ground": OpenAPISchema.text("On what ground: a stable code."),
                "detail": OpenAPISchema.text("What each rung of the matching ladder said."),
                "door": OpenAPISchema.text("Through which door it came."),
                "caller": OpenAPISchema.text("Who brought it."),
            ], optional: ["detail"]),
        "ClaimForm": OpenAPISchema.object(
            "The form on the page of what is nobody's.",
            [
                "form": OpenAPISchema.text("The page's own token."),
                "user": OpenAPISchema.name("Who gets it.", maximum: 128),
                "reason": OpenAPISchema.name("For the record.", maximum: 500),
            ]),
    ]
}
