import TillAPI
import TillAppStore
import TillBilling
import TillJSON

extension OpenAPI {
    private static let compactJWS: JSONValue = "eyJhbGciOiJFUzI1NiIsImtpZCI6IjJYOVI0SFhGMzQi…"

    private static let oneUse = """
        Who deserves an offer is the backend's decision: Till signs what it is told, and only for backends. A \
        signature is for one attempt to buy. A repetition under the same `Idempotency-Key` is the same signature, \
        which may be used up or expired by then: give every attempt a key of its own.
        """

    static let offerOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .post, path: Paths.promotionalOffers, id: "signPromotionalOffer", tag: .offers,
            summary: "Sign a promotional offer",
            description: """
                \(oneUse) The classic form is good for 24 hours and signs what the purchase carries: its order's id, \
                another `appAccountToken`, an `applicationUsername`, or nothing.
                """,
            caller: .backend,
            body: OpenAPIOperation.Body(
                "PromotionalOffer",
                example: [
                    "productId": "com.example.learn.member.monthly", "offerId": "welcome-back",
                    "orderId": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64",
                ]),
            isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(
                    200, "The signed offer, with the members of its form.", "PromotionalOfferReply",
                    example: [
                        "form": "classic", "productId": "com.example.learn.member.monthly", "offerId": "welcome-back",
                        "keyId": "2X9R4HXF34", "nonce": "6d9a35b3-eea1-46d2-9a75-8b7273506f71",
                        "timestamp": 1_772_353_802_456, "signature": "MEUCIQDf0x1…",
                        "account": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64", "expiresAt": "2026-03-02T08:30:02.456Z",
                    ])
            ],
            refusals: [.unknownProduct, .notAutoRenewable, .unknownOrder, .noInAppPurchaseKey]),
        OpenAPIOperation(
            method: .post, path: Paths.introductoryOffers, id: "signIntroductoryOffer", tag: .offers,
            summary: "Sign whether a customer may have the introductory offer",
            description: "In place of what StoreKit would decide. \(oneUse)", caller: .backend,
            body: OpenAPIOperation.Body(
                "IntroductoryOffer",
                example: [
                    "productId": "com.example.learn.member.monthly", "allowed": true,
                    "transactionId": "2000000356937285",
                ]),
            isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(
                    200, "Signed.", "IntroductoryOfferReply",
                    example: [
                        "productId": "com.example.learn.member.monthly", "allowed": true,
                        "transactionId": "2000000356937285", "compactJWS": compactJWS,
                    ])
            ],
            refusals: [.unknownProduct, .notAutoRenewable, .noInAppPurchaseKey]),
    ]

    private static let transactionID: JSONValue = [
        "type": "string", "pattern": "^[0-9]{1,20}$",
        "description": "Any transaction of the customer; for one who never bought anything, the `appTransactionId`.",
    ]

    static let offerSchemas: [String: JSONValue] = [
        "PromotionalOffer": OpenAPISchema.object(
            "What to sign. At most one of `orderId`, `appAccountToken` and `applicationUsername`.",
            [
                "productId": OpenAPISchema.text("As in the catalogue; an auto-renewable subscription."),
                "offerId": OpenAPISchema.name("As in App Store Connect: visible ASCII.", maximum: 100),
                "form": formWords("`classic` if absent."),
                "orderId": OpenAPISchema.uuid("The order that will be paid; for this product."),
                "userId": OpenAPISchema.name("Whose order it must be; only beside `orderId`.", maximum: 128),
                "appAccountToken": OpenAPISchema.uuid("What the purchase will carry. Form `classic` only."),
                "applicationUsername": OpenAPISchema.name(
                    "The same for StoreKit 1; signed in lower case. Form `classic` only.", maximum: 255),
                "transactionId": transactionID,
            ],
            optional: ["form", "orderId", "userId", "appAccountToken", "applicationUsername", "transactionId"]),
        "PromotionalOfferReply": OpenAPISchema.object(
            "A signed promotional offer: `compactJWS` in the form `jws`, all other members in the form `classic`.",
            [
                "form": formWords("As it was asked for."), "productId": OpenAPISchema.text("As it was asked for."),
                "offerId": OpenAPISchema.text("As it was asked for."),
                "compactJWS": OpenAPISchema.text("For StoreKit 2's `promotionalOffer(_:compactJWS:)`."),
                "keyId": OpenAPISchema.text("The In-App Purchase key's id."),
                "nonce": OpenAPISchema.uuid("For one use."),
                "timestamp": OpenAPISchema.integer("Milliseconds since 1970, as StoreKit takes them."),
                "signature": OpenAPISchema.text("Base64; StoreKit 2 takes the bytes, StoreKit 1 the text."),
                "account": OpenAPISchema.text(
                    "What must stand in the purchase as `appAccountToken` or `applicationUsername`; empty for neither."
                ),
                "expiresAt": OpenAPISchema.time("From then on Apple refuses it."),
            ],
            optional: ["compactJWS", "keyId", "nonce", "timestamp", "signature", "account", "expiresAt"]),
        "IntroductoryOffer": OpenAPISchema.object(
            "Whether a customer may have the introductory offer.",
            [
                "productId": OpenAPISchema.text("As in the catalogue; an auto-renewable subscription."),
                "allowed": OpenAPISchema.truth("Whether the customer may."), "transactionId": transactionID,
            ]),
        "IntroductoryOfferReply": OpenAPISchema.object(
            "The signed word on it.",
            [
                "productId": OpenAPISchema.text("As it was asked for."),
                "allowed": OpenAPISchema.truth("As it was asked for."), "transactionId": transactionID,
                "compactJWS": OpenAPISchema.text("For StoreKit 2's `introductoryOfferEligibility(compactJWS:)`."),
            ]),
    ]

    private static func formWords(_ description: String) -> JSONValue {
        OpenAPISchema.words(description, OfferForm.allCases.map(\.rawValue))
    }
}
