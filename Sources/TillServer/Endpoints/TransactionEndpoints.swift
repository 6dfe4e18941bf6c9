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
                A signed transaction, or a receipt with the transaction and product it is about. Any genuine proof is \
                taken from any signed-in user; whose it is, is decided by what Apple signed. A caller who isn't the \
                owner is told only `outcome`, `transactionId` and `finish`. Sending it again changes nothing.
                """,
            caller: .app, body: .json("SubmitProof"), bodyLimit: Server.receiptBodyLimit,
            answers: [
                .ok("Granted, granted before, or revoked by Apple.", "SubmitProofReply"),
                .accepted(
                    """
                    Kept, but not granted yet: Apple has to be asked, nobody could be named the owner, or the server \
                    is told to grant by itself after the device has finished (`delivery.order`).
                    """,
                    "SubmitProofReply",
                    [
                        "outcome": "quarantined", "transactionId": "2000000356937285", "finish": false,
                        "reason": "no_owner",
                    ]),
            ],
            refusals: proofRefusals + [
                .revocationUnknown, .transactionNotInReceipt, .transactionMismatch, .productMismatch,
            ]),
        Endpoint(
            method: .post, path: Paths.appleNotifications, id: "receiveNotification", tag: .transactions,
            action: Server.receiveNotification, summary: "Apple's notification (version 2)",
            description: """
                The address to enter in App Store Connect. 200 as soon as it is stored, of whatever type and for \
                whichever app; refused only if it isn't Apple's, because Apple doesn't send again what was answered \
                200. New ones for other apps have a pace for each address (429 beyond), and Apple sends those again.
                """,
            body: .json("AppleNotification"), answers: [.ok("Stored.", "Empty")],
            refusals: proofRefusals + [.tooManyRequests]),
        Endpoint(
            method: .post, path: Paths.verifyReceipt, id: "verifyReceipt", tag: .transactions,
            action: Server.verifyReceipt, summary: "Apple's verifyReceipt, answered here",
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
            crowded: Server.verifyReceiptIsBusy, body: .json("VerifyReceipt"), bodyLimit: Server.receiptBodyLimit,
            answers: [.ok("The verdict, and with status 0 what the receipt holds.", "VerifyReceiptReply")]),
        Endpoint(
            method: .post, path: Paths.postPay, id: "postPay", tag: .transactions, action: Server.postPay,
            summary: "A shipped client's purchase",
            description: """
                The same door as `/v1/transactions`, in the words of shipped clients: JSON or a form, every value \
                text, a user token in `token`. `product_id` is the plan's id with or without the app's bundle id and \
                a dot before it. Transaction, product, quantity and bundle id must agree with the receipt; \
                `is_sandbox` and `password` are not looked at. Shipped clients take `status` 200 for success and keep \
                everything else to send it again, so 200 is only ever said to the owner of what was granted.
                """,
            body: .json("PostPay"), bodyLimit: Server.receiptBodyLimit,
            answers: [
                .ok(
                    "Granted to this user, now or before.", "PostPayReply",
                    ["status": 200, "outcome": "granted", "transaction_id": "2000000356937285"]),
                .accepted(
                    "Kept, but not granted: nobody could be named the owner.", "PostPayReply",
                    [
                        "status": 202, "outcome": "quarantined", "transaction_id": "2000000356937285",
                        "reason": "receipt_needs_order",
                    ]),
                .answer(409, "Granted, but to another user.", "PostPayReply"),
                .answer(410, "Apple took the money back.", "PostPayReply"),
            ],
            refusals: proofRefusals + [
                .transactionNotInReceipt, .transactionMismatch, .productMismatch, .unauthorized,
            ]),
    ]

    /// The refusals of a proof, in the order of the checks.
    static let proofRefusals: [Refusal] = [
        .malformed, .missingChain, .chainLength, .badCertificate, .badRoot, .chainUntrusted, .chainExpired, .missingOID,
        .badSignature, .wrongApp, .wrongEnvironment, .wrongDevice, .certificateRevoked,
    ]

    static let transactionBodies: BodyTable = [
        Body("SubmitProof", SubmitProofBody.self, "A proof, and what is said beside it.", schema: oneProof): [
            "signedTransaction": "Exactly as StoreKit gave it (JWS).",
            "receipt": "An app receipt in base64; white space inside is ignored.",
            "transactionId": "The transaction meant; needed beside a receipt.",
            "productId": "The product meant; needed beside a receipt.",
            "orderId": "The order the app believes it pays for.",
            "idNonce": .text(
                "The nonce of the order id inside the proof: an order that the server does not know is opened.", 32),
            "idUserId": .name("Whom that id commits to, where that is a guest merged into the caller since.", 128),
            "userId": .name("Believed from a backend only.", 128),
            "deviceId": .name(
                "The device that brings it, as orders name it: looked at where Apple signed no order id.", 128),
        ],
        Body("SubmitProofReply", SubmitProofReply.self, "What became of a proof."): [
            "outcome": "What became of it.", "transactionId": "Apple's id.",
            "finish": "Whether the device may finish the transaction. Obey only this.",
            "orderId": "The order it pays for.", "userId": .userID,
            "reason": .words(
                "Why it is quarantined, or accepted only.",
                QuarantineReason.allCases.map(\.rawValue) + [PurchaseIntake.waitingReason, PurchaseIntake.savedReason]),
        ],
        Body("Grant", GrantReply.self, "What a paid transaction gave its owner."): [
            "id": "One for each transaction, for ever.", "productId": "As in the catalogue.", "quantity": "How many.",
            "postings": "The points.", "entitlement": "The lasting right, if the product gives one.",
        ],
        Body("GrantPosting", GrantReply.PostingReply.self, "Points that were given."): [
            "account": "Whose wallet.", "currency": "The kind of points.", "amount": "How many.",
        ],
        Body("AppleNotification", AppleNotificationBody.self, "As Apple sends it."): ["signedPayload": "A JWS."],
        Body("Empty", "Nothing to say."): [:],
        Body("VerifyReceipt", "As Apple documents it."): [
            "receipt-data": "An app receipt in base64; white space inside is ignored.",
            "password": .optional("The app's shared secret, where the server has one."),
            "exclude-old-transactions": .optional(.truth("Only the newest transaction of each subscription.")),
        ],
        Body(
            "VerifyReceiptReply",
            "As Apple documents it: nearly every value is text, and each moment stands there in three forms."
        ): [
            "status": .integer("0 for a genuine receipt, else why not."),
            "environment": .optional(.words("Where the receipt comes from.", ["Production", "Sandbox"])),
            "receipt": .optional(.ref("AppleObject")),
            "latest_receipt": .optional("The receipt that was posted. Of subscribers only."),
            "latest_receipt_info": .optional(
                .list(
                    "Purchases as they stand now, oldest first. Of subscribers only.", of: "AppleObject")),
            "pending_renewal_info": .optional(.list("Each subscription. Of subscribers only.", of: "AppleObject")),
        ],
        Body(
            "AppleObject", "See Apple's documentation of verifyReceipt (responseBody).", schema: ["type": "object"]
        ): [:],
        Body("PostPay", "A purchase in the words of shipped clients."): [
            "token": "A user token.", "receipt-data": "An app receipt in base64; line feeds inside are ignored.",
            "product_id": .name("The plan's id.", 255), "transaction_id": .name("The transaction meant.", 128),
            "quantity": .optional("1 to 10; must be what Apple signed."),
            "order_id": .optional(
                "The order it pays for: its UUID, or the user's own order number. Needed to find the owner."),
            "bundle_id": .optional("The app's."), "password": .optional("Not looked at."),
            "is_sandbox": .optional("Not looked at."),
        ],
        Body("PostPayReply", PostPayReply.self, "What became of a shipped client's purchase."): [
            "status": .integer("The HTTP status once more.", 200...410), "outcome": "What became of it.",
            "transaction_id": "Apple's id.", "expires_at": "When the paid period ends; absent for what doesn't end.",
            "reason": .words(
                "Why it is quarantined.", QuarantineReason.allCases.map(\.rawValue) + [PurchaseIntake.waitingReason]),
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
        "PostPay": [
            "token": "eyJhbGciOiJIUzI1NiJ9…", "receipt-data": "MIIT…", "product_id": "points60",
            "transaction_id": "2000000356937285", "quantity": "1", "order_id": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64",
            "bundle_id": "com.example.learn", "is_sandbox": "0", "password": "",
        ],
    ]
}
