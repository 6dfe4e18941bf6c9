import TillAPI
import TillBilling
import TillJSON
import TillLedger

/// Proofs from apps, notifications from Apple, and the addresses of released apps in the formats they were written for.
extension OpenAPI {
    static let transactionEndpoints: [Endpoint] = [
        Endpoint(
            method: .post, path: Paths.transactions, id: "submitProof", tag: .transactions,
            action: Server.submitTransaction, summary: "Send a proof of purchase",
            description: """
                A signed transaction, or a receipt with a transaction id and product id. Any signed-in user may send \
                any genuine proof; Apple's signed data decides who owns it. A caller who is not the owner gets only \
                `outcome`, `transactionId` and `finish`. Sending the same proof again changes nothing.
                """,
            caller: .app, body: .json("SubmitProof"), bodyLimit: Server.receiptBodyLimit,
            answers: [
                .ok("Granted, granted before, or revoked by Apple.", "SubmitProofReply"),
                .accepted(
                    """
                    Stored, but not granted yet: the server has to ask Apple, no owner was found, or `delivery.order` \
                    makes the server grant after the device has finished.
                    """,
                    "SubmitProofReply",
                    [
                        "outcome": "quarantined", "transactionId": "2000000356937285", "finish": false,
                        "reason": "no_owner",
                    ]),
            ],
            refusals: proofRefusals + [
                .revocationUnknown, .transactionNotInReceipt, .transactionMismatch, .productMismatch,
                .receiptRefused, .receiptNeedsRefresh,
            ]),
        Endpoint(
            method: .post, path: Paths.appleNotifications, id: "receiveNotification", tag: .transactions,
            action: Server.receiveNotification, summary: "Receive an App Store Server Notification (version 2)",
            description: """
                The address to enter in App Store Connect. The response is 200 as soon as the notification is stored, \
                for every type and every app; the server refuses only notifications that Apple did not sign, because \
                Apple does not resend after a 200. New notifications for other apps have a rate limit for each network \
                address (429 beyond it), and Apple resends those.
                """,
            countsAddress: false, body: .json("AppleNotification"), answers: [.ok("Stored.", "Empty")],
            refusals: proofRefusals + [.tooManyRequests]),
        Endpoint(
            method: .post, path: Paths.verifyReceipt, id: "verifyReceipt", tag: .transactions,
            action: Server.verifyReceipt, summary: "Verify a receipt as Apple's verifyReceipt does",
            description: """
                For apps already shipped: only the address changes. The verdict is in `status`; the HTTP status is \
                200. The server answers from the receipt's own signature and from Apple's later statements about the \
                purchases in it, without asking Apple. It grants nothing: send proofs to `/v1/transactions` for that. \
                If the server has a shared secret, receipts with subscriptions need it as `password`, and account \
                tokens are returned only with it; otherwise `password` is ignored. Statuses: 0 genuine, for this app \
                and an accepted environment; 21000 not a POST; 21002 not a receipt (including old-style transaction \
                receipts, whose signed data does not name the environment); 21003 not signed by Apple, altered, or for \
                another app; 21004 the shared secret is missing or wrong; 21005 try again; 21007 a sandbox receipt \
                where only production is accepted; 21008 the reverse.
                """,
            crowded: Server.verifyReceiptIsBusy, body: .json("VerifyReceipt"), bodyLimit: Server.receiptBodyLimit,
            answers: [.ok("The verdict, and with status 0 the content of the receipt.", "VerifyReceiptReply")]),
        Endpoint(
            method: .post, path: Paths.postPay, id: "postPay", tag: .transactions, action: Server.postPay,
            summary: "Send a shipped client's proof of purchase",
            description: """
                The same as `/v1/transactions`, in the format of shipped clients: JSON or a form, every value as text, \
                a user token in `token`. `product_id` is the plan's id with or without the app's bundle id and a dot \
                before it. Transaction, product, quantity and bundle id must agree with the receipt; `is_sandbox` and \
                `password` are ignored. Shipped clients take `status` 200 for success and keep any other purchase to \
                send it again, so only the owner of a granted purchase gets 200.
                """,
            countsAddress: false, body: .json("PostPay"), bodyLimit: Server.receiptBodyLimit,
            answers: [
                .ok(
                    "Granted to this user, now or before.", "PostPayReply",
                    ["status": 200, "outcome": "granted", "transaction_id": "2000000356937285"]),
                .accepted(
                    "Stored, but not granted: no owner was found.", "PostPayReply",
                    [
                        "status": 202, "outcome": "quarantined", "transaction_id": "2000000356937285",
                        "reason": "receipt_needs_order",
                    ]),
                .answer(409, "Granted, but to another user.", "PostPayReply"),
                .answer(410, "Apple refunded the purchase.", "PostPayReply"),
            ],
            refusals: proofRefusals + [
                .transactionNotInReceipt, .transactionMismatch, .productMismatch, .receiptRefused,
                .receiptNeedsRefresh, .unauthorized, .tooManyOrders, .tooManyRequests,
            ]),
        Endpoint(
            method: .post, path: Paths.appleReceipt, id: "postAppleReceipt", tag: .transactions,
            action: Server.postAppleReceipt, summary: "Send a shipped client's receipt",
            description: """
                For shipped clients that send `apple_receipt` alone and read `flag`: JSON or a form, with a user token \
                in `Authorization` or in `token`. The server processes the newest purchase of the receipt and its \
                unfinished consumables, at most 20. Apple's data decides who owns them, not the sender. `flag` is 1 if \
                the newest purchase belongs to this user and no other one waits. Anything else is 0: the purchases are \
                kept, and the client may send the receipt again.
                """,
            countsAddress: false, body: .json("PostAppleReceipt"), bodyLimit: Server.receiptBodyLimit,
            answers: [
                .ok("Processed.", "AppleReceiptReply"),
                .accepted(
                    "Stored: a purchase waits for Apple or for its owner.", "AppleReceiptReply",
                    [
                        "flag": 0,
                        "transactions": [
                            [
                                "transaction_id": "2000000356937285", "outcome": "quarantined",
                                "reason": "receipt_needs_order",
                            ]
                        ],
                    ]),
            ],
            refusals: proofRefusals + [
                .revocationUnknown, .transactionNotInReceipt, .receiptRefused, .receiptNeedsRefresh, .unauthorized,
            ]),
    ]

    /// The refusals of a proof, in the order of the checks.
    static let proofRefusals: [Refusal] = [
        .malformed, .missingChain, .chainLength, .badCertificate, .badRoot, .chainUntrusted, .chainExpired, .missingOID,
        .badSignature, .wrongApp, .wrongEnvironment, .wrongDevice, .certificateRevoked,
    ]

    static let transactionBodies: BodyTable = [
        Body("SubmitProof", SubmitProofBody.self, "A proof with unverified details about it.", schema: oneProof): [
            "signedTransaction": "The signed transaction (JWS) from StoreKit, unchanged.",
            "receipt": "An app receipt in base64; white space inside is ignored.",
            "transactionId": "The transaction in the receipt. Required beside a receipt.",
            "productId": "The product of that transaction. Required beside a receipt.",
            "orderId": "The order that the app opened for the payment.",
            "idNonce": .text(
                "The nonce of the order id in the proof; with it, the server opens an unknown order.", 32),
            "idUserId": .name(
                "The user of this order id, if that is a guest who was merged into the caller since.", 128),
            "userId": .name("The user to grant to; accepted from a backend only.", 128),
            "deviceId": .name(
                "The submitting device, named as in orders; used if Apple signed no order id.", 128),
            "phoneId": .name(
                "The submitting phone, named as in orders, if it is not the device that a plan is for.", 128),
        ],
        Body("SubmitProofReply", SubmitProofReply.self, "The outcome of a proof."): [
            "outcome": "The outcome.", "transactionId": "Apple's transaction id.",
            "finish": "Whether the device may finish the transaction. Decide by this member alone.",
            "orderId": "The order that it pays for.", "userId": .userID,
            "paid": "The price paid, as Apple signed it; absent for a receipt.",
            "reason": .oneOf(
                "The reason for `quarantined` or `accepted`.",
                QuarantineReason.allCases.map(\.rawValue) + [PurchaseIntake.waitingReason, PurchaseIntake.savedReason]),
        ],
        Body("Grant", GrantReply.self, "The goods that a paid transaction gave its owner."): [
            "id": "The grant's id; one for each transaction, never changed.",
            "productId": "The product's id in the catalogue.", "quantity": "The quantity.",
            "postings": "The granted points.", "entitlement": "The lasting right, if the product gives one.",
        ],
        Body("GrantPosting", GrantReply.PostingReply.self, "Granted points."): [
            "account": "The account of the wallet.", "currency": "The kind of points.",
            "amount": "The number of points.",
        ],
        Body("AppleNotification", AppleNotificationBody.self, "A notification in Apple's format."): [
            "signedPayload": "The signed payload (JWS)."
        ],
        Body("Empty", "An empty object."): [:],
        Body("VerifyReceipt", "The request body in Apple's format."): [
            "receipt-data": "An app receipt in base64; white space inside is ignored.",
            "password": .optional("The app's shared secret, if the server has one."),
            "exclude-old-transactions": .optional(
                .boolean("Whether to return only the newest transaction of each subscription.")),
        ],
        Body(
            "VerifyReceiptReply",
            "The response body in Apple's format: nearly every value is text, and each time has three forms."
        ): [
            "status": .integer("0 for a genuine receipt, otherwise the code of the error."),
            "environment": .optional(.oneOf("The environment of the receipt.", ["Production", "Sandbox"])),
            "receipt": .optional(.ref("AppleObject")),
            "latest_receipt": .optional("The submitted receipt. For subscribers only."),
            "latest_receipt_info": .optional(
                .list(
                    "The purchases in their current state, oldest first. For subscribers only.", of: "AppleObject")),
            "pending_renewal_info": .optional(
                .list("The renewal of each subscription. For subscribers only.", of: "AppleObject")),
        ],
        Body(
            "AppleObject", "See Apple's documentation of verifyReceipt (responseBody).", schema: ["type": "object"]
        ): [:],
        Body("PostPay", "A purchase in the format of shipped clients."): [
            "token": "A user token.", "receipt-data": "An app receipt in base64; line feeds inside are ignored.",
            "product_id": .name("The plan's id.", 255),
            "transaction_id": .name("The transaction in the receipt.", 128),
            "quantity": .optional("The quantity, 1 to 10; must equal the signed quantity."),
            "order_id": .optional(
                """
                The order that it pays for: its UUID, or the app's own order number in any other form. An order of a \
                number that the server does not know yet is opened for this user. Required to find the owner.
                """),
            "bundle_id": .optional("The app's bundle id."), "password": .optional("Ignored."),
            "is_sandbox": .optional("Ignored."),
        ],
        Body("PostPayReply", PostPayReply.self, "The outcome of a shipped client's purchase."): [
            "status": .integer("The HTTP status.", 200...410), "outcome": "The outcome.",
            "transaction_id": "Apple's transaction id.",
            "expires_at": "The end of the paid period; absent without one.",
            "reason": .oneOf("The reason for the quarantine.", shippedReasons),
        ],
    ]

    private static let shippedReasons = QuarantineReason.allCases.map(\.rawValue) + [PurchaseIntake.waitingReason]

    static let appleReceiptBodies: BodyTable = [
        Body("PostAppleReceipt", "A receipt in the format of shipped clients."): [
            "apple_receipt": "An app receipt in base64; line feeds inside are ignored.",
            "token": .optional("A user token. Required without `Authorization`."),
        ],
        Body("AppleReceiptReply", AppleReceiptReply.self, "What a shipped client's receipt led to."): [
            "flag": .integer("1 if the newest purchase belongs to this user and none waits, otherwise 0.", 0...1),
            "transactions": "The processed purchases, newest first.",
        ],
        Body("AppleReceiptPurchase", AppleReceiptReply.Purchase.self, "One purchase of the receipt."): [
            "transaction_id": "Apple's transaction id.", "outcome": "The outcome.",
            "reason": .oneOf("The reason why it waits.", shippedReasons),
        ],
    ]

    /// Exactly one of the two forms.
    private static let oneProof: [String: JSONValue] = [
        "oneOf": [
            ["required": ["signedTransaction"], "not": ["required": ["receipt"]], "title": "A signed transaction"],
            [
                "required": ["receipt", "transactionId", "productId"], "not": ["required": ["signedTransaction"]],
                "title": "A receipt",
            ],
        ]
    ]

    static let transactionExamples: [String: JSONValue] = [
        "SubmitProof": [
            "signedTransaction": "eyJhbGciOiJFUzI1NiIsIng1YyI6WyJNSUlC…",
            "orderId": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64",
        ],
        "SubmitProofReply": [
            "outcome": "granted", "transactionId": "2000000356937285", "finish": true,
            "orderId": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64", "userId": "u1",
            "grant": [
                "id": "6d9a35b3-eea1-46d2-9a75-8b7273506f71", "productId": "com.example.learn.points60", "quantity": 1,
                "postings": [["account": "user:u1", "currency": "points", "amount": 60]],
            ],
        ],
        "AppleNotification": ["signedPayload": "eyJhbGciOiJFUzI1NiIsIng1YyI6WyJNSUlC…"],
        "Empty": [:],
        "VerifyReceipt": ["receipt-data": "MIIT…", "exclude-old-transactions": true],
        "VerifyReceiptReply": ["status": 21007],
        "PostAppleReceipt": ["apple_receipt": "MIIT…", "token": "eyJhbGciOiJIUzI1NiJ9…"],
        "AppleReceiptReply": [
            "flag": 1, "transactions": [["transaction_id": "2000000356937285", "outcome": "granted"]],
        ],
        "PostPay": [
            "token": "eyJhbGciOiJIUzI1NiJ9…", "receipt-data": "MIIT…", "product_id": "points60",
            "transaction_id": "2000000356937285", "quantity": "1", "order_id": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64",
            "bundle_id": "com.example.learn", "is_sandbox": "0", "password": "",
        ],
    ]
}
