import Testing
import TillAppStore
import TillBilling
import TillJSON

@Suite("Proofs in the format of verifyReceipt")
struct AnswerFromProofsTests {
    private let authority = TestAuthority()

    private func purchase(_ changes: [String: JSONValue?]) throws -> ResponsePurchase {
        let token = authority.sign(TestPayloads.transaction(changes))
        return ResponsePurchase(try authority.verifier().transaction(token))
    }

    @Test("A signed transaction fills every member of a record, in whole seconds")
    func transaction() throws {
        let date = TestPayloads.signedDate
        let record = try purchase([
            "type": "Auto-Renewable Subscription", "quantity": 2, "originalTransactionId": "2000000900000000",
            "purchaseDate": .int(date + 123), "expiresDate": .int(date + 86_400_999),
            "webOrderLineItemId": "2000000090000001", "subscriptionGroupIdentifier": "21000001",
            "revocationDate": .int(date + 5_001), "revocationReason": 1, "isUpgraded": true,
            "offerType": 2, "offerIdentifier": "spring", "inAppOwnershipType": "FAMILY_SHARED",
        ])
        #expect(record.transactionID == "2000000900000001" && record.originalTransactionID == "2000000900000000")
        #expect(record.quantity == 2 && record.productID == "com.example.learn.coins60")
        #expect(record.purchaseDate == Instant(milliseconds: date))
        #expect(record.expiresDate == Instant(milliseconds: date + 86_400_000))
        #expect(record.cancellationDate == Instant(milliseconds: date + 5_000))
        #expect(record.cancellationReason == .issueWithApp && record.isUpgraded == true)
        #expect(record.promotionalOfferID == "spring" && record.offerCodeReferenceName == nil)
        #expect(record.isTrialPeriod == false && record.isInIntroOfferPeriod == false)
        #expect(record.ownership == .familyShared && record.subscriptionGroupID == "21000001")
        #expect(record.appAccountToken == "7E3FB20B-4CDB-47CC-936D-99D65F608138")
        #expect(record.webOrderLineItemID == "2000000090000001")
    }

    @Test("A consumable's refund is hidden, an introductory offer is shown, and an offer code has a name of its own")
    func kinds() throws {
        let refunded = try purchase(["revocationDate": .int(TestPayloads.signedDate), "revocationReason": 0])
        #expect(refunded.cancellationDate == nil && refunded.cancellationReason == nil)
        #expect(refunded.isInIntroOfferPeriod == nil && refunded.isUpgraded == nil)
        let later: JSONValue = .int(TestPayloads.signedDate + 1_000)
        let subscription: [String: JSONValue?] = ["type": "Auto-Renewable Subscription", "expiresDate": later]
        let trial = try purchase(subscription.merging(["offerType": 1, "offerDiscountType": "FREE_TRIAL"]) { $1 })
        #expect(trial.isTrialPeriod == true && trial.isInIntroOfferPeriod == false)
        let paid = try purchase(subscription.merging(["offerType": 1, "offerDiscountType": "PAY_UP_FRONT"]) { $1 })
        #expect(paid.isTrialPeriod == false && paid.isInIntroOfferPeriod == true)
        let code = try purchase(subscription.merging(["offerType": 3, "offerIdentifier": "press"]) { $1 })
        #expect(code.offerCodeReferenceName == "press" && code.promotionalOfferID == nil)
    }

    @Test("A renewal info gives the pending renewal")
    func renewal() throws {
        let token = authority.sign(
            TestPayloads.renewal([
                "autoRenewProductId": "com.example.learn.yearly", "autoRenewStatus": 0, "expirationIntent": 2,
                "isInBillingRetryPeriod": true, "gracePeriodExpiresDate": .int(TestPayloads.signedDate),
                "priceIncreaseStatus": 1, "offerType": 2, "offerIdentifier": "spring",
            ]))
        let pending = ResponseRenewal(try authority.verifier().renewalInfo(token))
        #expect(pending.productID == "com.example.learn.monthly" && pending.autoRenewStatus == .off)
        #expect(pending.autoRenewProductID == "com.example.learn.yearly" && pending.expirationIntent == .billingError)
        #expect(pending.isInBillingRetryPeriod == true && pending.promotionalOfferID == "spring")
        #expect(pending.gracePeriodExpiresDate == Instant(milliseconds: TestPayloads.signedDate))
        #expect(pending.priceIncreaseStatus == .consentedOrTold)
        #expect(pending.originalTransactionID == "2000000900000001")
    }

    @Test("A receipt's record has the members it states, and no others")
    func receipt() throws {
        let authority = TestAuthority(keys: .rsa)
        let purchases = [
            TestReceipts.purchase("1", cancelled: "2025-06-01T00:00:00Z", type: 0), TestReceipts.purchase("2"),
        ]
        let verified = try authority.verifier().receipt(authority.receipt(TestReceipts.content(purchases: purchases)))
        let answered = ResponseReceipt(verified, requestedAt: Instant(seconds: 5))
        #expect(answered.receiptType == "Production" && answered.bundleID == "com.example.learn")
        #expect(answered.adamID == 0 && answered.originalPurchaseDate == nil)
        #expect(answered.requestDate == Instant(seconds: 5))
        let records = try #require(answered.inApp).sorted { $0.transactionID ?? "" < $1.transactionID ?? "" }
        #expect(records.map(\.quantity) == [2, 2] && records.map(\.expiresDate) == [nil, nil])
        #expect(records[0].cancellationDate == Instant(rfc3339: "2025-06-01T00:00:00Z"))
        #expect(records[1].cancellationDate == nil)
        #expect(records.allSatisfy { $0.ownership == nil && $0.appAccountToken == nil && $0.cancellationReason == nil })
        #expect(verified.payload.purchases.allSatisfy { !$0.isSubscription })
        #expect(Set(verified.payload.purchases.map(\.type)) == [.nonConsumable, .consumable])
    }
}
