import Testing
import TillAppStore
import TillBilling

@testable import TillEmulator

/// Signed subscriptions: an offer of each kind, a commitment and a year paid up front, a shared copy, and a refund of
/// the unused time.
extension SignedProofs {
    private static let group = "21000077"

    private static func products() -> [StoreProduct] {
        func year(_ id: String, _ amount: Int64) -> StoreProduct {
            var product = StoreProduct(
                id: ProductID(id), kind: .autoRenewable, name: id,
                prices: ["CHN": Money(amount: amount, currency: Currency("CNY"))],
                subscription: SubscriptionTerms(groupID: group, period: .year, allowsMonthlyBilling: true))
            product.isFamilyShareable = true
            return product
        }
        return [year("proof.year", 59_900)]
    }

    mutating func addSubscriptions(_ world: EmulatedWorld) async throws {
        let store = world.emulator.store
        let products = try await store.products() + Self.products()
        try await store.change { _ = try ProductTable.replace(products, $0.connection).get() }
        for name in ["proof-payer", "proof-member"] {
            var change = AccountChange()
            change.family = "proof-payer"
            _ = try await store.changeAccount(name, change).get()
        }
        let month = try await buy("proof-payer", byTheMonth: true, world)
        try await add("a commitment", month, world)
        let copy = try #require(
            try await store.transactions(account: "proof-member", unfinishedOnly: false, limit: 10).last)
        #expect(copy.sharedFrom == month.number)
        try await add("a family's copy", copy, world)
        let year = try await buy("proof-year", byTheMonth: false, world)
        try await add("a year up front", year, world)
        for kind in ProductOffer.Kind.allCases {
            for discount in ProductOffer.Discount.allCases where discount != .oneTime {
                var offered = year
                offered.offer = StoreTransaction.Offer(
                    kind: kind, identifier: kind == .introductory ? nil : "proof", discount: discount, period: "P3M")
                try await add("\(kind.rawValue) \(discount.rawValue)", offered, world)
            }
        }
        world.advance(seconds: 40 * 86_400)
        let refunded = try await store.refund(year.number, reason: 1, .unusedTime).get()
        #expect(refunded.revocation?.type == "REFUND_PRORATED")
        try await add("a prorated refund", refunded, world)
    }

    private func buy(_ account: String, byTheMonth: Bool, _ world: EmulatedWorld) async throws -> StoreTransaction {
        var request = PurchaseRequest(bundleID: "com.example.learnpoints", productID: ProductID("proof.year"))
        request.account = account
        request.storefront = "CHN"
        request.monthlyBilling = byTheMonth
        request.appAccountToken = UniqueID(high: 0x3F2C_1A00_1111_4222, low: 0x8333_4444_5555_6666)
        guard case .purchased(let transaction) = try await world.emulator.store.purchase(request).get() else {
            Issue.record("\(account) did not buy")
            throw CancellationError()
        }
        return transaction
    }

    /// A transaction with its renewal info, whose next period has the same offer.
    private mutating func add(_ name: String, _ transaction: StoreTransaction, _ world: EmulatedWorld) async throws {
        let issuer = world.emulator.issuer
        add(name, try issuer.sign(SignedContent.transaction(transaction, signed: world.now)))
        var subscription = try #require(try await world.emulator.store.subscription(transaction.original))
        if let offer = transaction.offer {
            subscription.runningOffer = StoreSubscription.RunningOffer(
                offer: offer, price: transaction.price, charges: 1)
            subscription.eligibleWinBacks = ["proof", "other"]
        }
        let renewal = SignedContent.renewal(subscription, current: transaction, signed: world.now)
        add("\(name): renewal info", try issuer.sign(renewal), .renewal)
    }
}
