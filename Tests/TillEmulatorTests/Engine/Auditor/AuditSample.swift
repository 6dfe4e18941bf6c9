import TillJSON

/// Five consistent months of four customers: trials, changes of plan, lapses, failures, refunds, a family.
enum AuditSample {
    static let record: AuditRecord = {
        var script = AuditScript()
        let events: [(day: Int64, happen: @Sendable (inout AuditScript) -> Void)] = anna + bert + carl + dora
        for event in events.enumerated().sorted(by: { ($0.element.day, $0.offset) < ($1.element.day, $1.offset) }) {
            script.day(event.element.day)
            event.element.happen(&script)
        }
        script.day(150)
        return script.record()
    }()

    typealias Event = (day: Int64, happen: @Sendable (inout AuditScript) -> Void)
    private static let day = AuditScript.day
    private static let start = AuditScript.start

    private static func sale(
        _ id: String, _ account: String, _ word: String,
        _ shape: @escaping @Sendable (inout AuditScript.Sale) -> Void = { _ in }
    ) -> @Sendable (inout AuditScript) -> Void {
        { script in
            var sale = AuditScript.Sale(id, account)
            shape(&sale)
            script.sell(sale, word)
        }
    }

    /// A trial, an upgrade, a cancelled cancellation, an extension; a lapse, a resubscription, and a reversed refund.
    private static let anna: [Event] = [
        (
            0,
            sale("100", "anna", "SUBSCRIBED/INITIAL_BUY") {
                $0.price = 0
                $0.more = ["offerType": 1, "offerDiscountType": "FREE_TRIAL", "offerPeriod": "P1M"]
            }
        ),
        (30, sale("101", "anna", "DID_RENEW") { ($0.original, $0.isRenewal) = ("100", true) }),
        (
            45,
            { script in
                script.change("101", ["isUpgraded": true])
                sale("102", "anna", "DID_CHANGE_RENEWAL_PREF/UPGRADE") {
                    ($0.original, $0.product, $0.price, $0.days) = ("100", "year", 198_000, 60)
                }(&script)
            }
        ),
        (
            50,
            {
                $0.renew("100", ["autoRenewProductId": "month"])
                $0.tell("DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "102")
            }
        ),
        (
            51,
            {
                $0.renew("100", ["autoRenewProductId": "year"])
                $0.tell("DID_CHANGE_RENEWAL_PREF", "102")
            }
        ),
        (
            55,
            {
                $0.change("102", ["expiresDate": .int(start + 115 * day)])
                $0.renew("100", ["renewalDate": .int(start + 115 * day)])
                $0.tell("RENEWAL_EXTENDED", "102")
            }
        ),
        (
            60,
            {
                $0.renew("100", ["autoRenewStatus": 0])
                $0.tell("DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "102")
            }
        ),
        (
            115,
            {
                $0.renew("100", status: 2, ["expirationIntent": 1])
                $0.tell("EXPIRED/VOLUNTARY", "102")
            }
        ),
        (
            130,
            sale("103", "anna", "SUBSCRIBED/RESUBSCRIBE") {
                ($0.original, $0.price) = ("100", 9_000)
                $0.more = [
                    "offerType": 2, "offerIdentifier": "back", "offerDiscountType": "PAY_AS_YOU_GO",
                    "offerPeriod": "P1M",
                ]
            }
        ),
        (134, { $0.tell("CONSUMPTION_REQUEST", "103") }),
        (
            135,
            {
                $0.change("103", revocation(135, "REFUND_FULL"))
                $0.renew("100", status: 5, ["autoRenewStatus": 0])
                $0.tell("REFUND", "103")
            }
        ),
        (
            140,
            {
                $0.change("103", ["revocationDate": .none, "revocationReason": .none, "revocationType": .none])
                $0.renew("100", status: 1, [:])
                $0.tell("REFUND_REVERSED", "103")
            }
        ),
    ]

    private static func revocation(_ number: Int64, _ type: String) -> [String: JSONValue?] {
        [
            "revocationDate": .int(start + number * day), "revocationReason": 0, "revocationType": .string(type),
        ]
    }

    /// Two billing failures: one in a grace period and past it, one without. One-time purchases, and a refund.
    private static let bert: [Event] = [
        (0, sale("200", "bert", "SUBSCRIBED/INITIAL_BUY")),
        (
            5,
            sale("210", "bert", "ONE_TIME_CHARGE") { ($0.product, $0.type, $0.price) = ("points", "Consumable", 6_000) }
        ),
        (
            6,
            sale("212", "bert", "ONE_TIME_CHARGE") { ($0.product, $0.type) = ("library", "Non-Consumable") }
        ),
        (
            10,
            {
                $0.change("210", revocation(10, "REFUND_FULL"))
                $0.tell("REFUND", "210")
            }
        ),
        (
            30,
            {
                $0.renew(
                    "200", status: 4,
                    [
                        "gracePeriodExpiresDate": .int(start + 46 * day), "isInBillingRetryPeriod": true,
                        "expirationIntent": 2,
                    ])
                $0.tell("DID_FAIL_TO_RENEW/GRACE_PERIOD", "200")
            }
        ),
        (
            46,
            {
                $0.renew("200", status: 3, [:])
                $0.tell("GRACE_PERIOD_EXPIRED", "200")
            }
        ),
        (50, sale("201", "bert", "DID_RENEW/BILLING_RECOVERY") { ($0.original, $0.isRenewal) = ("200", true) }),
        (80, sale("202", "bert", "DID_RENEW") { ($0.original, $0.isRenewal) = ("200", true) }),
        (
            110,
            {
                $0.renew("200", status: 3, ["isInBillingRetryPeriod": true, "expirationIntent": 2])
                $0.tell("DID_FAIL_TO_RENEW", "202")
            }
        ),
    ]

    /// A family member of Bert's.
    private static let carl: [Event] = [
        (
            7,
            sale("300", "carl", "ONE_TIME_CHARGE") {
                ($0.product, $0.type, $0.isShared, $0.price) = ("library", "Non-Consumable", true, 0)
            }
        ),
        (8, sale("301", "carl", "SUBSCRIBED/INITIAL_BUY") { ($0.isShared, $0.price) = (true, 0) }),
        (
            20,
            {
                $0.change("301", revocation(20, "FAMILY_REVOKE"))
                $0.renew("301", status: 5, ["autoRenewStatus": 0])
                $0.tell("REVOKE", "301")
            }
        ),
    ]

    /// Consents to a price increase, and is in a grace period now.
    private static let dora: [Event] = [
        (110, sale("400", "dora", "SUBSCRIBED/INITIAL_BUY")),
        (
            120,
            {
                $0.renew("400", ["priceIncreaseStatus": 0])
                $0.tell("PRICE_INCREASE/PENDING", "400")
            }
        ),
        (
            121,
            {
                $0.renew("400", ["priceIncreaseStatus": 1])
                $0.tell("PRICE_INCREASE/ACCEPTED", "400")
            }
        ),
        (
            140,
            {
                $0.renew(
                    "400", status: 4,
                    [
                        "gracePeriodExpiresDate": .int(start + 156 * day), "isInBillingRetryPeriod": true,
                        "expirationIntent": 2,
                    ])
                $0.tell("DID_FAIL_TO_RENEW/GRACE_PERIOD", "400")
            }
        ),
    ]
}
