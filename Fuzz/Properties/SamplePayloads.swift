import TillCrypto

/// Payloads in Apple's format (facts/jws §4 to §7, facts/pkcs7-receipt §3), with every member and fictional values.
enum SamplePayloads {
    /// The payloads for `$transaction`, `$renewal` and `$app` inside a notification.
    static let nested: [(name: String, payload: String)] = [
        ("transaction", transaction), ("renewal", renewal), ("app", appTransaction),
    ]

    static let transaction = """
        {"transactionId":"2000000900000001","originalTransactionId":"2000000900000001",\
        "webOrderLineItemId":"2000000000000007","bundleId":"com.example.learn",\
        "productId":"com.example.learn.monthly","subscriptionGroupIdentifier":"21000001",\
        "purchaseDate":1748735995000,"originalPurchaseDate":1748735995000,"expiresDate":1751327995000,"quantity":1,\
        "type":"Auto-Renewable Subscription","appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138",\
        "inAppOwnershipType":"PURCHASED","signedDate":1748736000000,"isUpgraded":false,"offerType":1,\
        "offerDiscountType":"FREE_TRIAL","offerPeriod":"P1M","environment":"Production","storefront":"CHN",\
        "storefrontId":"143465","transactionReason":"PURCHASE","price":6000,"currency":"CNY",\
        "appTransactionId":"704289572311569340"}
        """

    static let revoked = """
        {"transactionId":"2000000900000002","originalTransactionId":"2000000900000002","bundleId":"com.example.learn",\
        "productId":"com.example.learn.coins60","purchaseDate":1748735995000,"originalPurchaseDate":1748735995000,\
        "quantity":2,"type":"Consumable","inAppOwnershipType":"PURCHASED","signedDate":1748736000000.5,\
        "revocationDate":1748736000000,"revocationReason":1,"revocationType":"REFUND_PRORATED",\
        "revocationPercentage":50000,"environment":"Sandbox","advancedCommerceInfo":{"descriptors":{"description":"d",\
        "displayName":"n"},"estimatedTax":1,"items":[{"SKU":"s","description":"d","displayName":"n","offer":\
        {"period":"P1M","periodCount":1,"price":1,"reason":"ACQUISITION"},"price":1,"refunds":[{"refundAmount":1,\
        "refundDate":1748736000000,"refundReason":"LEGAL","refundType":"FULL"}]}],"requestReferenceId":"r",\
        "taxCode":"C003-00-2","taxExclusivePrice":1,"taxRate":"0.1"},"commitmentInfo":{"billingPeriodNumber":1,\
        "commitmentExpiresDate":1780272000000,"commitmentPrice":72000,"totalBillingPeriods":12}}
        """

    static let renewal = """
        {"originalTransactionId":"2000000900000001","autoRenewProductId":"com.example.learn.monthly",\
        "productId":"com.example.learn.monthly","autoRenewStatus":1,"renewalPrice":6000,"currency":"CNY",\
        "signedDate":1748736000000,"environment":"Production","recentSubscriptionStartDate":1748735995000,\
        "renewalDate":1751327995000,"expirationIntent":1,"isInBillingRetryPeriod":false,\
        "gracePeriodExpiresDate":1751327995000,"priceIncreaseStatus":0,"offerType":4,"offerIdentifier":"back",\
        "eligibleWinBackOfferIds":["back","again"],"appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138",\
        "appTransactionId":"704289572311569340"}
        """

    static let appTransaction = """
        {"receiptType":"Production","appAppleId":1234567890,"bundleId":"com.example.learn","applicationVersion":"1",\
        "versionExternalIdentifier":9,"receiptCreationDate":1748736000000,"originalPurchaseDate":1740000000000,\
        "originalApplicationVersion":"1","preorderDate":1730000000000,"deviceVerification":"AAAA",\
        "deviceVerificationNonce":"7e3fb20b-4cdb-47cc-936d-99d65f608138","appTransactionId":"704289572311569340",\
        "originalPlatform":"iOS"}
        """

    /// - Parameters: the tokens, or their placeholders.
    static func notification(transaction: String, renewal: String) -> String {
        """
        {"notificationType":"DID_RENEW","subtype":"BILLING_RECOVERY",\
        "notificationUUID":"002e14d5-51f5-4503-b5a8-c3a1af68eb20","version":"2.0","signedDate":1748736000000,\
        "data":{"appAppleId":1234567890,"bundleId":"com.example.learn","bundleVersion":"1",\
        "environment":"Production","status":1,"signedTransactionInfo":"\(transaction)",\
        "signedRenewalInfo":"\(renewal)"}}
        """
    }

    static let summary = """
        {"notificationType":"RENEWAL_EXTENSION","subtype":"SUMMARY",\
        "notificationUUID":"002e14d5-51f5-4503-b5a8-c3a1af68eb21","version":"2.0","signedDate":1748736000000,\
        "summary":{"environment":"Sandbox","bundleId":"com.example.learn","productId":"p","requestIdentifier":"r",\
        "storefrontCountryCodes":["CHN","USA"],"succeededCount":5,"failedCount":2}}
        """

    static let externalPurchase = """
        {"notificationType":"EXTERNAL_PURCHASE_TOKEN","subtype":"UNREPORTED",\
        "notificationUUID":"002e14d5-51f5-4503-b5a8-c3a1af68eb22","version":"2.0",\
        "externalPurchaseToken":{"externalPurchaseId":"SANDBOX_b2158121","tokenCreationDate":1748736000000,\
        "appAppleId":1234567890,"bundleId":"com.example.learn"}}
        """

    static let appData = """
        {"notificationType":"RESCIND_CONSENT","notificationUUID":"002e14d5-51f5-4503-b5a8-c3a1af68eb23",\
        "version":"2.0","signedDate":1748736000000,"appData":{"environment":"Production","appAppleId":1234567890,\
        "bundleId":"com.example.learn","signedAppTransactionInfo":"$app"}}
        """

    static let header = #"{"alg":"ES256","x5c":["$leaf","$intermediate","$root"],"kid":"k","typ":"JWT"}"#

    /// Two purchases, one of them cancelled, and an attribute of an unknown type.
    static var receipt: [UInt8] {
        let bundle = DERWriter.utf8String("com.example.learn")
        let opaque = [UInt8](repeating: 0xA5, count: 16)
        let created = "2025-06-01T00:00:00Z"
        let attributes: [[UInt8]?] = [
            ReceiptWriter.text(0, "ProductionSandbox"), ReceiptWriter.number(1, 0), ReceiptWriter.attribute(2, bundle),
            ReceiptWriter.text(3, "1"), ReceiptWriter.attribute(4, opaque),
            ReceiptWriter.attribute(5, Digest.sha1.hash(FuzzBench.device + opaque + bundle)),
            date(8, created), date(12, created), ReceiptWriter.attribute(10, DERWriter.ia5String("4+")),
            ReceiptWriter.number(15, 7), ReceiptWriter.number(16, 9), date(18, "2013-08-01T07:00:00Z"),
            ReceiptWriter.text(19, "1.0"), date(21, ""), ReceiptWriter.attribute(99, [1, 2, 3]),
            ReceiptWriter.attribute(17, purchase("2000000900000001", cancelled: "")),
            ReceiptWriter.attribute(17, purchase("2000000900000002", cancelled: "2025-06-01T08:30:00+0800")),
        ]
        return DERWriter.setOf(attributes.compactMap { $0 })
    }

    private static func purchase(_ id: String, cancelled: String) -> [UInt8] {
        let attributes: [[UInt8]?] = [
            ReceiptWriter.number(1701, 1), ReceiptWriter.text(1702, "com.example.learn.coins60"),
            ReceiptWriter.text(1703, id), date(1704, "2025-05-31T23:59:00Z"), ReceiptWriter.text(1705, id),
            date(1706, "2025-05-31T23:59:00Z"), ReceiptWriter.number(1707, 1), date(1708, ""),
            ReceiptWriter.number(1711, 7), date(1712, cancelled), ReceiptWriter.number(1713, 0),
            ReceiptWriter.number(1719, 0), ReceiptWriter.text(1721, "offer"),
        ]
        return DERWriter.setOf(attributes.compactMap { $0 })
    }

    private static func date(_ type: Int64, _ text: String) -> [UInt8] {
        ReceiptWriter.attribute(type, DERWriter.ia5String(text))
    }
}
