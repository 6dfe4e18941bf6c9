import Foundation
import StoreKit
import Testing
import TillHTTP
import TillJSON
import TillThreads

@Suite("StoreKit 2: purchases")
struct ModernPurchaseTests {
    @Test("Products match the storefront; unknown ones are missing; any collection of ids is accepted")
    func products() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let ids = ["points60": 1, "library": 2, "member.yearly": 3, "none": 4]
            let wanted = Dictionary(uniqueKeysWithValues: ids.map { (ModernWorld.id($0.key), $0.value) })
            let products = try await phone.run { try await Product.products(for: wanted.keys) }
            #expect(Set(products.map(\.id)) == Set(["points60", "library", "member.yearly"].map(ModernWorld.id)))
            let points = try #require(products.first { $0.id == ModernWorld.id("points60") })
            #expect(points.displayName == "60 学点")
            #expect(points.description == "用于 LearnPoints。")
            #expect(points.price == 6)
            #expect(points.displayPrice == "¥6.00")
            #expect(points.priceFormatStyle.currencyCode == "CNY")
            #expect(points.type == .consumable)
            #expect(points.subscription == nil)
            #expect(!points.isFamilyShareable)
            let yearly = try #require(products.first { $0.id == ModernWorld.id("member.yearly") })
            #expect(yearly.type == .autoRenewable)
            #expect(yearly.subscription?.subscriptionGroupID == "21000001")
            #expect(String(decoding: yearly.jsonRepresentation, as: UTF8.self).contains(#""groupName":"Membership""#))
            #expect(try await phone.run { try await Product.products(for: [String]()) }.isEmpty)
        }
    }

    @Test("Every member of a transaction is as the store signed it")
    func everything() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let token = UUID()
            let result = try await phone.bought("points60", [.quantity(3), .appAccountToken(token)])
            let bought = try result.payloadValue
            #expect(bought.productID == ModernWorld.id("points60"))
            #expect(bought.productType == .consumable)
            #expect(bought.purchasedQuantity == 3)
            #expect(bought.appAccountToken == token)
            #expect(bought.price == 18)
            #expect(bought.currency?.identifier == "CNY")
            #expect(bought.storefront.countryCode == "CHN")
            #expect(bought.storefrontCountryCode == "CHN")
            #expect(bought.environment == .sandbox)
            #expect(bought.reason == .purchase)
            #expect(bought.ownershipType == .purchased)
            #expect(bought.originalID == bought.id)
            #expect(bought.appBundleID == ModernWorld.bundleID)
            #expect(bought.expirationDate == nil)
            #expect(bought.offer == nil)
            #expect(bought.revocationDate == nil)
            #expect(!bought.isUpgraded)
            #expect((bought.purchaseDate.timeIntervalSince1970 * 1_000).rounded() == 1_772_353_800_123)
            #expect(bought.signedDate == bought.purchaseDate)
            #expect(bought.jsonRepresentation == result.payloadData)
            #expect(result.jwsRepresentation.split(separator: ".").count == 3)
            #expect(result.signatureData.count == 64)
            #expect(result.signedData == Data(result.jwsRepresentation.utf8.prefix(result.signedData.count)))
            #expect(result.deviceVerificationNonce == bought.deviceVerificationNonce)
            let payload = try JSONValue(decoding: bought.jsonRepresentation)
            #expect(payload["transactionId"]?.string == "\(bought.id)")
        }
    }

    struct Sheet: Sendable {
        let outcome: String
        let expected: String
    }

    @Test(
        "The customer's action at the payment sheet is the result",
        arguments: [
            Sheet(outcome: "purchased", expected: "success"), Sheet(outcome: "cancelled", expected: "userCancelled"),
            Sheet(outcome: "deferred", expected: "pending"), Sheet(outcome: "interrupted", expected: "userCancelled"),
            Sheet(outcome: "failed", expected: "unknown"),
        ])
    func sheets(_ sheet: Sheet) async throws {
        try await ModernWorld.with { world in
            try await world.set("ann", ["paymentSheet": .string(sheet.outcome)])
            let phone = try world.phone()
            #expect(await outcome(of: phone, "points60") == sheet.expected)
        }
    }

    @Test(
        "A request that is not allowed fails with Apple's documented error",
        arguments: [
            ("points60", 0, "invalidQuantity"), ("points60", 11, "invalidQuantity"), ("points60", 10, "success"),
            ("library", 2, "invalidQuantity"),
        ])
    func quantities(_ product: String, _ quantity: Int, _ expected: String) async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            #expect(await outcome(of: phone, product, [.quantity(quantity)]) == expected)
        }
    }

    @Test("Forbidden payments, products removed from sale, unknown offers and a missing network have their errors")
    func errors() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let yearly = try await phone.product("member.yearly")
            func outcome(_ options: Set<Product.PurchaseOption> = []) async -> String {
                await name { try await phone.run { try await yearly.purchase(options: options) } }
            }
            let signed: (String) -> Product.PurchaseOption = {
                .promotionalOffer(
                    offerID: $0, keyID: "ABCDEFGHIJ", nonce: UUID(), signature: Data([1, 2, 3]),
                    timestamp: Int(ModernWorld.start.milliseconds))
            }
            #expect(await outcome([signed("none")]) == "invalidOfferIdentifier")
            #expect(await outcome([signed("loyal")]) == "invalidOfferSignature")
            #expect(
                await outcome(Set(Product.PurchaseOption.promotionalOffer("loyal", compactJWS: "a.b.c")))
                    == "invalidOfferSignature")
            let comeback = try #require(yearly.subscription?.winBackOffers.first)
            #expect(await outcome([.winBackOffer(comeback)]) == "ineligibleForOffer")
            client.cut("/emulator/purchases")
            #expect(await outcome() == "networkError -1004")
            client.mend()
            try await world.set("ann", ["mayPay": false])
            #expect(await outcome() == "purchaseNotAllowed")
        }
    }

    @Test("A product missing in the account's new storefront is refused, and the app may cancel before that")
    func storefront() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let points = try await phone.product("points60")
            let asked = Locked<[String]>([])
            let option = Product.PurchaseOption.onStorefrontChange { storefront in
                asked.withLock { $0.append(storefront.countryCode) }
                return false
            }
            #expect(await name { try await phone.run { try await points.purchase(options: [option]) } } == "success")
            #expect(asked.withLock { $0 }.isEmpty)
            try await world.set("ann", ["storefront": "USA"])
            #expect(
                await name { try await phone.run { try await points.purchase(options: [option]) } }
                    == "notAvailableInStorefront")
            #expect(asked.withLock { $0 } == ["USA"])
            #expect(await name { try await phone.run { try await points.purchase() } } == "success")
            try await world.set("ann", ["storefront": "JPN"])
            #expect(
                await name { try await phone.run { try await points.purchase() } } == "notAvailableInStorefront")
        }
    }

    @Test("A non-consumable that is owned already succeeds with the earlier transaction")
    func ownedAlready() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let first = try await phone.bought("library").payloadValue
            await phone.run { await first.finish() }
            let second = try await phone.bought("library").payloadValue
            #expect(second.id == first.id)
            #expect(second.purchaseDate == first.purchaseDate)
        }
    }

    @Test("A downgrade succeeds with the running period, and so does buying the current subscription")
    func scheduled() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let yearly = try await phone.bought("member.yearly").payloadValue
            let answer = try await phone.bought("member.monthly").payloadValue
            #expect(answer.id == yearly.id)
            #expect(answer.productID == ModernWorld.id("member.yearly"))
            #expect(try await phone.bought("member.yearly").payloadValue.id == yearly.id)
            #expect(await phone.ids { Transaction.all } == ["\(yearly.id)"])
        }
    }

    @Test("Ask to Buy can be simulated, and the approval comes in the updates with the app's token")
    func askToBuy() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let listening = phone.listen()
            let token = UUID()
            let result = try await phone.buy("points60", [.simulatesAskToBuyInSandbox(true), .appAccountToken(token)])
            guard case .pending = result else {
                Issue.record("\(result)")
                return
            }
            #expect(await listening.receives(0).isEmpty)
            let id = try await world.newest()
            try await world.act(id, "approve")
            #expect(await listening.receives(1) == [id])
            #expect(listening.results.first?.unsafePayloadValue.appAccountToken == token)
            await listening.end()
        }
    }

    private func outcome(
        of phone: EmulatedDevice, _ product: String, _ options: Set<Product.PurchaseOption> = []
    ) async -> String { await name { try await phone.buy(product, options) } }
}

/// The outcome of a purchase, in one word.
func name(_ purchase: () async throws -> Product.PurchaseResult) async -> String {
    do {
        switch try await purchase() {
        case .success(.verified): return "success"
        case .success(.unverified(_, let error)): return "unverified \(error)"
        case .userCancelled: return "userCancelled"
        case .pending: return "pending"
        @unknown default: return "unknown"
        }
    } catch let error as Product.PurchaseError {
        return "\(error)"
    } catch StoreKitError.networkError(let error) {
        return "networkError \(error.code.rawValue)"
    } catch {
        return "\(error)"
    }
}
