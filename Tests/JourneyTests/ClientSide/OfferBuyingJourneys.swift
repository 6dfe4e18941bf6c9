import Foundation
import Testing
import TillBilling
import TillClient
import TillHTTP
import TillJSON

private struct UnexpectedResult: Error {
    let result: PurchaseResult
}

@Suite("Buying with offers and billing plans") struct OfferBuyingJourneys {
    /// Ann has subscribed and left: Apple grants her promotional offers and no other introductory offer.
    private func open(
        _ generation: StoreKitGeneration, _ reach: Reach = .inProcess, isFormer: Bool = true,
        _ journey: (Shop, Phone) async throws -> Void
    ) async throws {
        try await Phones.open(generation, reach, change: { $0.catalog = MemberShop.catalog }) { phones in
            try await MemberShop.stock(phones.shop)
            let ann = try await phones.phone("ann")
            if isFormer {
                guard case .completed = await ann.buy(MemberShop.monthly) else {
                    Issue.record("not subscribed: \(await ann.orders())")
                    return
                }
                #expect(try await ann.hasFinishedAll())
                try await phones.shop.expireMembership(of: "ann")
            }
            try await journey(phones.shop, ann)
        }
    }

    private func buy(
        _ ann: Phone, _ options: PurchaseOptions, of product: String = MemberShop.monthly
    ) async throws -> StoreOrder {
        let result = try await ann.use { try await $0.purchase(product, options: options) }
        guard case .completed(let order) = result else { throw UnexpectedResult(result: result) }
        return order
    }

    private func refusal(
        _ ann: Phone, _ options: PurchaseOptions, of product: String = MemberShop.monthly
    ) async throws -> TillError {
        let result: PurchaseResult
        do {
            result = try await ann.use { try await $0.purchase(product, options: options) }
        } catch let error as TillError {
            return error
        }
        throw UnexpectedResult(result: result)
    }

    private func request(_ shop: Shop, _ path: String, _ more: [String: JSONValue]) async throws -> Reply {
        let body: [String: JSONValue] = ["productId": .string(MemberShop.monthly)]
        let reply = try await shop.send(.post, path, .object(body.merging(more) { $1 }))
        try #require(reply.status == 200, "\(reply.body)")
        return reply
    }

    @Test(
        "A user buys at the price of an open offer, and the store accepts the server's signature",
        arguments: StoreKitGeneration.both, Reach.allCases)
    func openOffer(_ generation: StoreKitGeneration, _ reach: Reach) async throws {
        try await open(generation, reach) { shop, ann in
            var options = PurchaseOptions()
            options.promotionalOffer = MemberShop.open
            let order = try await buy(ann, options)
            #expect(try await shop.amounts(of: "ann").last == MemberShop.offerPrice)
            #expect(try await shop.status(of: #require(UniqueID(order.orderID))) == "completed")
            #expect(try await ann.hasFinishedAll())
            // The next purchase has the regular price again.
            try await shop.expireMembership(of: "ann")
            _ = try await buy(ann, PurchaseOptions())
            #expect(try await shop.amounts(of: "ann").last == MemberShop.listPrice)
        }
    }

    @Test(
        "A restricted offer is refused: its order is closed here and at the server, and the next tap opens another one",
        arguments: StoreKitGeneration.both, Reach.allCases)
    func restricted(_ generation: StoreKitGeneration, _ reach: Reach) async throws {
        try await open(generation, reach) { shop, ann in
            let paid = try await ann.paid()
            var options = PurchaseOptions()
            options.promotionalOffer = MemberShop.restricted
            let error = try await refusal(ann, options)
            #expect(error.code == .offerNotOpen && !error.isRetryable && error.requestID != nil)
            #expect(error.message(in: "en").hasSuffix("Nothing was charged."))
            #expect(error.message(in: "zh").hasSuffix("本次未扣款。"))
            let id = try #require(error.orderID.flatMap { UniqueID($0) })
            #expect(try await eventually { try await shop.status(of: id) == "failed" })
            #expect(await ann.orders().first { $0.orderID == error.orderID }?.status == .failed)
            #expect(try await ann.paid() == paid)
            let next = try await buy(ann, PurchaseOptions())
            #expect(next.orderID != error.orderID)
            #expect(try await shop.amounts(of: "ann").last == MemberShop.listPrice)
        }
    }

    @Test(
        "A new customer gets the App Store's refusal of an open offer, and nothing is charged",
        arguments: StoreKitGeneration.both)
    func newCustomer(_ generation: StoreKitGeneration) async throws {
        try await open(generation, isFormer: false) { _, ann in
            var options = PurchaseOptions()
            options.promotionalOffer = MemberShop.open
            let error = try await refusal(ann, options)
            #expect(error.code.rawValue == "store_ineligible_for_offer" && error.orderID != nil)
            #expect(error.message(in: "en").hasSuffix("Nothing was charged."))
            #expect(try await ann.paid().isEmpty)
        }
    }

    @Test(
        "The app passes on the signature that its backend requested for an order, once",
        arguments: StoreKitGeneration.both, Reach.allCases)
    func signedOffer(_ generation: StoreKitGeneration, _ reach: Reach) async throws {
        try await open(generation, reach) { shop, ann in
            let order = try await shop.openOrder(MemberShop.monthly, as: "ann")
            let reply = try await request(
                shop, "/v1/offers/promotional",
                ["offerId": .string(MemberShop.restricted), "orderId": .string(order.description), "userId": "ann"])
            var options = PurchaseOptions()
            options.order = order.description
            options.signedOffer = Data(reply.body.encoded().utf8)
            #expect(try await buy(ann, options).orderID == order.description)
            #expect(try await shop.amounts(of: "ann").last == MemberShop.offerPrice)
            // For another order it is worth nothing, and nothing is opened for it.
            try await shop.expireMembership(of: "ann")
            let count = await ann.orders().count
            options.order = try await shop.openOrder(MemberShop.monthly, as: "ann").description
            let error = try await refusal(ann, options)
            #expect(error.code.rawValue == "store_invalid_offer_signature" && error.orderID == nil)
            #expect(await ann.orders().count == count)
        }
    }

    @Test(
        "The signature as a JWS buys through StoreKit 2; StoreKit 1 refuses it before anything is opened",
        arguments: StoreKitGeneration.both)
    func offerToken(_ generation: StoreKitGeneration) async throws {
        try await open(generation) { shop, ann in
            let reply = try await request(
                shop, "/v1/offers/promotional", ["offerId": .string(MemberShop.restricted), "form": "jws"])
            var options = PurchaseOptions()
            options.signedOffer = Data(reply.body.encoded().utf8)
            if generation == .storeKit2 {
                _ = try await buy(ann, options)
                #expect(try await shop.amounts(of: "ann").last == MemberShop.offerPrice)
                // Used up: the store refuses the nonce, and the server's order ends.
                try await shop.expireMembership(of: "ann")
                let error = try await refusal(ann, options)
                #expect(error.code.rawValue == "store_invalid_offer_signature" && error.orderID != nil)
            } else {
                try await expectUnsupported(ann, options)
            }
        }
    }

    @Test(
        "The backend's decision about the introductory offer counts on StoreKit 2, and is refused on StoreKit 1",
        arguments: StoreKitGeneration.both)
    func introductory(_ generation: StoreKitGeneration) async throws {
        try await open(generation) { shop, ann in
            let transaction = try #require(try await ann.paid().first)
            let reply = try await request(
                shop, "/v1/offers/introductory", ["allowed": true, "transactionId": .string(transaction)])
            var options = PurchaseOptions()
            options.introductoryEligibility = reply["compactJWS"].text
            if generation == .storeKit2 {
                _ = try await buy(ann, options)
                #expect(try await shop.amounts(of: "ann").last == 0)
            } else {
                try await expectUnsupported(ann, options)
            }
        }
    }

    @Test(
        "A year is paid by the month where StoreKit and the product allow it, and refused elsewhere",
        arguments: StoreKitGeneration.both)
    func billingPlan(_ generation: StoreKitGeneration) async throws {
        try await open(generation, isFormer: false) { shop, ann in
            var options = PurchaseOptions()
            options.billingPlan = .monthly
            try await expectUnsupported(ann, options)
            if generation == .storeKit2 {
                _ = try await buy(ann, options, of: MemberShop.yearly)
                #expect(try await shop.amounts(of: "ann") == [1_000])
            } else {
                try await expectUnsupported(ann, options, of: MemberShop.yearly)
                options.billingPlan = .upFront
                _ = try await buy(ann, options, of: MemberShop.yearly)
                #expect(try await shop.amounts(of: "ann") == [12_000])
            }
        }
    }

    private func expectUnsupported(
        _ ann: Phone, _ options: PurchaseOptions, of product: String = MemberShop.monthly
    ) async throws {
        let (count, paid) = (await ann.orders().count, try await ann.paid())
        let error = try await refusal(ann, options, of: product)
        #expect(error.code == .optionNotSupported && !error.isRetryable && error.orderID == nil)
        #expect(error.message(in: "en").hasSuffix("Nothing was charged."))
        #expect(await ann.orders().count == count)
        #expect(try await ann.paid() == paid)
    }
}
