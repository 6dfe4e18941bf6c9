import TillAPI
import TillAppStore
import TillBilling

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
            summary: "Claim a purchase by Apple's order number",
            description: """
                For somebody who paid and got nothing: the number stands in Apple's mail. Apple is asked which \
                transactions it is of; those that are nobody's become this user's, and what another customer has \
                stays theirs. If Apple can't be asked, the claim waits and is asked about again by the server. At most \
                \(OrderNumberClaim.dailyLimit) in a day for each user; each is recorded. Production only.
                """,
            caller: .app, parameters: [.userID],
            body: OpenAPIOperation.Body("ClaimOrder", example: ["orderNumber": "MVXK0ABC12"]), isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(200, "What became of each transaction.", "Claim", example: claimExample),
                OpenAPIOperation.Answer(202, "Apple can't be asked now; the server goes on by itself.", "Claim"),
            ],
            refusals: [.forbidden, .guestMerged, .unknownOrderNumber, .noOrderLookup, .tooManyRequests]),
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
            "Apple's order number.",
            ["orderNumber": OpenAPISchema.name("As in Apple's mail; letters and digits.", maximum: 64)]),
        "Claim": OpenAPISchema.object(
            "A claim, and what became of it.",
            [
                "id": OpenAPISchema.uuid("The claim's."), "orderNumber": OpenAPISchema.text("As it was given."),
                "state": OpenAPISchema.words(
                    "Where it stands; `unknown`: Apple has no such order of this app.",
                    ClaimReply.State.allCases.map(\.rawValue)),
                "at": OpenAPISchema.time("When."), "endedAt": OpenAPISchema.time("When it was answered."),
                "data": OpenAPISchema.list("What became of each transaction.", of: ref("ClaimedTransaction")),
            ], optional: ["endedAt"]),
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
            ], optional: ["price"]),
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
