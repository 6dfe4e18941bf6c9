import TillAPI
import TillAppStore
import TillBilling
import TillJSON

extension OpenAPI {
    private static let shippedPurchase: JSONValue = [
        "token": "eyJhbGciOiJIUzI1NiJ9…", "receipt-data": "MIIT…", "product_id": "points60",
        "transaction_id": "2000000356937285", "quantity": "1",
        "order_id": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64", "bundle_id": "com.example.learn", "is_sandbox": "0",
        "password": "",
    ]

    /// What apps already shipped call: in the words they were written for.
    static let dropInOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .post, path: Paths.verifyReceipt, id: "verifyReceipt", tag: .transactions,
            summary: "Apple's verifyReceipt, answered here",
            description: """
                For apps already shipped: change the address, and nothing else. The verdict is in `status`; HTTP says \
                200. Answered from the receipt's own signature and from what Apple has told this server since about \
                the very purchases in it; nothing is asked of Apple. It grants nothing: send proofs to \
                `/v1/transactions` for that. Where the server has a shared secret, receipts with subscriptions need it \
                as `password`, and account tokens are told beside it only; else `password` is not looked at. Statuses: \
                0 genuine, for this app and an environment that counts here; 21000 not a POST; 21002 no receipt \
                (old-style transaction receipts too: nothing in them that is signed tells the environment); 21003 not \
                signed by Apple, altered, or another app's; 21004 the shared secret is missing or wrong; 21005 try \
                again; 21007 a sandbox receipt where only production counts; 21008 the reverse.
                """,
            body: OpenAPIOperation.Body(
                "VerifyReceipt", example: ["receipt-data": "MIIT…", "exclude-old-transactions": true]),
            bodyLimit: Server.receiptBodyLimit,
            answers: [
                OpenAPIOperation.Answer(
                    200, "The verdict, and with status 0 what the receipt holds.", "VerifyReceiptReply",
                    example: ["status": 21007])
            ]),
        OpenAPIOperation(
            method: .post, path: Paths.postPay, id: "postPay", tag: .transactions,
            summary: "A shipped client's purchase",
            description: """
                The same door as `/v1/transactions`, in the words of shipped clients: JSON or a form, every value \
                text, a user token in `token`. `product_id` is the plan's id with or without the app's bundle id and \
                a dot before it. Transaction, product, quantity and bundle id must agree with the receipt; \
                `is_sandbox` and `password` are not looked at. Shipped clients take `status` 200 for success and keep \
                everything else to send it again, so 200 is only ever said to the owner of what was granted.
                """,
            body: OpenAPIOperation.Body("PostPay", example: shippedPurchase), bodyLimit: Server.receiptBodyLimit,
            answers: [
                OpenAPIOperation.Answer(
                    200, "Granted to this user, now or before.", "PostPayReply",
                    example: ["status": 200, "outcome": "granted", "transaction_id": "2000000356937285"]),
                OpenAPIOperation.Answer(
                    202, "Kept, but not granted: nobody could be named the owner.", "PostPayReply",
                    example: [
                        "status": 202, "outcome": "quarantined", "transaction_id": "2000000356937285",
                        "reason": "receipt_needs_order",
                    ]),
                OpenAPIOperation.Answer(409, "Granted, but to another user.", "PostPayReply"),
                OpenAPIOperation.Answer(410, "Apple took the money back.", "PostPayReply"),
            ],
            refusals: proofRefusals + [
                .transactionNotInReceipt, .transactionMismatch, .productMismatch, .unauthorized,
            ]),
    ]

    static let dropInSchemas: [String: JSONValue] = [
        "VerifyReceipt": OpenAPISchema.object(
            "As Apple documents it.",
            [
                "receipt-data": OpenAPISchema.text("An app receipt in base64; white space inside is ignored."),
                "password": OpenAPISchema.text("The app's shared secret, where the server has one."),
                "exclude-old-transactions": OpenAPISchema.truth("Only the newest transaction of each subscription."),
            ], optional: ["password", "exclude-old-transactions"]),
        "VerifyReceiptReply": OpenAPISchema.object(
            "As Apple documents it: nearly every value is text, and each moment stands there in three forms.",
            [
                "status": OpenAPISchema.integer("0 for a genuine receipt, else why not."),
                "environment": OpenAPISchema.words("Where the receipt comes from.", ["Production", "Sandbox"]),
                "receipt": ref("AppleObject"),
                "latest_receipt": OpenAPISchema.text("The receipt that was posted. Of subscribers only."),
                "latest_receipt_info": OpenAPISchema.list(
                    "Purchases as they stand now, oldest first. Of subscribers only.", of: ref("AppleObject")),
                "pending_renewal_info": OpenAPISchema.list(
                    "Each subscription. Of subscribers only.", of: ref("AppleObject")),
            ],
            optional: [
                "environment", "receipt", "latest_receipt", "latest_receipt_info", "pending_renewal_info",
            ]),
        "AppleObject": [
            "type": "object",
            "description": "See Apple's documentation of verifyReceipt (responseBody).",
        ],
        "PostPay": OpenAPISchema.object(
            "A purchase in the words of shipped clients.",
            [
                "token": OpenAPISchema.text("A user token."),
                "receipt-data": OpenAPISchema.text("An app receipt in base64; line feeds inside are ignored."),
                "product_id": OpenAPISchema.name("The plan's id.", maximum: 255),
                "transaction_id": OpenAPISchema.name("The transaction meant.", maximum: 128),
                "quantity": OpenAPISchema.text("1 to 10; must be what Apple signed."),
                "order_id": OpenAPISchema.text(
                    "The order it pays for: its UUID, or the user's own order number. Needed to find the owner."),
                "bundle_id": OpenAPISchema.text("The app's."),
                "password": OpenAPISchema.text("Not looked at."),
                "is_sandbox": OpenAPISchema.text("Not looked at."),
            ], optional: ["quantity", "order_id", "bundle_id", "password", "is_sandbox"]),
        "PostPayReply": OpenAPISchema.object(
            "What became of a shipped client's purchase.",
            [
                "status": OpenAPISchema.integer("The HTTP status once more.", 200...410),
                "outcome": OpenAPISchema.words(
                    "What became of it.", ["granted", "alreadyGranted", "quarantined", "revoked"]),
                "transaction_id": OpenAPISchema.text("Apple's id."), "order": ref("Order"),
                "expires_at": OpenAPISchema.time("When the paid period ends; absent for what doesn't end."),
                "sandbox": OpenAPISchema.sandboxMark,
                "reason": OpenAPISchema.words("Why it is quarantined.", QuarantineReason.allCases.map(\.rawValue)),
            ], optional: ["order", "expires_at", "sandbox", "reason"]),
    ]
}
