import Foundation
import StoreKit
import Testing
import TillJSON

@Suite("Descriptions, periods and small values of StoreKit 2")
struct DescriptionTests {
    @Test("Products, purchase options and results have debug descriptions")
    func debugDescriptions() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let product = try await phone.product("member.yearly")
            #expect(product.debugDescription == String(decoding: product.jsonRepresentation, as: UTF8.self))
            #expect(try JSONValue(decoding: Array(product.debugDescription.utf8))["id"] == .string(product.id))
            let token = UUID()
            #expect(Product.PurchaseOption.appAccountToken(token).debugDescription == "appAccountToken \(token)")
            let result = try await phone.bought("points60")
            let payload = try result.payloadValue.debugDescription
            #expect(result.debugDescription == "verified(\(payload))" && payload.contains("transactionId"))
            let status = try await phone.run { try await AppTransaction.shared }
            #expect(status.debugDescription.hasPrefix("verified({"))
        }
    }

    @Test("An unverified result describes its error")
    func unverified() {
        let result = VerificationResult<String>.unverified("text", .invalidSignature)
        #expect(result.debugDescription == "unverified(\"text\", invalidSignature)")
    }

    @Test("The date components of a period are its number of units")
    func components() {
        func components(_ period: SubscriptionPeriod) -> DateComponents { DateComponents(subscriptionPeriod: period) }
        #expect(components(.everyThreeDays) == DateComponents(day: 3))
        #expect(components(.everyTwoWeeks) == DateComponents(weekOfYear: 2))
        #expect(components(.everySixMonths) == DateComponents(month: 6))
        #expect(components(.yearly) == DateComponents(year: 1))
    }

    @Test("Units of a period are ordered by their length, and are written in the storefront's language")
    func units() async throws {
        typealias Unit = SubscriptionPeriod.Unit
        #expect([Unit.year, .day, .month, .week].sorted() == [.day, .week, .month, .year])
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let chinese = try await phone.product("member.yearly").subscriptionPeriodUnitFormatStyle
            #expect([Unit.day, .week, .month, .year].map { $0.formatted(chinese) } == ["天", "周", "个月", "年"])
            try await world.set("ann", ["storefront": "USA"])
            let english = try await phone.product("member.yearly").subscriptionPeriodUnitFormatStyle
            let names = [Unit.day, .week, .month, .year].map { $0.formatted(english) }
            #expect(names == ["day", "week", "month", "year"])
            #expect(Unit.month.formatted(chinese.locale(Locale(identifier: "en_GB"))) == "month")
            #expect(english != chinese)
            let stored = try JSONDecoder().decode(Unit.FormatStyle.self, from: JSONEncoder().encode(chinese))
            #expect(stored == chinese)
        }
    }

    @Test("Values that an app shows have a description, unknown ones too")
    func localized() {
        #expect(Transaction.OwnershipType.purchased.localizedDescription == "Purchased")
        #expect(Transaction.OwnershipType.familyShared.localizedDescription == "Family Shared")
        #expect(Transaction.OwnershipType.assigned.localizedDescription == "Assigned")
        #expect(Transaction.OwnershipType(rawValue: "LENT").localizedDescription == "Unknown")
        #expect(Message.Reason.billingIssue.localizedDescription == "Billing Issue")
        #expect(Message.Reason(rawValue: 99).localizedDescription == "Unknown")
        #expect(Product.ProductType.nonRenewable.localizedDescription == "Non-Renewing Subscription")
        #expect(Product.SubscriptionInfo.RenewalState.inGracePeriod.localizedDescription == "In Grace Period")
    }

    @Test("Errors of refund requests and of presentations have a description")
    func errors() {
        typealias RefundError = Transaction.RefundRequestError
        let texts = [RefundError.duplicateRequest, .failed, .ineligible].map(\.localizedDescription)
        #expect(Set(texts).count == 3 && texts.allSatisfy { $0.hasSuffix(".") })
        #expect(StoreKitError.invalidPresentationContext.localizedDescription == "This can't be shown here.")
        #expect(Transaction.RefundRequestStatus.success != .userCancelled)
    }

    @Test("Later raw values are Apple's")
    func rawValues() {
        #expect(Transaction.OwnershipType.assigned.rawValue == "ASSIGNED")
        #expect(Transaction.RevocationType.assignmentRevocation.rawValue == "ASSIGNMENT_REVOKE")
        #expect(SubscriptionInfo.BillingPlanType.upFront.rawValue == "BILLED_UPFRONT")
        #expect(SubscriptionInfo.BillingPlanType.monthly.rawValue == "MONTHLY")
        #expect(AppTransaction.StoreType.consumer.rawValue == "CONSUMER")
    }

    @Test("The sequence of app transactions has the account's own one, and ends; without the store it is empty")
    func appTransactions() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            func all() async throws -> [AppTransaction] {
                try await phone.run {
                    var found: [AppTransaction] = []
                    for await result in AppTransaction.all { found.append(try result.payloadValue) }
                    return found
                }
            }
            let own = try await phone.run { try await AppTransaction.shared }.payloadValue
            #expect(try await all().map(\.appTransactionID) == [own.appTransactionID])
            #expect(own.storeType == .consumer && own.storeTypeStringRepresentation == "CONSUMER")
            #expect(own.revocationDate == nil)
            client.cut()
            #expect(try await all().isEmpty)
        }
    }

    @Test("A refund in part states its type and its percentage; a transaction without a refund has neither")
    func revocation() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let bought = try await phone.bought("member.monthly").payloadValue
            #expect(bought.revocationPercentage == nil && bought.revocationTypeStringRepresentation == nil)
            try await world.ask(
                .post, "/emulator/transactions/\(bought.id)/refund", ["percentage": 67_932])
            let refunded = try #require(await phone.run { await Transaction.latest(for: bought.productID) })
                .payloadValue
            #expect(refunded.revocationType == .proratedRefund && refunded != bought)
            #expect(refunded.revocationPercentage == Decimal(string: "67.932"))
            #expect(refunded.revocationTypeStringRepresentation == "REFUND_PRORATED")
        }
    }
}
