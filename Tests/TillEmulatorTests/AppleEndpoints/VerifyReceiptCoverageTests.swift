import Foundation
import Testing
import TillBilling
import TillCrypto
import TillJSON

@testable import TillEmulator

@Suite("Answers of /verifyReceipt contain every documented member (facts/verify-receipt §4 to §7)")
struct VerifyReceiptCoverageTests {
    typealias Offer = StoreTransaction.Offer

    private static func dates(_ names: String...) -> Set<String> {
        Set(names.flatMap { [$0, $0 + "_ms", $0 + "_pst"] })
    }

    private static let answer: Set<String> = [
        "status", "environment", "receipt", "latest_receipt", "latest_receipt_info", "pending_renewal_info",
    ]
    private static let plainReceipt: Set<String> = [
        "receipt_type", "adam_id", "app_item_id", "bundle_id", "application_version", "original_application_version",
        "download_id", "version_external_identifier", "in_app",
    ]
    private static let receipt = plainReceipt.union(
        dates("receipt_creation_date", "request_date", "original_purchase_date", "preorder_date", "expiration_date"))
    private static let plainPurchase: Set<String> = [
        "quantity", "product_id", "transaction_id", "original_transaction_id", "is_trial_period",
        "is_in_intro_offer_period", "web_order_line_item_id", "cancellation_reason", "promotional_offer_id",
        "offer_code_ref_name", "in_app_ownership_type", "app_account_token",
    ]
    private static let purchase = plainPurchase.union(
        dates("purchase_date", "original_purchase_date", "expires_date", "cancellation_date"))
    private static let latest = purchase.union(["is_upgraded", "subscription_group_identifier"])
    private static let plainRenewal: Set<String> = [
        "product_id", "original_transaction_id", "auto_renew_product_id", "auto_renew_status", "expiration_intent",
        "is_in_billing_retry_period", "price_consent_status", "price_increase_status", "offer_code_ref_name",
        "promotional_offer_id",
    ]
    private static let renewal = plainRenewal.union(dates("grace_period_expires_date"))
    private static let numbers: Set<String> = [
        "status", "adam_id", "app_item_id", "download_id", "version_external_identifier",
    ]

    /// A subscriber with every kind of data, twice: with a later promotional offer, and with an offer code.
    private func answers() async throws -> [JSONValue] {
        var configuration = EmulatorConfiguration()
        configuration.app.volumePurchaseExpires = EmulatedWorld.start.adding(seconds: 365 * 86_400)
        let world = try await EmulatedWorld(configuration)
        let member = try await world.plant("member.monthly", kind: .autoRenewable) {
            $0.offer = Offer(kind: .promotional, identifier: "back", discount: .payUpFront, period: "P1M")
            $0.appAccountToken = UniqueID("3f2c1a00-1111-4222-8333-444455556666")
            $0.isUpgraded = true
        }
        let coded = try await world.plant("member.yearly", kind: .autoRenewable) {
            $0.original = member.original
            $0.offer = Offer(kind: .code, identifier: "SPRING", discount: .payUpFront, period: "P1M")
        }
        _ = try await world.emulator.store.change {
            try $0.connection.execute("UPDATE downloads SET preordered_at = 1000", [])
        }
        var answers: [JSONValue] = []
        for kind in [ProductOffer.Kind.promotional, .code] {
            try await world.plantSubscription(coded) {
                ($0.state, $0.expirationIntent) = (.billingRetry, 2)
                ($0.graceExpires, $0.retryUntil) = ($0.expires, $0.expires)
                $0.priceIncrease = StoreSubscription.PriceIncrease(
                    price: coded.price, effective: coded.purchased, needsConsent: true, isAccepted: true)
                $0.runningOffer = StoreSubscription.RunningOffer(
                    offer: Offer(kind: kind, identifier: "x", discount: .payUpFront, period: "P1M"),
                    price: coded.price, charges: 1)
            }
            answers.append(try await world.verified())
        }
        await world.remove()
        return answers
    }

    @Test("Each member is there, as text or as a number, as Apple writes it")
    func notified() async throws {
        let answers = try await answers()
        func check(_ objects: [JSONValue], _ expected: Set<String>, _ comment: Comment) {
            var notified: Set<String> = []
            for (name, value) in objects.flatMap({ $0.object ?? [:] }) {
                notified.insert(name)
                guard value.array == nil, value.object == nil else { continue }
                #expect(Self.numbers.contains(name) ? value.int != nil : value.string != nil, "\(name) is \(value)")
            }
            #expect(notified == expected, comment)
        }
        check(answers, Self.answer, "the answer")
        check(answers.compactMap { $0["receipt"] }, Self.receipt, "receipt")
        check(answers.flatMap { $0["receipt"]?["in_app"]?.array ?? [] }, Self.purchase, "in_app")
        check(answers.flatMap { $0["latest_receipt_info"]?.array ?? [] }, Self.latest, "latest_receipt_info")
        check(answers.flatMap { $0["pending_renewal_info"]?.array ?? [] }, Self.renewal, "pending_renewal_info")
    }

    private static let facts = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("shared/facts/verify-receipt.md")

    @Test(
        "The tables of the facts name no other member",
        .enabled(
            if: FileManager.default.fileExists(atPath: facts.path), "../shared/facts is not beside the repository"))
    func factsNameNoOther() throws {
        let text = try String(contentsOf: Self.facts, encoding: .utf8)
        let sections = text.components(separatedBy: "\n## ").filter { section in
            ["4.", "5.", "6.", "7."].contains { section.hasPrefix($0) }
        }
        #expect(sections.count == 4)
        var named: Set<String> = []
        for row in sections.flatMap({ $0.components(separatedBy: "\n") }) where row.hasPrefix("| `") {
            for match in row.components(separatedBy: "|")[1].matches(of: /`([a-z_\-]+)(\[[_a-z,]+\])?`/) {
                let name = String(match.output.1)
                named.formUnion(match.output.2 == nil ? [name] : Self.dates(name))
            }
        }
        #expect(named.count > 50)
        let known = Self.answer.union(Self.receipt).union(Self.latest).union(Self.renewal)
        // Of internal errors only.
        #expect(named.subtracting(known) == ["is-retryable"])
    }
}
