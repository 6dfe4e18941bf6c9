import Foundation
import StoreKit
import Testing

@Suite("Billing plans: a year that is paid monthly")
struct BillingPlanTests {
    private func renewal(_ phone: EmulatedDevice) async throws -> SubscriptionRenewalInfo {
        let statuses = try await phone.run { try await SubscriptionInfo.status(for: "21000001") }
        return try #require(statuses.first).renewalInfo.payloadValue
    }

    @Test("A year has the terms of both plans, with the price of a charge, of the commitment, and the plan's offers")
    func terms() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let product = try await phone.product("member.yearly")
            let info = try #require(product.subscription)
            let (upFront, monthly) = (try #require(info.pricingTerms.first), try #require(info.pricingTerms.last))
            #expect(info.pricingTerms.map(\.billingPlanType) == [.upFront, .monthly])
            #expect(upFront.billingPrice == product.price && upFront.billingDisplayPrice == product.displayPrice)
            #expect(upFront.billingPeriod == .yearly && upFront.commitmentInfo.period == .yearly)
            #expect(upFront.commitmentInfo.price == product.price)
            #expect(upFront[offers: .introductory] == [try #require(info.introductoryOffer)])
            #expect(upFront[offers: .promotional] == info.promotionalOffers)
            #expect(upFront[offers: .winBack] == info.winBackOffers && upFront.subscriptionOffers.count == 3)
            #expect(monthly.billingPeriod == .monthly && monthly.commitmentInfo.period == .yearly)
            #expect(monthly.commitmentInfo.price == monthly.billingPrice * 12)
            #expect(monthly.billingPrice * 12 >= product.price && monthly.billingPrice * 12 < product.price + 1)
            #expect(monthly.billingDisplayPrice == monthly.billingPrice.formatted(product.priceFormatStyle))
            #expect(monthly.subscriptionOffers.isEmpty)
        }
    }

    @Test("A month, and a product in a storefront without a monthly price, are paid up front only")
    func upFrontOnly() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let month = try #require(try await phone.product("member.monthly").subscription)
            #expect(month.pricingTerms.map(\.billingPlanType) == [.upFront])
            #expect(month.pricingTerms.map(\.billingPeriod) == [.monthly])
            #expect(month.pricingTerms.map(\.commitmentInfo.period) == [.monthly])
        }
    }

    @Test("A purchase by the month states its place in the commitment, and what follows it")
    func commitment() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let product = try await phone.product("member.yearly")
            let terms = try #require(product.subscription?.pricingTerms.last)
            let first = try await phone.bought("member.yearly", [.billingPlanType(.monthly)]).payloadValue
            #expect(first.billingPlanType == .monthly && first.price == terms.billingPrice && first.offer == nil)
            let begun = try #require(first.commitmentInfo)
            #expect(begun.billingPeriodNumber == 1 && begun.totalBillingPeriods == 12)
            #expect(begun.price == terms.commitmentInfo.price)
            let end = SubscriptionPeriod.yearly.dateRange(referenceDate: first.purchaseDate).upperBound
            #expect(begun.expirationDate == end && first.expirationDate.map { $0 < end } == true)

            let running = try await renewal(phone)
            #expect(running.renewalBillingPlanType == .monthly && running.willAutoRenew)
            let next = try #require(running.commitmentInfo)
            #expect(next.willAutoRenew && next.renewalBillingPlanType == .monthly)
            #expect(next.autoRenewPreference == product.id && next.renewalDate == end)
            #expect(next.renewalPrice == terms.commitmentInfo.price)

            try await world.ask(.post, "/emulator/subscriptions/\(first.id)/cancel")
            let cancelled = try await renewal(phone)
            #expect(cancelled.willAutoRenew, "the months of the commitment are owed")
            #expect(cancelled.commitmentInfo?.willAutoRenew == false)
            world.advance(seconds: 32 * 86_400)
            let second = try #require(await phone.run { await Transaction.latest(for: product.id) }).payloadValue
            #expect(second.id != first.id && second.commitmentInfo?.billingPeriodNumber == 2)
            #expect(second.commitmentInfo?.expirationDate == begun.expirationDate)
        }
    }

    @Test("A year that is paid up front names its plan and has no commitment; another product has neither")
    func upFront() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let year = try await phone.bought("member.yearly", [.billingPlanType(.upFront)]).payloadValue
            #expect(year.billingPlanType == .upFront && year.commitmentInfo == nil)
            let info = try await renewal(phone)
            #expect(info.renewalBillingPlanType == .upFront && info.commitmentInfo == nil)
            let points = try await phone.bought("points60").payloadValue
            #expect(points.billingPlanType == nil && points.commitmentInfo == nil)
            #expect(points.previousOriginalTransactionID == nil)
        }
    }
}
