import TillAPI
import TillAppStore
import TillBilling
import TillJSON

/// The catalog, and the signatures for offers on subscriptions.
extension OpenAPI {
    static let shopEndpoints: [Endpoint] = [
        Endpoint(
            method: .get, path: Paths.products, id: "listProducts", tag: .shop, action: Server.listProducts,
            summary: "List the catalogue",
            description: "For the shop page. A repeated request with `If-None-Match` is cheap.",
            parameters: [
                .header("If-None-Match", "The `ETag` of an earlier response."),
                .header("Accept-Language", "The languages of `name`, the most wanted first."),
            ],
            answers: [
                .ok("The catalogue.", "Products").with(headers: ["ETag": "Changes with the catalogue."]),
                .answer(304, "Unchanged."),
            ]),
        Endpoint(
            method: .post, path: Paths.promotionalOffers, id: "signPromotionalOffer", tag: .offers,
            action: Server.signPromotionalOffer, summary: "Sign a promotional offer",
            description: """
                \(oneUse) The classic form is valid for 24 hours and signs the identifier that the purchase carries: \
                its order's id, another `appAccountToken`, an `applicationUsername`, or none. A user token may request \
                the offers in the product's `promotionalOffers`, with `productId`, `offerId` and the `orderId` of an \
                unpaid order of that user, in the classic form; for every other offer the response is 403. One user \
                may request 30 at once, and then two a minute.
                """,
            caller: .app, body: .json("PromotionalOffer"),
            answers: [.ok("The signed offer, with the members of its form.", "PromotionalOfferReply")],
            refusals: [
                .unknownProduct, .notAutoRenewable, .offerNotOpen, .unknownOrder, .guestMerged, .tooManyRequests,
                .noInAppPurchaseKey,
            ]),
        Endpoint(
            method: .post, path: Paths.introductoryOffers, id: "signIntroductoryOffer", tag: .offers,
            action: Server.signIntroductoryOffer, summary: "Sign a customer's eligibility for the introductory offer",
            description: "Replaces StoreKit's own decision about eligibility. \(oneUse)", caller: .backend,
            body: .json("IntroductoryOffer"), answers: [.ok("Signed.", "IntroductoryOfferReply")],
            refusals: [.unknownProduct, .notAutoRenewable, .noInAppPurchaseKey]),
    ]

    private static let oneUse = """
        The backend decides who gets an offer; Till signs the offer that it names. A signature is for one purchase \
        attempt. A repeated request with the same `Idempotency-Key` returns the same signature, \
        which may be used or expired by then: use a new key for every attempt.
        """

    static let shopBodies: BodyTable = [
        Body(
            "PromotionalOffer", PromotionalOfferBody.self,
            "The offer to sign. At most one of `orderId`, `appAccountToken` and `applicationUsername`."
        ): [
            "productId": "The id of an auto-renewable subscription in the catalogue.",
            "offerId": .name("The offer's id in App Store Connect: visible ASCII.", 100).unchecked,
            "form": "The form of the signature; `classic` if absent.",
            "orderId": "The order to be paid; it must be for this product.",
            "userId": .name("The user whose order it must be; only beside `orderId`.", 128).unchecked,
            "appAccountToken": "The `appAccountToken` of the purchase. Form `classic` only.",
            "applicationUsername": .name(
                "The `applicationUsername` of a StoreKit 1 purchase; signed in lower case. Form `classic` only.", 255
            ).unchecked,
            "transactionId": customerTransaction,
        ],
        Body(
            "PromotionalOfferReply", PromotionalOfferReply.self,
            "A signed promotional offer: `compactJWS` in the form `jws`, all other members in the form `classic`."
        ): [
            "form": "The form from the request.", "productId": "The product from the request.",
            "offerId": "The offer from the request.",
            "compactJWS": "The argument of StoreKit 2's `promotionalOffer(_:compactJWS:)`.",
            "keyId": "The In-App Purchase key's id.", "nonce": "The nonce, for one use.",
            "timestamp": "The time of signing in milliseconds since 1970, as StoreKit takes it.",
            "signature": "Base64; StoreKit 2 takes the bytes, StoreKit 1 the text.",
            "account": """
            The `appAccountToken` or `applicationUsername` that the purchase must carry; empty for neither.
            """,
            "expiresAt": "The time from which Apple refuses the signature.",
        ],
        Body("IntroductoryOffer", IntroductoryOfferBody.self, "A customer's eligibility for the introductory offer."): [
            "productId": "The id of an auto-renewable subscription in the catalogue.",
            "allowed": "Whether the customer is eligible.",
            "transactionId": customerTransaction,
        ],
        Body("IntroductoryOfferReply", IntroductoryOfferReply.self, "The signed eligibility."): [
            "productId": "The product from the request.", "allowed": "The eligibility from the request.",
            "transactionId": customerTransaction,
            "compactJWS": "The argument of StoreKit 2's `introductoryOfferEligibility(compactJWS:)`.",
        ],
        Body("Products", ProductsReply.self, "The catalogue."): ["data": "The products."],
        Body("Product", ProductReply.self, "A product, and what its buyer gets."): [
            "id": "The product's id in App Store Connect.", "type": "The product's type in Apple's spelling.",
            "name": """
            The product's name in the first language of `Accept-Language` that the catalogue has; without one, in \
            English, or in the first language by its tag.
            """,
            "prices": "List prices in other currencies, in minor units; absent if the catalogue has none.",
            "points": .always("The points for one unit, by kind."),
            "entitlement": "The lasting right that a buyer gets, if any.",
            "promotionalOffers": "The promotional offers that users may request; absent if there are none.",
        ],
        Body(
            "ProductNames", ProductNames.self, "A product's names by language tag (BCP 47).",
            schema: [
                "type": "object", "required": ["en", "zh"], "additionalProperties": ["type": "string"],
                "properties": [
                    "en": [
                        "type": "string", "description": "The English name, or the name that is shown in its place.",
                    ],
                    "zh": [
                        "type": "string", "description": "The Chinese name, or the name that is shown in its place.",
                    ],
                ],
            ]): [:],
        Body("Text", LocalizedText.self, "A name or a sentence, in both languages."): [
            "en": "The text in English.", "zh": "The text in Chinese.",
        ],
        Body("Money", Money.self, "An amount of money."): [
            "amount": "Minor units: ¥6.00 is 600 CNY, ¥120 is 120 JPY.", "currency": "ISO 4217.",
        ],
    ]

    private static let customerTransaction = Member.pattern(
        "Any transaction of the customer; without a purchase, the customer's `appTransactionId`.", "^[0-9]{1,20}$")

    static let shopExamples: [String: JSONValue] = [
        "Products": [
            "data": [
                [
                    "id": "com.example.learn.points60", "type": "Consumable", "name": "60 points",
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
