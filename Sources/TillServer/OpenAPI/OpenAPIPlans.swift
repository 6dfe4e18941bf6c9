import TillAPI
import TillBilling
import TillJSON

extension OpenAPI {
    private static let previewExample: JSONValue = [
        "at": "2026-01-16T00:00:00.000Z", "plan": "premium_monthly", "productId": "com.example.cloud.premium_monthly",
        "change": "upgrade", "price": ["amount": 699, "currency": "USD"],
        "dailyPrice": ["amount": 23, "currency": "USD", "exact": "233/10"],
        "current": [
            [
                "plan": "basic_monthly", "productId": "com.example.cloud.basic_monthly", "origin": "bought",
                "fate": "converted", "transactionId": "2000000356937281", "paid": ["amount": 299, "currency": "USD"],
                "boughtSeconds": 2_592_000, "remainingSeconds": 1_296_000, "startsAt": "2026-01-01T00:00:00.000Z",
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
    ]

    static let planOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .post, path: Paths.planPreview, id: "previewPlan", tag: .plans,
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
            caller: .app, parameters: [.environment],
            body: OpenAPIOperation.Body(
                "PlanPreview", example: ["planId": "premium_monthly", "at": "2026-01-16T00:00:00.000Z"]),
            answers: [
                OpenAPIOperation.Answer(200, "The preview.", "PlanPreviewReply", example: previewExample)
            ],
            refusals: [.forbidden, .unknownProduct, .quantityNotAllowed])
    ]

    static let planSchemas: [String: JSONValue] = [
        "PlanTerms": OpenAPISchema.object(
            "The service a product sells for a time.",
            [
                "id": OpenAPISchema.text("The plan's id, the same for all products that sell it."),
                "length": OpenAPISchema.text("ISO 8601, one unit: `P1M` is 30 days, `P1Y` 365."),
                "rank": OpenAPISchema.text("What service it is, whatever it costs and however long it lasts."),
                "scope": OpenAPISchema.words(
                    "Whom one purchase is for: all of the account, which is meant if it is absent, or one device.",
                    PlanScope.allCases.map(\.rawValue)),
            ], optional: ["rank", "scope"]),
        "PlanPreview": OpenAPISchema.object(
            "What would be bought.",
            [
                "userId": OpenAPISchema.name("Who buys; a backend must say.", maximum: Int64(UserID.maximumLength)),
                "planId": OpenAPISchema.name(
                    "The product's id, with or without the bundle id before it; or the plan's.", maximum: 255),
                "quantity": OpenAPISchema.integer("1 if absent.", 1...10),
                "at": OpenAPISchema.time(
                    "The moment of the purchase; now if absent. What was bought later is left out."),
                "deviceId": OpenAPISchema.name(
                    "The device that the order would name. Needed for a plan whose scope is device.", maximum: 128),
            ], optional: ["userId", "quantity", "at", "deviceId"]),
        "PlanPreviewReply": previewReply, "PlanRemainder": remainder,
        "ExactMoney": OpenAPISchema.object(
            "An amount that need not be whole.",
            [
                "amount": OpenAPISchema.integer("Minor units, rounded to the nearest, a half up."),
                "currency": OpenAPISchema.text("ISO 4217."),
                "exact": OpenAPISchema.text("Minor units as a fraction in lowest terms, `299/2`, or a whole number."),
            ]),
        "Explanation": OpenAPISchema.object(
            "The arithmetic, line by line.",
            [
                "en": OpenAPISchema.list("In English.", of: ["type": "string"]),
                "zh": OpenAPISchema.list("In Chinese.", of: ["type": "string"]),
            ]),
    ]

    private static let previewReply = OpenAPISchema.object(
        "What buying a plan at one moment comes to.",
        [
            "at": OpenAPISchema.time("The moment it was computed for."),
            "plan": OpenAPISchema.text("The plan's id."), "productId": OpenAPISchema.text("What to buy."),
            "change": OpenAPISchema.words(
                "What the purchase is to the service there is; `change` is the same service by another plan.",
                Proration.Change.allCases.map(\.rawValue)),
            "price": ref("Money"), "dailyPrice": ref("ExactMoney"),
            "current": OpenAPISchema.list("What there is, of all devices.", of: ref("PlanRemainder")),
            "balance": ref("ExactMoney"), "usedPerDay": ref("ExactMoney"),
            "usedUntil": OpenAPISchema.time(
                "`usedPerDay` is what each day of waiting takes from the balance, until then. Both are absent if "
                    + "waiting takes nothing."),
            "days": OpenAPISchema.integer("Whole days in `seconds`, for people."),
            "seconds": OpenAPISchema.integer("Time that is kept and converted, rounded up."),
            "boughtSeconds": OpenAPISchema.integer("Time that is bought, on top of it."),
            "expiresAt": OpenAPISchema.time("The first moment without the plan."),
            "deviceIds": OpenAPISchema.list(
                "What it is for then; absent for all of the account.", of: ["type": "string"]),
            "explanation": ref("Explanation"),
        ], optional: ["usedPerDay", "usedUntil", "deviceIds"])

    private static let remainder = OpenAPISchema.object(
        "What is left of one period of service.",
        [
            "plan": OpenAPISchema.text("The plan's id."), "productId": OpenAPISchema.text("What was bought."),
            "origin": OpenAPISchema.words(
                "Bought, or converted from other plans earlier.", ServicePeriod.Origin.allCases.map(\.rawValue)),
            "fate": OpenAPISchema.words(
                "What the purchase does to it; `kept` is the same plan, `untouched` goes on by itself: a trial, or "
                    + "what another device has.",
                Proration.Remainder.Fate.allCases.map(\.rawValue)),
            "deviceId": OpenAPISchema.text("As the order named it."),
            "transactionId": OpenAPISchema.text("Whose purchase it is."), "paid": ref("Money"),
            "boughtSeconds": OpenAPISchema.integer("What was bought for that."),
            "remainingSeconds": OpenAPISchema.integer(
                "Rounded up; exactly it is `endsAt` less the later one of `startsAt` and `at`."),
            "startsAt": OpenAPISchema.time("When it begins."),
            "endsAt": OpenAPISchema.time("The first moment after it."),
            "value": ref("ExactMoney"),
        ], optional: ["deviceId", "transactionId"])
}
