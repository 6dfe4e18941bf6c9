import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto

@testable import TillEmulator

@Suite("What /verifyReceipt tells of every kind of purchase and subscription")
struct VerifyReceiptFieldTests {
    typealias Offer = StoreTransaction.Offer

    private func record(_ number: Int64, in list: JSONValue?) throws -> JSONValue {
        try #require(list?.array?.first { $0["transaction_id"]?.string == String(number) })
    }

    @Test("Trials, introductory prices, promotional offers and codes: each has its own words")
    func offers() async throws {
        let world = try await EmulatedWorld()
        let cases: [(Offer, trial: JSONValue, intro: JSONValue, promotional: JSONValue?, code: JSONValue?)] = [
            (Offer(kind: .introductory, discount: .freeTrial, period: "P1W"), "true", "false", nil, nil),
            (Offer(kind: .introductory, discount: .payAsYouGo, period: "P3M"), "false", "true", nil, nil),
            (Offer(kind: .introductory, discount: .payUpFront, period: "P6M"), "false", "true", nil, nil),
            (Offer(kind: .promotional, identifier: "back", discount: .payUpFront, period: "P1M"), "false", "false", "back", nil),
            (Offer(kind: .promotional, identifier: "free", discount: .freeTrial, period: "P1M"), "true", "false", "free", nil),
            (Offer(kind: .code, identifier: "SPRING", discount: .payAsYouGo, period: "P1M"), "false", "false", nil, "SPRING"),
            (Offer(kind: .winBack, identifier: "winback", discount: .payAsYouGo, period: "P1M"), "false", "false", nil, nil),
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

    @Test("A refund has its date and reason, a consumable's none, and an upgrade is cancelled when it was upgraded")
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
        #expect(latest?.array?.first?["transaction_id"]?.string == String(shared.number), "newest first")
        let newest = try await world.verified(["exclude-old-transactions": true])
        #expect(newest["latest_receipt_info"]?.array?.map { $0["transaction_id"]?.string } == [String(upgrade.number)])
        #expect(newest["receipt"]?["in_app"]?.array?.count == 6)
        await world.remove()
    }

    @Test("pending_renewal_info in every state of a subscription")
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

    @Test("Volume purchases, preorders and the versions of a download; numbers in production, zeros in the sandbox")
    func app() async throws {
        for environment in [TillBilling.Environment.sandbox, .production] {
            var configuration = EmulatorConfiguration()
            configuration.environment = environment
            configuration.app.volumePurchaseExpires = EmulatedWorld.start.adding(seconds: 365 * 86_400)
            let world = try await EmulatedWorld(configuration)
            try await world.plant()
            try await world.emulator.store.change { turn in
                try turn.session.execute(
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

    @Test("in_app is in no order of time, and in the same one each time")
    func order() async throws {
        let world = try await EmulatedWorld()
        for _ in 0..<12 { try await world.plant("course", kind: .nonRenewing) }
        func ids() async throws -> [String] {
            try #require(try await world.verified()["receipt"]?["in_app"]?.array).compactMap {
                $0["transaction_id"]?.string
            }
        }
        let shown = try await ids()
        #expect(shown.count == 12 && Set(shown).count == 12)
        #expect(shown != shown.sorted() && shown != shown.sorted(by: >))
        #expect(shown.last != shown.max() || shown.first != shown.min())
        #expect(try await ids() == shown)
        await world.remove()
    }

    @Test("Finished consumables leave the receipt, everything else stays; tokens are told in both lists")
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
        for number in [consumable.number, member.number, library.number] { _ = try await world.emulator.store.finish(number) }
        let after = try await world.verified()
        for list in [after["receipt"]?["in_app"], after["latest_receipt_info"]] {
            let ids = Set(list?.array?.compactMap { $0["transaction_id"]?.string } ?? [])
            #expect(ids == [String(member.number), String(library.number)])
        }
        await world.remove()
    }

    @Test("Whatever the facts name in an answer is there in one of these, as they type it (facts/verify-receipt §4 to §7)")
    func coverage() async throws {
        var configuration = EmulatorConfiguration()
        configuration.app.volumePurchaseExpires = EmulatedWorld.start.adding(seconds: 365 * 86_400)
        let world = try await EmulatedWorld(configuration)
        let member = try await world.plant("member.monthly", kind: .autoRenewable) {
            $0.offer = Offer(kind: .promotional, identifier: "back", discount: .payUpFront, period: "P1M")
            $0.appAccountToken = UniqueID(random: RandomBytes.make(16))
            $0.isUpgraded = true
        }
        let coded = try await world.plant("member.yearly", kind: .autoRenewable) {
            $0.original = member.original
            $0.offer = Offer(kind: .code, identifier: "SPRING", discount: .payUpFront, period: "P1M")
        }
        try await world.emulator.store.change { try $0.session.execute("UPDATE downloads SET preordered_at = 1000", []) }
        var told: [String: Set<String>] = [:]
        for kind in [ProductOffer.Kind.promotional, .code] {
            try await world.plantSubscription(coded) {
                ($0.state, $0.expirationIntent) = (kind == .code ? .gracePeriod : .billingRetry, 2)
                ($0.graceExpires, $0.retryUntil) = ($0.expires, $0.expires)
                $0.priceIncrease = StoreSubscription.PriceIncrease(
                    price: coded.price, effective: coded.purchased, needsConsent: true, isAccepted: true)
                $0.runningOffer = StoreSubscription.RunningOffer(
                    offer: Offer(kind: kind, identifier: "x", discount: .payUpFront, period: "P1M"), price: coded.price,
                    charges: 1)
            }
            let answer = try await world.verified()
            let objects: [(String, [JSONValue])] = [
                ("## 4.", [answer]), ("## 5.", [answer["receipt"] ?? .null]),
                ("## 6. in_app", answer["receipt"]?["in_app"]?.array ?? []),
                ("## 6. latest", answer["latest_receipt_info"]?.array ?? []),
                ("## 7.", answer["pending_renewal_info"]?.array ?? []),
            ]
            let numbers: Set<String> = [
                "status", "adam_id", "app_item_id", "download_id", "version_external_identifier",
            ]
            for (section, list) in objects {
                for (name, value) in list.flatMap({ $0.object ?? [:] }) {
                    told[section, default: []].insert(name)
                    let isNested = value.array != nil || value.object != nil
                    #expect(isNested || (value.int != nil) == numbers.contains(name), "\(name) is \(value)")
                    #expect(isNested || value.int != nil || value.string != nil, "\(name) is \(value)")
                }
            }
        }
        let dates = ["_ms", "_pst", ""]
        let purchase: Set<String> = [
            "quantity", "product_id", "transaction_id", "original_transaction_id", "is_trial_period",
            "is_in_intro_offer_period", "web_order_line_item_id", "cancellation_reason", "promotional_offer_id",
            "offer_code_ref_name", "in_app_ownership_type", "app_account_token",
        ].union(
            ["purchase_date", "original_purchase_date", "expires_date", "cancellation_date"].flatMap { name in
                dates.map { name + $0 }
            })
        let receipt: Set<String> = [
            "receipt_type", "adam_id", "app_item_id", "bundle_id", "application_version",
            "original_application_version", "download_id", "version_external_identifier", "in_app",
        ].union(
            ["receipt_creation_date", "request_date", "original_purchase_date", "preorder_date", "expiration_date"]
                .flatMap { name in dates.map { name + $0 } })
        let renewal: Set<String> = [
            "product_id", "original_transaction_id", "auto_renew_product_id", "auto_renew_status", "expiration_intent",
            "is_in_billing_retry_period", "price_consent_status", "price_increase_status", "offer_code_ref_name",
            "promotional_offer_id",
        ].union(dates.map { "grace_period_expires_date" + $0 })
        let answer: Set<String> = [
            "status", "environment", "receipt", "latest_receipt", "latest_receipt_info", "pending_renewal_info",
        ]
        #expect(told["## 4."] == answer)
        #expect(told["## 5."] == receipt)
        #expect(told["## 6. in_app"] == purchase)
        #expect(told["## 6. latest"] == purchase.union(["is_upgraded", "subscription_group_identifier"]))
        #expect(told["## 7."] == renewal)
        try checkAgainstFacts(answer.union(receipt).union(purchase).union(renewal).union(["is_upgraded", "subscription_group_identifier"]))
        await world.remove()
    }

    /// The tables of facts/verify-receipt name no member that this test does not.
    private func checkAgainstFacts(_ known: Set<String>) throws {
        let facts = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("shared/facts/verify-receipt.md")
        guard let text = try? String(contentsOf: facts, encoding: .utf8) else {
            print("../shared/facts is not beside the repository: the members are held to this test's own list")
            return
        }
        let sections = text.components(separatedBy: "\n## ").filter { $0.hasPrefix("4.") || $0.hasPrefix("5.") || $0.hasPrefix("6.") || $0.hasPrefix("7.") }
        #expect(sections.count == 4)
        var named: Set<String> = []
        for row in sections.flatMap({ $0.components(separatedBy: "\n") }) where row.hasPrefix("| `") {
            let cell = row.components(separatedBy: "|")[1]
            for match in cell.matches(of: /`([a-z_\-]+)(\[[_a-z,]+\])?`/) {
                let name = String(match.output.1)
                named.formUnion(match.output.2 == nil ? [name] : [name, name + "_ms", name + "_pst"])
            }
        }
        #expect(named.count > 50)
        #expect(named.subtracting(known) == ["is-retryable"])
    }
}
