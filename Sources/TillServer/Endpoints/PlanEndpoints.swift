import TillAPI
import TillBilling
import TillJSON
import TillLedger

/// Entitlements, subscriptions, and previews of plan purchases.
extension OpenAPI {
    static let planEndpoints: [Endpoint] = [
        Endpoint(
            method: .get, path: Paths.entitlements, id: "listEntitlements", tag: .plans,
            action: Server.listEntitlements, summary: "List what a user may use now",
            description: """
                Rights for good, service with plans that are bought for a time, and subscriptions. What Apple took \
                back is not there, nor what has expired. A subscription counts until the date that Apple signed last, \
                a grace period included; while Apple tries to charge without one, it does not.
                """,
            caller: .app, parameters: [.environment],
            answers: [.ok("The rights, the oldest first. A user nobody knows has none.", "Entitlements")]),
        Endpoint(
            method: .get, path: Paths.entitlement, id: "readEntitlement", tag: .plans, action: Server.readEntitlement,
            summary: "Say whether a user may use one thing now, until when, and why",
            description: """
                One call for the gate in front of a feature. `why` says it to programs and `sentence` to people, also \
                why not: never bought, expired, refunded, or not charged. A plan with the scope `device` opens the \
                gate for its own `deviceId` alone; for another one, or without one, `why` is `other_device`. A name \
                that the catalogue does not have, and the user neither, is refused.
                """,
            caller: .app,
            parameters: [
                .path(
                    "entitlement", .name("A right's name in the catalogue.", 128),
                    "The right's name, percent-encoded."),
                .query(
                    "deviceId", .name("A device as orders name it.", 128),
                    "The device that asks. A plan for single devices counts only for those that it was bought for."),
                .environment,
            ],
            answers: [.ok("Whether, until when, and why.", "EntitlementAnswer")], refusals: [.unknownEntitlement]),
        Endpoint(
            method: .get, path: Paths.subscriptions, id: "listSubscriptions", tag: .plans,
            action: Server.listSubscriptions, summary: "List a user's subscriptions",
            description: """
                All auto-renewable subscriptions that the user has or had, as they stand now, derived from what Apple \
                signed: for each transaction and for the renewal the newest copy counts, in whatever order they came. \
                At most 200.
                """,
            caller: .app, parameters: [.environment],
            answers: [.ok("The subscriptions, the newest first. A user nobody knows has none.", "Subscriptions")]),
        Endpoint(
            method: .post, path: Paths.planPreview, id: "previewPlan", tag: .plans, action: Server.previewPlan,
            summary: "Say what buying a plan comes to",
            description: """
                What is left of the user's other plans is turned into time of the new one, of all devices together: \
                balance = Σ price paid × remaining time ÷ bought time; days = balance ÷ daily price. A \
                month of plan has 30 days and a year 365. All of it is exact, but for one rounding at the end, up to \
                whole seconds. The same plan bought again extends; one whose scope is the device runs for each \
                device by itself. A trial is worth nothing and runs out by itself; periods of auto-renewable \
                subscriptions are Apple's and never counted. What was not paid in the \
                currency of the catalogue's plans counts with the list price of its order. Nothing is stored: a \
                purchase at the moment `at` does exactly this, and one at another moment does what a preview for that \
                moment says. To have what was previewed although time passes, open the order with this preview's `at` \
                and `expiresAt`.
                """,
            caller: .app, parameters: [.environment], body: .json("PlanPreview"), isRepeatable: false,
            answers: [.ok("The preview.", "PlanPreviewReply")],
            refusals: [.forbidden, .unknownProduct, .quantityNotAllowed]),
    ]

    private static let subscriptionState = Member.words(
        """
        `active`: paid for; `cancelled`: paid for, and renewal is off; `grace`: Apple could not charge and still \
        gives service; `billing_retry`: Apple tries to charge, without service; `expired`; `revoked`: refunded, or a \
        family's access taken back; `upgraded`: another purchase took its place.
        """, Subscription.State.self)

    private static let rightReason = Member.words(
        "Why it may be used, or not. More may come.", RightReason.self)

    static let planBodies: BodyTable = [
        Body("Entitlements", EntitlementsReply.self, "What a user may use now."): ["data": "The rights."],
        Body("Entitlement", EntitlementReply.self, "One right."): [
            "entitlement": "Its name in the catalogue; a plan without one gives its rank.",
            "productId": "Of the newest purchase it comes from.",
            "kind": "For good; for a time that the server keeps; for a period that Apple keeps.",
            "state": subscriptionState, "why": rightReason, "plan": "The plan's id.",
            "deviceId": "As the order named it.", "deviceIds": "What a service is for; absent for all of the account.",
            "since": """
            When it was bought; of a service, since when there is no gap; of a subscription, when the customer \
            subscribed.
            """,
            "expiresAt": """
            The first moment without it, a grace period included; absent for what lasts, past for what is over.
            """,
            "willRenew": "Of a subscription: whether it goes on then. Absent while nobody knows.",
            "transactionId": "The newest purchase it comes from.",
            "originalTransactionId": "Of a subscription: its identity.",
        ],
        Body("EntitlementAnswer", EntitlementAnswer.self, "Whether a user may use one thing now."): [
            "entitlement": "As it was asked for.", "allowed": "A grace period allows, a billing retry does not.",
            "until": "The first moment without it, to come or past; absent for what lasts and what never was.",
            "why": rightReason, "sources": "What it comes from, or came from: what allows it first. At most 50.",
        ],
        Body("Subscriptions", SubscriptionsReply.self, "A user's subscriptions."): ["data": "At most 200."],
        Body(
            "Subscription", SubscriptionReply.self, "A subscription: all its periods under one original transaction."
        ): [
            "originalTransactionId": "Its identity.", "transactionId": "Of the period that is used, or was last.",
            "productId": "Of that period.", "state": subscriptionState, "entitlement": "What it gives.",
            "plan": "The plan's id.", "group": "The subscription group's identifier.",
            "since": "When the customer subscribed: first, or again after a lapse.",
            "expiresAt": "The first moment without service, a grace period included; past for what is over.",
            "graceUntil": "While it is in grace.", "willRenew": "Absent while nobody knows.",
            "renewsAt": "If it will, and is not late.",
            "renewalProductId": "What it renews as: another one after a change that waits.",
            "priceIncrease": .words(
                "A higher price to come: consent is asked for, or given or not needed.",
                Subscription.PriceIncrease.self),
            "isFamilyShared": "Somebody else of the family pays.",
            "reason": .words("Why it is over.", Subscription.Expiry.self),
        ],
        Body("SubscriptionOffer", SubscriptionOfferReply.self, "What makes a period cheaper."): [
            "type": "`introductory`, `promotional`, `offer_code`, `win_back`, or a number that only Apple knows yet.",
            "id": "As in App Store Connect; introductory offers have none.",
            "discount": "Apple's word: `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT`.",
        ],
        Body("PlanTerms", PlanTerms.self, "The service a product sells for a time."): [
            "id": "The plan's id, the same for all products that sell it.",
            "length": "ISO 8601, one unit: `P1M` is 30 days, `P1Y` 365.",
            "rank": "What service it is, whatever it costs and however long it lasts.",
            "scope": "Whom one purchase is for: all of the account, which is meant if it is absent, or one device.",
        ],
        Body("PlanPreview", PlanPreviewBody.self, "What would be bought."): [
            "userId": .name("Who buys; a backend must say.", UserID.maximumLength).unchecked,
            "planId": .name("The product's id, with or without the bundle id before it; or the plan's.", 255),
            "quantity": .integer("1 if absent.", 1...10, else: .quantityNotAllowed),
            "at": "The moment of the purchase; now if absent. What was bought later is left out.",
            "deviceId": .name("The device that the order would name. Needed for a plan whose scope is device.", 128),
        ],
        Body("PlanPreviewReply", PlanPreviewReply.self, "What buying a plan at one moment comes to."): [
            "at": "The moment it was computed for.", "plan": "The plan's id.", "productId": "What to buy.",
            "change": .words(
                "What the purchase is to the service there is; `change` is the same service by another plan.",
                Proration.Change.self),
            "current": "What there is, of all devices.",
            "usedUntil": """
            `usedPerDay` is what each day of waiting takes from the balance, until then. Both are absent if waiting \
            takes nothing.
            """,
            "days": "Whole days in `seconds`, for people.", "seconds": "Time that is kept and converted, rounded up.",
            "boughtSeconds": "Time that is bought, on top of it.", "expiresAt": "The first moment without the plan.",
            "deviceIds": "What it is for then; absent for all of the account.",
        ],
        Body("PlanRemainder", PlanRemainderReply.self, "What is left of one period of service."): [
            "plan": "The plan's id.", "productId": "What was bought.",
            "origin": .words("Bought, or converted from other plans earlier.", ServicePeriod.Origin.self),
            "fate": .words(
                """
                What the purchase does to it; `kept` is the same plan, `untouched` goes on by itself: a trial, or what \
                another device has.
                """, Proration.Remainder.Fate.self),
            "deviceId": "As the order named it.", "transactionId": "Whose purchase it is.",
            "boughtSeconds": "What was bought for that.",
            "remainingSeconds": "Rounded up; exactly it is `endsAt` less the later one of `startsAt` and `at`.",
            "startsAt": "When it begins.", "endsAt": "The first moment after it.",
        ],
        Body("ExactMoney", ExactMoney.self, "An amount that need not be whole."): [
            "amount": "Minor units, rounded to the nearest, a half up.", "currency": "ISO 4217.",
            "exact": "Minor units as a fraction in lowest terms, `299/2`, or a whole number.",
        ],
        Body("Explanation", PlanPreviewReply.Explanation.self, "The arithmetic, line by line."): [
            "en": "In English.", "zh": "In Chinese.",
        ],
    ]

    static let planExamples: [String: JSONValue] = [
        "Entitlements": ["data": [lasting, service]],
        "EntitlementAnswer": [
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
                    "fate": "converted", "transactionId": "2000000356937281",
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
