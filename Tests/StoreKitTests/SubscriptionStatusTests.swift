import Foundation
import Testing
import TillJSON

@testable import StoreKit

@Suite("The status of a subscription (facts/storekit-client)")
struct SubscriptionStatusTests {
    private static let group = "21000001"

    private func statuses(_ phone: EmulatedDevice) async throws -> [Product.SubscriptionInfo.Status] {
        try await phone.run { try await Product.SubscriptionInfo.status(for: Self.group) }
    }

    private func only(_ phone: EmulatedDevice) async throws -> Product.SubscriptionInfo.Status {
        let found = try await statuses(phone)
        try #require(found.count == 1)
        return found[0]
    }

    private func act(
        _ world: ModernWorld, _ id: String, _ verb: String, _ body: JSONValue = [:]
    ) async throws {
        try await world.ask(.post, "/emulator/subscriptions/\(id)/\(verb)", body)
    }

    @Test("Subscribed, in grace, in retry, recovered, expired and revoked each have payloads signed for this phone")
    func life() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            #expect(try await statuses(phone).isEmpty)
            let bought = try await phone.bought("member.monthly").payloadValue
            let id = String(bought.id)
            let first = try await only(phone)
            #expect(first.state == .subscribed)
            #expect(try first.transaction.payloadValue.id == bought.id)
            let running = try first.renewalInfo.payloadValue
            #expect(running.originalTransactionID == bought.originalID)
            #expect(running.currentProductID == ModernWorld.id("member.monthly") && running.willAutoRenew)
            #expect(running.autoRenewPreference == ModernWorld.id("member.monthly"))
            #expect(running.expirationReason == nil && running.priceIncreaseStatus == .noIncreasePending)
            #expect(running.renewalDate == bought.expirationDate && running.renewalPrice == 18)
            #expect(running.currency?.identifier == "CNY" && running.environment == .sandbox)
            #expect(running.recentSubscriptionStartDate == bought.purchaseDate && !running.isInBillingRetry)
            #expect(running.offer == nil && running.eligibleWinBackOfferIDs.isEmpty)

            try await world.ask(.put, "/emulator/subscriptions/grace", ["days": 16])
            try await act(world, id, "billingFailure")
            world.advance(seconds: 31 * 86_400)
            let grace = try await only(phone)
            #expect(grace.state == .inGracePeriod)
            let graceInfo = try grace.renewalInfo.payloadValue
            #expect(graceInfo.isInBillingRetry && graceInfo.gracePeriodExpirationDate != nil)
            world.advance(seconds: 16 * 86_400)
            #expect(try await only(phone).state == .inBillingRetryPeriod)
            try await act(world, id, "recover")
            #expect(try await only(phone).state == .subscribed)
            let renewed = try await only(phone).transaction.payloadValue
            #expect(renewed.id != bought.id && renewed.originalID == bought.id && renewed.reason == .renewal)
            try await act(world, id, "cancel")
            #expect(try await only(phone).renewalInfo.payloadValue.willAutoRenew == false)
            world.advance(seconds: 31 * 86_400)
            let expired = try await only(phone)
            #expect(expired.state == .expired)
            #expect(try expired.renewalInfo.payloadValue.expirationReason == .autoRenewDisabled)
            try await world.act(String(renewed.id), "refund")
            let revoked = try await only(phone)
            #expect(revoked.state == .revoked)
            #expect(try revoked.transaction.payloadValue.revocationDate != nil)
        }
    }

    @Test("A charge that is never recovered ends as a billing error")
    func billingError() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let id = String(try await phone.bought("member.monthly").payloadValue.id)
            try await act(world, id, "billingFailure")
            world.advance(seconds: 31 * 86_400)
            let failing = try await only(phone)
            #expect(failing.state == .inBillingRetryPeriod)
            #expect(try failing.renewalInfo.payloadValue.isInBillingRetry)
            world.advance(seconds: 61 * 86_400)
            let over = try await only(phone)
            #expect(over.state == .expired)
            #expect(try over.renewalInfo.payloadValue.expirationReason == .billingError)
            #expect(try over.renewalInfo.payloadValue.isInBillingRetry == false)
        }
    }

    @Test("A shared subscription is listed after the account's own")
    func family() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone(1, of: "kid")
            for name in ["mum", "kid"] { try await world.set(name, ["family": "mum"]) }
            try await world.buy("member.yearly", of: "mum")
            #expect(try await only(phone).transaction.payloadValue.ownershipType == .familyShared)
            let own = try await phone.bought("member.monthly").payloadValue
            let both = try await statuses(phone)
            try #require(both.count == 2)
            #expect(try both.map { try $0.transaction.payloadValue.ownershipType } == [.purchased, .familyShared])
            #expect(try both[0].renewalInfo.payloadValue.originalTransactionID == own.id)
            #expect(both.allSatisfy { $0.state == .subscribed })
        }
    }

    @Test("A status is found by any transaction of its subscription, and by no other's")
    func byTransaction() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            func status(_ id: UInt64) async throws -> Product.SubscriptionInfo.Status? {
                try await phone.run { try await Product.SubscriptionInfo.status(transactionID: id) }
            }
            let first = try await phone.bought("member.monthly").payloadValue
            let other = try await phone.bought("points60").payloadValue
            world.advance(seconds: 31 * 86_400)
            let renewed = try await only(phone).transaction.payloadValue
            #expect(renewed.id != first.id)
            for id in [first.id, renewed.id] {
                #expect(try await status(id)?.renewalInfo.payloadValue.originalTransactionID == first.id)
            }
            #expect(try await status(other.id) == nil)
            #expect(try await status(1) == nil)
            #expect(await phone.run { await renewed.subscriptionStatus }?.state == .subscribed)
            let stranger = try world.phone(2, of: "eve")
            #expect(
                try await stranger.run { try await Product.SubscriptionInfo.status(transactionID: first.id) } == nil)
        }
    }

    @Test("The introductory offer is for customers who never subscribed, independent of other customers")
    func introductory() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let info = try #require(try await phone.product("member.yearly").subscription)
            try await world.buy("member.yearly", of: "eve")
            #expect(await phone.run { await info.isEligibleForIntroOffer })
            #expect(await phone.run { await Product.SubscriptionInfo.isEligibleForIntroOffer(for: Self.group) })
            #expect(try await phone.run { try await info.status }.isEmpty)
            let bought = try await phone.bought("member.yearly").payloadValue
            #expect(bought.offer?.type == .introductory && bought.offer?.paymentMode == .freeTrial)
            #expect(bought.offer?.period == .weekly && bought.price == 0)
            #expect(await phone.run { await info.isEligibleForIntroOffer } == false)
            #expect(await phone.run { await Product.SubscriptionInfo.isEligibleForIntroOffer(for: "none") } == false)
            #expect(try await phone.run { try await info.status }.map(\.state) == [.subscribed])
        }
    }

    @Test("A price increase is pending until the customer consents; without consent the expiration reason names it")
    func priceIncrease() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let id = String(try await phone.bought("member.monthly").payloadValue.id)
            let raise: JSONValue = ["price": ["amount": 9_900, "currency": "CNY"], "needsConsent": true]
            try await act(world, id, "priceIncrease", raise)
            #expect(try await only(phone).renewalInfo.payloadValue.priceIncreaseStatus == .pending)
            try await act(world, id, "consent", ["accept": true])
            let agreed = try await only(phone).renewalInfo.payloadValue
            #expect(agreed.priceIncreaseStatus == .agreed && agreed.renewalPrice == 99)
            let other = try world.phone(2, of: "bob")
            let second = String(try await other.bought("member.monthly").payloadValue.id)
            try await act(world, second, "priceIncrease", raise)
            world.advance(seconds: 32 * 86_400)
            let ended = try await only(other)
            #expect(ended.state == .expired)
            #expect(try ended.renewalInfo.payloadValue.expirationReason == .didNotConsentToPriceIncrease)
        }
    }

    @Test("`all` has the groups in which the customer ever subscribed, and ends")
    func all() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            func groups() async -> [String] {
                await phone.run {
                    var found: [String] = []
                    for await (groupID, statuses) in Product.SubscriptionInfo.Status.all {
                        found.append("\(groupID) \(statuses.map(\.state.rawValue))")
                    }
                    return found
                }
            }
            #expect(await groups().isEmpty)
            try await phone.bought("member.monthly").payloadValue.finish()
            #expect(await groups() == ["21000001 [1]"])
        }
    }

    @Test("Without the store a status is a network error, and introductory eligibility is false")
    func offline() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let info = try #require(try await phone.product("member.yearly").subscription)
            client.cut()
            await #expect { _ = try await phone.run { try await info.status } } throws: { error in
                if case StoreKitError.networkError = error { true } else { false }
            }
            await #expect {
                _ = try await phone.run { try await Product.SubscriptionInfo.status(transactionID: 1) }
            } throws: { error in
                if case StoreKitError.networkError = error { true } else { false }
            }
            #expect(await phone.run { await info.isEligibleForIntroOffer } == false)
        }
    }
}
