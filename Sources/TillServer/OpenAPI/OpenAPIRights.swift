import TillAPI
import TillBilling
import TillJSON
import TillLedger

/// What users may use, and their subscriptions.
extension OpenAPI {
    private static let lasting: JSONValue = [
        "entitlement": "pro", "productId": "com.example.cloud.pro", "kind": "lasting", "state": "active",
        "why": "bought", "sentence": ["en": "Bought, for good.", "zh": "已购买，永久有效。"],
        "since": "2026-01-01T08:30:02.456Z", "transactionId": "2000000356937280",
    ]

    private static let service: JSONValue = [
        "entitlement": "premium", "productId": "com.example.cloud.premium_monthly", "kind": "service",
        "state": "active", "why": "paid",
        "sentence": ["en": "Paid for until 2026-02-21.", "zh": "已付费，有效至 2026-02-21。"],
        "plan": "premium_monthly", "since": "2026-01-16T00:00:00.000Z", "expiresAt": "2026-02-21T09:59:30.000Z",
        "transactionId": "2000000356937285",
    ]

    private static let answer: JSONValue = [
        "entitlement": "premium", "allowed": true, "until": "2026-02-21T09:59:30.000Z", "why": "paid",
        "sentence": ["en": "Paid for until 2026-02-21.", "zh": "已付费，有效至 2026-02-21。"], "sources": [service],
    ]

    private static let subscription: JSONValue = [
        "originalTransactionId": "2000000356937290", "transactionId": "2000000356937311",
        "productId": "com.example.cloud.premium_monthly_auto", "state": "active",
        "stateName": ["en": "Active", "zh": "生效中"], "title": ["en": "Premium Monthly", "zh": "高级版月付"],
        "entitlement": "premium", "plan": "premium_monthly", "group": "20970462",
        "since": "2026-01-16T00:00:00.000Z", "expiresAt": "2026-03-16T00:00:00.000Z", "willRenew": true,
        "renewsAt": "2026-03-16T00:00:00.000Z", "renewalProductId": "com.example.cloud.premium_monthly_auto",
        "renewalPrice": ["amount": 699, "currency": "USD"], "isFamilyShared": false,
    ]

    static let rightOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .get, path: Paths.entitlements, id: "listEntitlements", tag: .plans,
            summary: "List what a user may use now",
            description: """
                Rights for good, service with plans that are bought for a time, and subscriptions. What Apple took \
                back is not there, nor what has expired. A subscription counts until the date that Apple signed last, \
                a grace period included; while Apple tries to charge without one, it does not.
                """,
            caller: .app, parameters: [.userID, .environment],
            answers: [
                OpenAPIOperation.Answer(
                    200, "The rights, the oldest first. A user nobody knows has none.", "Entitlements",
                    example: ["data": [lasting, service]])
            ],
            refusals: [.forbidden, .invalidField]),
        OpenAPIOperation(
            method: .get, path: Paths.entitlement, id: "readEntitlement", tag: .plans,
            summary: "Say whether a user may use one thing now, until when, and why",
            description: """
                One call for the gate in front of a feature. `why` says it to programs and `sentence` to people, also \
                why not: never bought, expired, refunded, or not charged. A plan with the scope `device` opens the \
                gate for its own `deviceId` alone; for another one, or without one, `why` is `other_device`. A name \
                that the catalogue does not have, and the user neither, is refused.
                """,
            caller: .app, parameters: [.userID, .entitlement, .deviceID, .environment],
            answers: [
                OpenAPIOperation.Answer(200, "Whether, until when, and why.", "EntitlementAnswer", example: answer)
            ],
            refusals: [.forbidden, .invalidField, .unknownEntitlement]),
        OpenAPIOperation(
            method: .get, path: Paths.subscriptions, id: "listSubscriptions", tag: .plans,
            summary: "List a user's subscriptions",
            description: """
                All auto-renewable subscriptions that the user has or had, as they stand now, derived from what Apple \
                signed: for each transaction and for the renewal the newest copy counts, in whatever order they came. \
                At most 200.
                """,
            caller: .app, parameters: [.userID, .environment],
            answers: [
                OpenAPIOperation.Answer(
                    200, "The subscriptions, the newest first. A user nobody knows has none.", "Subscriptions",
                    example: ["data": [subscription]])
            ],
            refusals: [.forbidden, .invalidField]),
    ]

    static let rightSchemas: [String: JSONValue] = [
        "Entitlements": OpenAPISchema.object(
            "What a user may use now.",
            ["data": OpenAPISchema.list("The rights.", of: ref("Entitlement")), "sandbox": OpenAPISchema.sandboxMark],
            optional: ["sandbox"]),
        "Entitlement": OpenAPISchema.object(
            "One right.",
            [
                "entitlement": OpenAPISchema.text("Its name in the catalogue; a plan without one gives its rank."),
                "productId": OpenAPISchema.text("Of the newest purchase it comes from."),
                "kind": OpenAPISchema.words(
                    "For good; for a time that the server keeps; for a period that Apple keeps.",
                    EntitlementReply.Kind.allCases.map(\.rawValue)),
                "state": state, "why": why, "sentence": ref("Text"),
                "plan": OpenAPISchema.text("The plan's id."),
                "deviceId": OpenAPISchema.text("As the order named it."),
                "deviceIds": OpenAPISchema.list(
                    "What a service is for; absent for all of the account.", of: ["type": "string"]),
                "since": OpenAPISchema.time(
                    "When it was bought; of a service, since when there is no gap; of a subscription, when the "
                        + "customer subscribed."),
                "expiresAt": OpenAPISchema.time(
                    "The first moment without it, a grace period included; absent for what lasts, past for what is "
                        + "over."),
                "willRenew": OpenAPISchema.truth(
                    "Of a subscription: whether it goes on then. Absent while nobody knows."),
                "transactionId": OpenAPISchema.text("The newest purchase it comes from."),
                "originalTransactionId": OpenAPISchema.text("Of a subscription: its identity."),
            ], optional: ["plan", "deviceId", "deviceIds", "expiresAt", "willRenew", "originalTransactionId"]),
        "EntitlementAnswer": OpenAPISchema.object(
            "Whether a user may use one thing now.",
            [
                "entitlement": OpenAPISchema.text("As it was asked for."),
                "allowed": OpenAPISchema.truth("A grace period allows, a billing retry does not."),
                "until": OpenAPISchema.time(
                    "The first moment without it, to come or past; absent for what lasts and what never was."),
                "why": why, "sentence": ref("Text"),
                "sources": OpenAPISchema.list(
                    "What it comes from, or came from: what allows it first. At most 50.", of: ref("Entitlement")),
                "sandbox": OpenAPISchema.sandboxMark,
            ], optional: ["until", "sandbox"]),
        "Subscriptions": OpenAPISchema.object(
            "A user's subscriptions.",
            [
                "data": OpenAPISchema.list("At most 200.", of: ref("Subscription")),
                "sandbox": OpenAPISchema.sandboxMark,
            ],
            optional: ["sandbox"]),
        "Subscription": subscriptionSchema,
        "SubscriptionOffer": OpenAPISchema.object(
            "What makes a period cheaper.",
            [
                "type": OpenAPISchema.text(
                    "`introductory`, `promotional`, `offer_code`, `win_back`, or a number that only Apple knows yet."),
                "id": OpenAPISchema.text("As in App Store Connect; introductory offers have none."),
                "discount": OpenAPISchema.text("Apple's word: `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT`."),
            ], optional: ["id", "discount"]),
    ]

    private static let state = OpenAPISchema.words(
        "`active`: paid for; `cancelled`: paid for, and renewal is off; `grace`: Apple could not charge and still "
            + "gives service; `billing_retry`: Apple tries to charge, without service; `expired`; `revoked`: refunded, "
            + "or a family's access taken back; `upgraded`: another purchase took its place.",
        Subscription.State.allCases.map(\.rawValue))

    private static let why = OpenAPISchema.words(
        "Why it may be used, or not. More may come.", RightReason.allCases.map(\.rawValue))

    private static let subscriptionSchema = OpenAPISchema.object(
        "A subscription: all its periods under one original transaction.",
        [
            "originalTransactionId": OpenAPISchema.text("Its identity."),
            "transactionId": OpenAPISchema.text("Of the period that is used, or was last."),
            "productId": OpenAPISchema.text("Of that period."), "state": state,
            "stateName": ref("Text"), "title": ref("Text"),
            "entitlement": OpenAPISchema.text("What it gives."), "plan": OpenAPISchema.text("The plan's id."),
            "group": OpenAPISchema.text("The subscription group's identifier."),
            "since": OpenAPISchema.time("When the customer subscribed: first, or again after a lapse."),
            "expiresAt": OpenAPISchema.time(
                "The first moment without service, a grace period included; past for what is over."),
            "graceUntil": OpenAPISchema.time("While it is in grace."),
            "willRenew": OpenAPISchema.truth("Absent while nobody knows."),
            "renewsAt": OpenAPISchema.time("If it will, and is not late."),
            "renewalProductId": OpenAPISchema.text("What it renews as: another one after a change that waits."),
            "renewalPrice": ref("Money"),
            "priceIncrease": OpenAPISchema.words(
                "A higher price to come: consent is asked for, or given or not needed.",
                Subscription.PriceIncrease.allCases.map(\.rawValue)),
            "offer": ref("SubscriptionOffer"), "renewalOffer": ref("SubscriptionOffer"),
            "isFamilyShared": OpenAPISchema.truth("Somebody else of the family pays."),
            "reason": OpenAPISchema.words("Why it is over.", Subscription.Expiry.allCases.map(\.rawValue)),
        ],
        optional: [
            "entitlement", "plan", "group", "graceUntil", "willRenew", "renewsAt", "renewalProductId", "renewalPrice",
            "priceIncrease", "offer", "renewalOffer", "reason",
        ])
}

extension OpenAPIOperation.Parameter {
    static let entitlement = path(
        "entitlement", OpenAPISchema.name("A right's name in the catalogue.", maximum: 128),
        "The right's name, percent-encoded.")
    static let deviceID = query(
        "deviceId", OpenAPISchema.name("A device as orders name it.", maximum: 128),
        "The device that asks. A plan for single devices counts only for those that it was bought for.")
}
