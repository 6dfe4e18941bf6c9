import TillAPI
import TillAppStore
import TillBilling
import TillJSON

/// The catalog, and the signatures for offers on subscriptions.
extension OpenAPI {
    static let shopEndpoints: [Endpoint] = [
        Endpoint(
            method: .get, path: Paths.products, id: "listProducts", tag: .shop, action: Server.listProducts,
            summary: "List the catalogue", description: "For the shop page. Cheap to ask again with `If-None-Match`.",
            parameters: [.header("If-None-Match", "The `ETag` of an earlier answer.")],
            answers: [
                .ok("The catalogue.", "Products").with(headers: ["ETag": "Changes with the catalogue."]),
                .answer(304, "Unchanged."),
            ]),
        Endpoint(
            method: .post, path: Paths.promotionalOffers, id: "signPromotionalOffer", tag: .offers,
            action: Server.signPromotionalOffer, summary: "Sign a promotional offer",
            description: """
                \(oneUse) The classic form is good for 24 hours and signs what the purchase carries: its order's id, \
                another `appAccountToken`, an `applicationUsername`, or nothing.
                """,
            caller: .backend, body: .json("PromotionalOffer"),
            answers: [.ok("The signed offer, with the members of its form.", "PromotionalOfferReply")],
            refusals: [.unknownProduct, .notAutoRenewable, .unknownOrder, .noInAppPurchaseKey]),
        Endpoint(
            method: .post, path: Paths.introductoryOffers, id: "signIntroductoryOffer", tag: .offers,
            action: Server.signIntroductoryOffer, summary: "Sign whether a customer may have the introductory offer",
            description: "In place of what StoreKit would decide. \(oneUse)", caller: .backend,
            body: .json("IntroductoryOffer"), answers: [.ok("Signed.", "IntroductoryOfferReply")],
            refusals: [.unknownProduct, .notAutoRenewable, .noInAppPurchaseKey]),
    ]

    private static let oneUse = """
        Who deserves an offer is the backend's decision: Till signs what it is told, and only for backends. A \
        signature is for one attempt to buy. A repetition under the same `Idempotency-Key` is the same signature, \
        which may be used up or expired by then: give every attempt a key of its own.
        """

    static let shopBodies: BodyTable = [
        Body(
            "PromotionalOffer", PromotionalOfferBody.self,
            "What to sign. At most one of `orderId`, `appAccountToken` and `applicationUsername`."
        ): [
            "productId": "As in the catalogue; an auto-renewable subscription.",
            "offerId": .name("As in App Store Connect: visible ASCII.", 100).unchecked, "form": "`classic` if absent.",
            "orderId": "The order that will be paid; for this product.",
            "userId": .name("Whose order it must be; only beside `orderId`.", 128).unchecked,
            "appAccountToken": "What the purchase will carry. Form `classic` only.",
            "applicationUsername": .name(
                "The same for StoreKit 1; signed in lower case. Form `classic` only.", 255
            ).unchecked,
            "transactionId": customerTransaction,
        ],
        Body(
            "PromotionalOfferReply", PromotionalOfferReply.self,
            "A signed promotional offer: `compactJWS` in the form `jws`, all other members in the form `classic`."
        ): [
            "form": "As it was asked for.", "productId": "As it was asked for.", "offerId": "As it was asked for.",
            "compactJWS": "For StoreKit 2's `promotionalOffer(_:compactJWS:)`.",
            "keyId": "The In-App Purchase key's id.", "nonce": "For one use.",
            "timestamp": "Milliseconds since 1970, as StoreKit takes them.",
            "signature": "Base64; StoreKit 2 takes the bytes, StoreKit 1 the text.",
            "account": """
            What must stand in the purchase as `appAccountToken` or `applicationUsername`; empty for neither.
            """,
            "expiresAt": "From then on Apple refuses it.",
        ],
        Body("IntroductoryOffer", IntroductoryOfferBody.self, "Whether a customer may have the introductory offer."): [
            "productId": "As in the catalogue; an auto-renewable subscription.", "allowed": "Whether the customer may.",
            "transactionId": customerTransaction,
        ],
        Body("IntroductoryOfferReply", IntroductoryOfferReply.self, "The signed word on it."): [
            "productId": "As it was asked for.", "allowed": "As it was asked for.",
            "transactionId": customerTransaction,
            "compactJWS": "For StoreKit 2's `introductoryOfferEligibility(compactJWS:)`.",
        ],
        Body("Products", ProductsReply.self, "Everything there is to buy."): ["data": "The products."],
        Body("Product", Product.self, "Something there is to buy, and what its buyer gets."): [
            "id": "As in App Store Connect.", "type": "As Apple calls it.",
            "prices": "List prices in other currencies, in minor units; absent if the shop names none.",
            "points": .always("Points for one, by kind."), "entitlement": "The lasting right a buyer gets, if any.",
        ],
        Body("Text", Text.self, "A name or a sentence, in both languages."): [
            "en": "In English.", "zh": "In Chinese.",
        ],
        Body("Money", Money.self, "An amount of money."): [
            "amount": "Minor units: ¥6.00 is 600 CNY, ¥120 is 120 JPY.", "currency": "ISO 4217.",
        ],
    ]

    private static let customerTransaction = Member.pattern(
        "Any transaction of the customer; for one who never bought anything, the `appTransactionId`.", "^[0-9]{1,20}$")

    static let shopExamples: [String: JSONValue] = [
        "Products": [
            "data": [
                [
                    "id": "com.example.learn.points60", "type": "Consumable",
                    "names": ["en": "60 points", "zh": "60 学点"], "price": ["amount": 600, "currency": "CNY"],
                    "points": ["points": 60],
                ]
            ]
        ],
        "PromotionalOffer": [
            "productId": "com.example.learn.member.monthly", "offerId": "welcome-back",
            "orderId": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64",
        ],
        "PromotionalOfferReply": [
            "form": "classic", "productId": "com.example.learn.member.monthly", "offerId": "welcome-back",
            "keyId": "2X9R4HXF34", "nonce": "6d9a35b3-eea1-46d2-9a75-8b7273506f71", "timestamp": 1_772_353_802_456,
            "signature": "MEUCIQDf0x1…", "account": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64",
            "expiresAt": "2026-03-02T08:30:02.456Z",
        ],
        "IntroductoryOffer": [
            "productId": "com.example.learn.member.monthly", "allowed": true, "transactionId": "2000000356937285",
        ],
        "IntroductoryOfferReply": [
            "productId": "com.example.learn.member.monthly", "allowed": true, "transactionId": "2000000356937285",
            "compactJWS": "eyJhbGciOiJFUzI1NiIsImtpZCI6IjJYOVI0SFhGMzQi…",
        ],
    ]
}
