import TillAPI
import TillBilling
import TillJSON
import TillLedger

/// Entitlements, subscriptions, and previews of plan purchases.
extension OpenAPI {
    static let planEndpoints: [Endpoint] = [
        Endpoint(
            method: .get, path: Paths.entitlements, id: "listEntitlements", tag: .plans,
            action: Server.listEntitlements, summary: "List a user's active entitlements",
            description: """
                Lasting rights, service from plans that are bought for a time, and subscriptions. Refunded and expired \
                entitlements are not listed. A subscription counts until the date that Apple signed last, including a \
                grace period; a billing retry without a grace period does not count.
                """,
            caller: .app, parameters: [.environment],
            answers: [.ok("The rights, oldest first. An unknown user has none.", "Entitlements")]),
        Endpoint(
            method: .get, path: Paths.entitlement, id: "readEntitlement", tag: .plans, action: Server.readEntitlement,
            summary: "Check whether a user has one entitlement now",
            description: """
                One call for a feature gate. `why` gives the reason for programs and `sentence` for people, also for a \
                denial: never bought, expired, refunded, or not charged. A plan with the scope `device` allows its own \
                `deviceId` only; for another device, or without `deviceId`, `why` is `other_device`. A name that is \
                neither in the catalogue nor among the user's entitlements is refused.
                """,
            caller: .app,
            parameters: [
                .path(
                    "entitlement", .name("A right's name in the catalogue.", 128),
                    "The right's name, percent-encoded."),
                .query(
                    "deviceId", .name("A device as orders name it.", 128),
                    "The requesting device. A plan with the scope `device` counts only for its own devices."
                ),
                .environment,
            ],
            answers: [.ok("Whether access is allowed, until when, and why.", "EntitlementAccess")],
            refusals: [.unknownEntitlement]),
        Endpoint(
            method: .get, path: Paths.subscriptions, id: "listSubscriptions", tag: .plans,
            action: Server.listSubscriptions, summary: "List a user's subscriptions",
            description: """
                All auto-renewable subscriptions that the user has or had, with their current state, derived from \
                Apple's signed data: for each transaction and for the renewal info the newest copy counts, in any \
                order of arrival. At most 200.
                """,
            caller: .app, parameters: [.environment],
            answers: [.ok("The subscriptions, newest first. An unknown user has none.", "Subscriptions")]),
        Endpoint(
            method: .post, path: Paths.planPreview, id: "previewPlan", tag: .plans, action: Server.previewPlan,
            summary: "Preview the purchase of a plan",
            description: """
                The rest of the user's other plans, on all devices together, is converted into time of the new plan: \
                balance = Σ price paid × remaining time ÷ bought time; days = balance ÷ daily price. A month of plan \
                has 30 days and a year 365. The calculation is exact except for one rounding at the end, up to whole \
                seconds. The same plan bought again extends; a plan with the scope `device` runs separately on each \
                device. A trial has no value and runs until its end; periods of auto-renewable subscriptions are \
                managed by Apple and never converted. A payment in another currency than the catalogue's plans counts \
                with the list price of its order. Nothing is stored: a purchase at the moment `at` has exactly this \
                result, and a purchase at another moment has the result of a preview for that moment. To keep the \
                previewed result although time passes, open the order with this preview's `at` and `expiresAt`.
                """,
            caller: .app, parameters: [.environment], body: .json("PlanPreview"), isRepeatable: false,
            answers: [.ok("The preview.", "PlanPreviewReply")],
            refusals: [.forbidden, .unknownProduct, .quantityNotAllowed]),
    ]

    private static let subscriptionState = Member.oneOf(
        """
        `active`: paid; `cancelled`: paid, renewal is off; `grace`: the charge failed and the grace period gives \
        service; `billing_retry`: the charge failed and Apple retries it, without service; `expired`; `revoked`: \
        refunded, or Family Sharing ended; `upgraded`: replaced by another purchase.
        """, Subscription.State.self)

    private static let rightReason = Member.oneOf(
        "The reason for allowing or denying use. New reasons may be added.", RightReason.self)

    static let planBodies: BodyTable = [
        Body("Entitlements", EntitlementsReply.self, "A user's active entitlements."): ["data": "The entitlements."],
        Body("Entitlement", EntitlementReply.self, "One entitlement."): [
            "entitlement": "The entitlement's name in the catalogue; for a plan without one, the plan's rank.",
            "productId": "The product of the newest purchase behind it.",
            "kind": "The kind: lasting, a service that the server times, or a subscription that Apple times.",
            "state": subscriptionState, "why": rightReason, "plan": "The plan's id.",
            "deviceId": "The device id from the order.",
            "deviceIds": "The devices of a service; absent if it is for the whole account.",
            "since": """
            The time of the purchase; for a service, the start of its time without a gap; for a subscription, the \
            time at which the customer subscribed.
            """,
            "expiresAt": """
            The first moment without it, after any grace period; absent for a lasting entitlement, in the past for an \
            ended one.
            """,
            "willRenew": "For a subscription: whether it renews then. Absent while unknown.",
            "transactionId": "The newest transaction behind it.",
            "originalTransactionId": "For a subscription: its original transaction id, which identifies it.",
        ],
        Body("EntitlementAccess", EntitlementAccessReply.self, "Whether a user has one entitlement now."): [
            "entitlement": "The requested entitlement.",
            "allowed": "Whether use is allowed. A grace period allows it, a billing retry does not.",
            "until": "The first moment without it, future or past; absent if it is lasting or was never bought.",
            "why": rightReason,
            "sources": "The entitlements behind the result, present and past, the allowing ones first. At most 50.",
        ],
        Body("Subscriptions", SubscriptionsReply.self, "A user's subscriptions."): [
            "data": "The subscriptions, at most 200."
        ],
        Body(
            "Subscription", SubscriptionReply.self, "A subscription: all its periods under one original transaction."
        ): [
            "originalTransactionId": "The original transaction id, which identifies the subscription.",
            "transactionId": "The transaction of the current period, or of the last one.",
            "productId": "The product of that period.", "state": subscriptionState,
            "entitlement": "The entitlement that it gives.",
            "plan": "The plan's id.", "group": "The subscription group's identifier.",
            "since": "The time at which the customer subscribed, first or again after a lapse.",
            "expiresAt": "The first moment without service, after any grace period; in the past for an ended one.",
            "graceUntil": "The end of the grace period, during one.",
            "willRenew": "Whether it renews. Absent while unknown.",
            "renewsAt": "The time of the next renewal, if it renews and is not late.",
            "renewalProductId": "The product of the next renewal; another one after a scheduled change.",
            "priceIncrease": .oneOf(
                "The state of a price increase: consent is requested, or is given or not needed.",
                Subscription.PriceIncrease.self),
            "isFamilyShared": "Whether another family member pays.",
            "reason": .oneOf("The reason for the end.", Subscription.Expiry.self),
        ],
        Body("SubscriptionOffer", SubscriptionOfferReply.self, "The offer of a period."): [
            "type": "`introductory`, `promotional`, `offer_code`, `win_back`, or Apple's number for a newer type.",
            "id": "The offer's id in App Store Connect; introductory offers have none.",
            "discount": "Apple's value: `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT`.",
        ],
        Body("PlanTerms", PlanTerms.self, "The service that a product sells for a time."): [
            "id": "The plan's id, the same for all products that sell it.",
            "length": "ISO 8601, one unit: `P1M` is 30 days, `P1Y` 365.",
            "rank": "The service that the plan gives, independent of its price and length.",
            "scope": "Whether one purchase is for the whole account (the default) or for one device.",
        ],
        Body("PlanPreview", PlanPreviewBody.self, "The purchase to preview."): [
            "userId": .name("The buyer. Required from a backend.", UserID.maximumLength).unchecked,
            "planId": .name("The product's id, with or without the bundle id before it, or the plan's id.", 255),
            "quantity": .integer("1 if absent.", 1...10, else: .quantityNotAllowed),
            "at": "The moment of the purchase; now if absent. Later purchases are left out.",
            "deviceId": .name("The device id of the order. Required for a plan whose scope is `device`.", 128),
        ],
        Body("PlanPreviewReply", PlanPreviewReply.self, "The result of buying a plan at one moment."): [
            "at": "The moment of the calculation.", "plan": "The plan's id.", "productId": "The product to buy.",
            "change": .oneOf(
                "The effect on the present service; `change` is the same service by another plan.",
                Proration.Change.self),
            "current": "The present periods of service on all devices.",
            "usedUntil": """
            Until this time, each day of waiting reduces the balance by `usedPerDay`. Both are absent if waiting does \
            not reduce it.
            """,
            "days": "The whole days in `seconds`, for display.",
            "seconds": "The kept and converted time in seconds, rounded up.",
            "boughtSeconds": "The newly bought time in seconds, in addition to `seconds`.",
            "expiresAt": "The first moment without the plan.",
            "deviceIds": "The devices of the service after the purchase; absent if it is for the whole account.",
        ],
        Body("PlanRemainder", PlanRemainderReply.self, "The rest of one period of service."): [
            "plan": "The plan's id.", "productId": "The product that was bought.",
            "origin": .oneOf("The origin: bought, or converted from other plans earlier.", ServicePeriod.Origin.self),
            "treatment": .oneOf(
                """
                The effect of the purchase on this period; `kept`: the same plan; `untouched`: it continues \
                separately, as a trial does and the service of another device.
                """, Proration.Remainder.Treatment.self),
            "deviceId": "The device id from the order.", "transactionId": "The transaction that paid the period.",
            "boughtSeconds": "The time bought with that transaction, in seconds.",
            "remainingSeconds": "`endsAt` minus the later of `startsAt` and `at`, in seconds, rounded up.",
            "startsAt": "The start of the period.", "endsAt": "The first moment after the period.",
        ],
        Body("ExactMoney", ExactMoney.self, "An amount that may be fractional."): [
            "amount": "Minor units, rounded to the nearest, half up.", "currency": "ISO 4217.",
            "exact": "Minor units as a fraction in lowest terms, such as `299/2`, or a whole number.",
        ],
        Body("Explanation", PlanPreviewReply.Explanation.self, "The calculation, line by line."): [
            "en": "The lines in English.", "zh": "The lines in Chinese.",
        ],
    ]

    static let planExamples: [String: JSONValue] = [
        "Entitlements": ["data": [lasting, service]],
        "EntitlementAccess": [
            "entitlement": "premium", "allowed": true, "until": "2026-02-21T09:59:30.000Z", "why": "paid",
            "sentence": ["en": "Paid for until 2026-02-21.", "zh": "已付费，有效至 2026-02-21。"], "sources": [service],
        ],
        "Subscriptions": ["data": [subscription]],
        "PlanPreview": ["planId": "premium_monthly", "at": "2026-01-16T00:00:00.000Z"],
        "PlanPreviewReply": [
            "at": "2026-01-16T00:00:00.000Z", "plan": "premium_monthly",
            "productId": "com.example.cloud.premium_monthly", "change": "upgrade",
            "price": ["amount": 699, "currency": "USD"],
            "dailyPrice": ["amount": 23, "currency": "USD", "exact": "233/10"],
            "current": [
                [
                    "plan": "basic_monthly", "productId": "com.example.cloud.basic_monthly", "origin": "bought",
                    "treatment": "converted", "transactionId": "2000000356937281",
                    "paid": ["amount": 299, "currency": "USD"], "boughtSeconds": 2_592_000,
                    "remainingSeconds": 1_296_000, "startsAt": "2026-01-01T00:00:00.000Z",
                    "endsAt": "2026-01-31T00:00:00.000Z",
                    "value": ["amount": 150, "currency": "USD", "exact": "299/2"],
                ]
            ],
            "balance": ["amount": 150, "currency": "USD", "exact": "299/2"],
            "usedPerDay": ["amount": 10, "currency": "USD", "exact": "299/30"], "usedUntil": "2026-01-31T00:00:00.000Z",
            "days": 6, "seconds": 554_370, "boughtSeconds": 2_592_000, "expiresAt": "2026-02-21T09:59:30.000Z",
            "explanation": [
                "en": ["Basic Monthly: 2.99 USD × 15 d ÷ 30 d = 1.495 USD"],
                "zh": ["基础版月付：2.99 USD × 15 天 ÷ 30 天 = 1.495 USD"],
            ],
        ],
    ]

    private static let lasting: JSONValue = [
        "entitlement": "pro", "productId": "com.example.cloud.pro", "kind": "lasting", "state": "active",
        "why": "bought", "sentence": ["en": "Bought permanently.", "zh": "已购买，永久有效。"],
        "since": "2026-01-01T08:30:02.456Z", "transactionId": "2000000356937280",
    ]

    private static let service: JSONValue = [
        "entitlement": "premium", "productId": "com.example.cloud.premium_monthly", "kind": "service",
        "state": "active", "why": "paid",
        "sentence": ["en": "Paid for until 2026-02-21.", "zh": "已付费，有效至 2026-02-21。"],
        "plan": "premium_monthly", "since": "2026-01-16T00:00:00.000Z", "expiresAt": "2026-02-21T09:59:30.000Z",
        "transactionId": "2000000356937285",
    ]

    private static let subscription: JSONValue = [
        "originalTransactionId": "2000000356937290", "transactionId": "2000000356937311",
        "productId": "com.example.cloud.premium_monthly_auto", "state": "active",
        "stateName": ["en": "Active", "zh": "生效中"], "title": ["en": "Premium Monthly", "zh": "高级版月付"],
        "entitlement": "premium", "plan": "premium_monthly", "group": "20970462", "since": "2026-01-16T00:00:00.000Z",
        "expiresAt": "2026-03-16T00:00:00.000Z", "willRenew": true, "renewsAt": "2026-03-16T00:00:00.000Z",
        "renewalProductId": "com.example.cloud.premium_monthly_auto",
        "renewalPrice": ["amount": 699, "currency": "USD"], "isFamilyShared": false,
    ]
}
