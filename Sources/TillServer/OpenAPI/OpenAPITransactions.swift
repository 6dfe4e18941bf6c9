import TillAPI
import TillBilling
import TillJSON
import TillLedger

extension OpenAPI {
    private static let grantedExample: JSONValue = [
        "outcome": "granted", "transactionId": "2000000356937285", "finish": true,
        "orderId": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64", "userId": "u1",
        "grant": [
            "id": "6d9a35b3-eea1-46d2-9a75-8b7273506f71", "productId": "com.example.learn.points60", "quantity": 1,
            "postings": [["account": "user:u1", "currency": "points", "amount": 60]],
        ],
    ]

    /// What is wrong with a proof, in the order of the checks.
    static let proofRefusals: [Refusal] = [
        .malformed, .missingChain, .chainLength, .badCertificate, .badRoot, .chainUntrusted, .chainExpired, .missingOID,
        .badSignature, .wrongApp, .wrongEnvironment, .wrongDevice, .certificateRevoked,
    ]

    static let transactionOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .post, path: Paths.transactions, id: "submitProof", tag: .transactions,
            summary: "Send a proof of purchase",
            description: """
                A signed transaction, or a receipt with the transaction and product it is about. Any genuine proof is \
                taken from any signed-in user; whose it is, is decided by what Apple signed. A caller who isn't the \
                owner is told only `outcome`, `transactionId` and `finish`. Sending it again changes nothing.
                """,
            caller: .app,
            body: OpenAPIOperation.Body(
                "SubmitProof",
                example: [
                    "signedTransaction": "eyJhbGciOiJFUzI1NiIsIng1YyI6WyJNSUlC…",
                    "orderId": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64",
                ]),
            bodyLimit: Server.receiptBodyLimit, isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(
                    200, "Granted, granted before, or revoked by Apple.", "SubmitProofReply", example: grantedExample),
                OpenAPIOperation.Answer(
                    202,
                    "Kept, but not granted yet: Apple has to be asked, nobody could be named the owner, or the server "
                        + "is told to grant by itself after the device has finished (`delivery.order`).",
                    "SubmitProofReply",
                    example: [
                        "outcome": "quarantined", "transactionId": "2000000356937285", "finish": false,
                        "reason": "no_owner",
                    ]),
            ],
            refusals: proofRefusals + [
                .revocationUnknown, .transactionNotInReceipt, .transactionMismatch, .productMismatch,
            ]),
        OpenAPIOperation(
            method: .post, path: Paths.appleNotifications, id: "receiveNotification", tag: .transactions,
            summary: "Apple's notification (version 2)",
            description: """
                The address to enter in App Store Connect. 200 as soon as it is stored, of whatever type and for \
                whichever app; refused only if it isn't Apple's, because Apple doesn't send again what was answered \
                200. New ones for other apps have a pace for each address (429 beyond), and Apple sends those again.
                """,
            body: OpenAPIOperation.Body(
                "AppleNotification", example: ["signedPayload": "eyJhbGciOiJFUzI1NiIsIng1YyI6WyJNSUlC…"]),
            answers: [OpenAPIOperation.Answer(200, "Stored.", "Empty", example: [:])],
            refusals: proofRefusals + [.tooManyRequests]),
    ]

    static let transactionSchemas: [String: JSONValue] = [
        "SubmitProof": submitProof,
        "SubmitProofReply": OpenAPISchema.object(
            "What became of a proof.",
            [
                "outcome": OpenAPISchema.words(
                    "What became of it.", ["granted", "alreadyGranted", "accepted", "quarantined", "revoked"]),
                "transactionId": OpenAPISchema.text("Apple's id."),
                "finish": OpenAPISchema.truth("Whether the device may finish the transaction. Obey only this."),
                "orderId": OpenAPISchema.uuid("The order it pays for."), "userId": OpenAPISchema.userID,
                "grant": ref("Grant"), "sandbox": OpenAPISchema.sandboxMark,
                "reason": OpenAPISchema.words(
                    "Why it is quarantined, or accepted only.",
                    QuarantineReason.allCases.map(\.rawValue) + [
                        PurchaseIntake.waitingReason, PurchaseIntake.savedReason,
                    ]),
            ], optional: ["orderId", "userId", "grant", "sandbox", "reason"]),
        "Grant": OpenAPISchema.object(
            "What a paid transaction gave its owner.",
            [
                "id": OpenAPISchema.uuid("One for each transaction, for ever."),
                "productId": OpenAPISchema.text("As in the catalogue."),
                "quantity": OpenAPISchema.integer("How many."),
                "postings": OpenAPISchema.list("The points.", of: ref("GrantPosting")),
                "entitlement": OpenAPISchema.text("The lasting right, if the product gives one."),
            ], optional: ["entitlement"]),
        "GrantPosting": OpenAPISchema.object(
            "Points that were given.",
            [
                "account": OpenAPISchema.text("Whose wallet."), "currency": OpenAPISchema.text("The kind of points."),
                "amount": OpenAPISchema.integer("How many."),
            ]),
        "AppleNotification": OpenAPISchema.object(
            "As Apple sends it.", ["signedPayload": OpenAPISchema.text("A JWS.")]),
        "Empty": OpenAPISchema.object("Nothing to say.", [:]),
    ]

    private static let submitProof: JSONValue = {
        var schema =
            OpenAPISchema.object(
                "A proof, and what is said beside it.",
                [
                    "signedTransaction": OpenAPISchema.text("Exactly as StoreKit gave it (JWS)."),
                    "receipt": OpenAPISchema.text("An app receipt in base64; white space inside is ignored."),
                    "transactionId": OpenAPISchema.text("The transaction meant; needed beside a receipt."),
                    "productId": OpenAPISchema.text("The product meant; needed beside a receipt."),
                    "orderId": OpenAPISchema.uuid("The order the app believes it pays for."),
                    "idNonce": OpenAPISchema.text(
                        "The nonce of the order id inside the proof: an order that the server does not know is opened.",
                        maximum: 32),
                    "idUserId": OpenAPISchema.name(
                        "Whom that id commits to, where that is a guest merged into the caller since.", maximum: 128),
                    "userId": OpenAPISchema.name("Believed from a backend only.", maximum: 128),
                    "deviceId": OpenAPISchema.name(
                        "The device that brings it, as orders name it: looked at where Apple signed no order id.",
                        maximum: 128),
                ],
                optional: [
                    "signedTransaction", "receipt", "transactionId", "productId", "orderId", "idNonce", "idUserId",
                    "userId", "deviceId",
                ]
            ).object ?? [:]
        schema["oneOf"] = [
            ["required": ["signedTransaction"], "not": ["required": ["receipt"]], "title": "A signed transaction"],
            [
                "required": ["receipt", "transactionId", "productId"], "not": ["required": ["signedTransaction"]],
                "title": "A receipt",
            ],
        ]
        return .object(schema)
    }()
}
