import Testing
import TillBilling
import TillCrypto
import TillJSON

@testable import TillEmulator

@Suite("/verifyReceipt for every kind of purchase and subscription")
struct VerifyReceiptFieldTests {
    typealias Offer = StoreTransaction.Offer

    private func record(_ number: Int64, in list: JSONValue?) throws -> JSONValue {
        try #require(list?.array?.first { $0["transaction_id"]?.string == String(number) })
    }

    @Test("Trials, introductory prices, promotional offers and offer codes each have their own members")
    func offers() async throws {
        let world = try await EmulatedWorld()
        let cases: [(Offer, trial: JSONValue, intro: JSONValue, promotional: JSONValue?, code: JSONValue?)] = [
            (Offer(kind: .introductory, discount: .freeTrial, period: "P1W"), "true", "false", nil, nil),
            (Offer(kind: .introductory, discount: .payAsYouGo, period: "P3M"), "false", "true", nil, nil),
            (Offer(kind: .introductory, discount: .payUpFront, period: "P6M"), "false", "true", nil, nil),
            (
                Offer(kind: .promotional, identifier: "back", discount: .payUpFront, period: "P1M"), "false", "false",
                "back", nil
            ),
            (
                Offer(kind: .promotional, identifier: "free", discount: .freeTrial, period: "P1M"), "true", "false",
                "free", nil
            ),
            (
                Offer(kind: .code, identifier: "SPRING", discount: .payAsYouGo, period: "P1M"), "false", "false", nil,
                "SPRING"
            ),
            (
                Offer(kind: .winBack, identifier: "winback", discount: .payAsYouGo, period: "P1M"), "false", "false",
                nil, nil
            ),
        ]
        for (index, expected) in cases.enumerated() {
            let account = "customer-\(index)"
            let offer = expected.0
            let bought = try await world.plant("member", kind: .autoRenewable, account: account) { $0.offer = offer }
            try await world.plantSubscription(bought) {
                $0.runningOffer = StoreSubscription.RunningOffer(offer: offer, price: bought.price, charges: 1)
            }
            let answer = try await world.verified(account: account)
            for list in [answer["receipt"]?["in_app"], answer["latest_receipt_info"]] {
                let record = try record(bought.number, in: list)
                #expect(record["is_trial_period"] == expected.trial, "case \(index)")
                #expect(record["is_in_intro_offer_period"] == expected.intro, "case \(index)")
                #expect(record["promotional_offer_id"] == expected.promotional, "case \(index)")
                #expect(record["offer_code_ref_name"] == expected.code, "case \(index)")
            }
            let pending = try #require(answer["pending_renewal_info"]?.array?.first)
            #expect(pending["promotional_offer_id"] == expected.promotional)
            #expect(pending["offer_code_ref_name"] == expected.code)
        }
        await world.remove()
    }

    @Test("A refund has date and reason, a consumable's has none, and an upgraded period is cancelled at the upgrade")
    func cancellations() async throws {
        let world = try await EmulatedWorld()
        let refund = StoreTransaction.Revocation(
            date: world.now.adding(seconds: 60), reason: 1, type: "REFUND_FULL", percentage: 100_000)
        let consumable = try await world.plant { $0.revocation = refund }
        let library = try await world.plant("library", kind: .nonConsumable) { $0.revocation = refund }
        let first = try await world.plant("member.monthly", kind: .autoRenewable)
        world.advance(seconds: 86_400)
        let early = try await world.plant("member.monthly", kind: .autoRenewable) {
            ($0.original, $0.reason, $0.isUpgraded) = (first.original, "RENEWAL", true)
        }
        world.advance(seconds: 86_400)
        let upgrade = try await world.plant("member.yearly", kind: .autoRenewable) { $0.original = first.original }
        let shared = try await world.plant("family", kind: .nonConsumable) {
            $0.sharedFrom = 5
            $0.revocation = StoreTransaction.Revocation(
                date: $0.purchased, reason: 0, type: "FAMILY_REVOKE", percentage: nil)
        }
        try await world.plantSubscription(upgrade)
        let answer = try await world.verified()
        for list in [answer["receipt"]?["in_app"], answer["latest_receipt_info"]] {
            #expect(list?.array?.count == 6)
            #expect(try record(consumable.number, in: list)["cancellation_date"] == nil)
            let refunded = try record(library.number, in: list)
            #expect(refunded["cancellation_date"] == "2026-03-01 08:31:00 Etc/GMT")
            #expect(refunded["cancellation_date_ms"] == "1772353860000")
            #expect(refunded["cancellation_date_pst"] == "2026-03-01 00:31:00 America/Los_Angeles")
            #expect(refunded["cancellation_reason"] == "1")
            let upgraded = try record(early.number, in: list)
            #expect(upgraded["cancellation_date"] == "2026-03-03 08:30:00 Etc/GMT")
            #expect(upgraded["cancellation_reason"] == "0")
            #expect(try record(upgrade.number, in: list)["cancellation_date"] == nil)
            #expect(try record(first.number, in: list)["cancellation_date"] == nil)
            let taken = try record(shared.number, in: list)
            #expect(taken["in_app_ownership_type"] == "FAMILY_SHARED")
            #expect(taken["cancellation_reason"] == "0")
        }
        let latest = answer["latest_receipt_info"]
        #expect(try record(early.number, in: latest)["is_upgraded"] == "true")
        #expect(try record(upgrade.number, in: latest)["is_upgraded"] == nil)
        #expect(latest?.array?.last?["transaction_id"]?.string == String(shared.number), "oldest first")
        let newest = try await world.verified(["exclude-old-transactions": true])
        #expect(newest["latest_receipt_info"]?.array?.map { $0["transaction_id"]?.string } == [String(upgrade.number)])
        #expect(newest["receipt"]?["in_app"]?.array?.count == 6)
        await world.remove()
    }

    @Test("pending_renewal_info is correct in every state of a subscription")
    func pending() async throws {
        let world = try await EmulatedWorld()
        let increase = StoreSubscription.PriceIncrease(
            price: Money(amount: 900, currency: Currency("CNY")), effective: world.now, needsConsent: true,
            isAccepted: false)
        let grace = world.now.adding(seconds: 86_400)
        let bought = try await world.plant("member.monthly", kind: .autoRenewable)
        let plain: [String: JSONValue] = [
            "product_id": .string(bought.productID.text), "auto_renew_product_id": .string(bought.productID.text),
            "original_transaction_id": .string(bought.originalID.text), "auto_renew_status": "1",
        ]
        let cases: [(shape: @Sendable (inout StoreSubscription) -> Void, more: [String: JSONValue])] = [
            ({ _ in }, [:]),
            ({ ($0.renews, $0.expirationIntent) = (false, 1) }, ["auto_renew_status": "0"]),
            ({ $0.renewalProductID = ProductID("lower") }, ["auto_renew_product_id": "lower"]),
            (
                { ($0.state, $0.graceExpires, $0.retryUntil, $0.expirationIntent) = (.gracePeriod, grace, grace, 2) },
                [
                    "is_in_billing_retry_period": "1", "grace_period_expires_date": "2026-03-02 08:30:00 Etc/GMT",
                    "grace_period_expires_date_ms": "1772440200123",
                    "grace_period_expires_date_pst": "2026-03-02 00:30:00 America/Los_Angeles",
                ]
            ),
            (
                { ($0.state, $0.retryUntil, $0.expirationIntent) = (.billingRetry, grace, 2) },
                ["is_in_billing_retry_period": "1", "expiration_intent": "2"]
            ),
            (
                { ($0.state, $0.renews, $0.expirationIntent) = (.expired, false, 2) },
                ["auto_renew_status": "0", "is_in_billing_retry_period": "0", "expiration_intent": "2"]
            ),
            (
                { ($0.state, $0.renews, $0.expirationIntent) = (.expired, false, 1) },
                ["auto_renew_status": "0", "expiration_intent": "1"]
            ),
            ({ $0.priceIncrease = increase }, ["price_consent_status": "0", "price_increase_status": "0"]),
            (
                {
                    $0.priceIncrease = increase
                    $0.priceIncrease?.isAccepted = true
                }, ["price_consent_status": "1", "price_increase_status": "1"]
            ),
            (
                {
                    $0.priceIncrease = increase
                    $0.priceIncrease?.needsConsent = false
                    $0.priceIncrease?.isAccepted = true
                }, ["price_increase_status": "1"]
            ),
        ]
        for (index, expected) in cases.enumerated() {
            try await world.plantSubscription(bought, expected.shape)
            let pending = try await world.verified()["pending_renewal_info"]?.array
            #expect(pending?.count == 1)
            #expect(pending?[0].object == plain.merging(expected.more) { _, new in new }, "case \(index)")
        }
        await world.remove()
    }

    @Test("Volume purchases, preorders and download versions are listed; ids are numbers in production, 0 in sandbox")
    func app() async throws {
        for environment in [TillBilling.StoreEnvironment.sandbox, .production] {
            var configuration = EmulatorConfiguration()
            configuration.environment = environment
            configuration.app.volumePurchaseExpires = EmulatedWorld.start.adding(seconds: 365 * 86_400)
            let world = try await EmulatedWorld(configuration)
            try await world.plant()
            _ = try await world.emulator.store.change { change in
                try change.connection.execute(
                    "UPDATE downloads SET preordered_at = 1700000000000, original_version = '0.9'", [])
            }
            let receipt = try #require(try await world.verified()["receipt"])
            let isReal = environment == .production
            #expect(receipt["receipt_type"]?.string == (isReal ? "ProductionVPP" : "ProductionVPPSandbox"))
            #expect(receipt["expiration_date_ms"] == "1803889800000")
            #expect(receipt["expiration_date"] == "2027-03-01 08:30:00 Etc/GMT")
            #expect(receipt["preorder_date_ms"] == "1700000000000")
            #expect(receipt["original_application_version"]?.string == (isReal ? "0.9" : "1.0"))
            #expect(receipt["adam_id"] == .int(isReal ? 690_661_663 : 0))
            #expect(receipt["app_item_id"] == receipt["adam_id"])
            #expect(receipt["download_id"] == .int(isReal ? 74_011_462_945_433 : 0))
            #expect(receipt["version_external_identifier"] == .int(isReal ? 863_855_306 : 0))
            let first = isReal ? "1772353800000" : "1375340400000"
            #expect(receipt["original_purchase_date_ms"]?.string == first)
            await world.remove()
        }
    }

    @Test("in_app keeps the receipt's own order, which is not chronological")
    func order() async throws {
        let world = try await EmulatedWorld()
        let oldest = try await world.plant("member.monthly", kind: .autoRenewable)
        for _ in 0..<3 { try await world.plant("course", kind: .nonRenewing) }
        let shown = try #require(try await world.verified()["receipt"]?["in_app"]?.array)
        #expect(shown.count == 4)
        #expect(shown.last?["transaction_id"]?.string == oldest.id.text)
        await world.remove()
    }

    @Test("Finished consumables leave the receipt, everything else stays; tokens are in both lists")
    func finished() async throws {
        let world = try await EmulatedWorld()
        let token = UniqueID("3f2c1a00-1111-4222-8333-444455556666")
        let consumable = try await world.plant { $0.appAccountToken = token }
        let member = try await world.plant("member.monthly", kind: .autoRenewable) { $0.appAccountToken = token }
        let library = try await world.plant("library", kind: .nonConsumable)
        try await world.plantSubscription(member)
        let before = try await world.verified()
        for list in [before["receipt"]?["in_app"], before["latest_receipt_info"]] {
            #expect(list?.array?.count == 3)
            #expect(try record(consumable.number, in: list)["app_account_token"]?.string == token?.description)
            #expect(try record(member.number, in: list)["app_account_token"]?.string == token?.description)
            #expect(try record(library.number, in: list)["app_account_token"] == nil)
        }
        for number in [consumable.number, member.number, library.number] {
            _ = try await world.emulator.store.finish(number)
        }
        let after = try await world.verified()
        for list in [after["receipt"]?["in_app"], after["latest_receipt_info"]] {
            let ids = Set(list?.array?.compactMap { $0["transaction_id"]?.string } ?? [])
            #expect(ids == [String(member.number), String(library.number)])
        }
        await world.remove()
    }
}
