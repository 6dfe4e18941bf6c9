import TillAppStore
import TillBilling
import TillHTTP

@testable import TillEmulator

extension EmulatedWorld {
    /// A year with three subscriptions of one account: monthly without a failure, weekly, and one with a failed charge,
    /// a refund and a final cancellation.
    func subscribeForAYear() async throws {
        try await emulator.store.setNotificationURL("http://127.0.0.1:9/hook")
        try await emulator.store.setBillingGracePeriod(BillingGracePeriod(.sixteen))
        var products = StoreProduct.sampleCatalog(bundleID: "com.example.learnpoints")
        for (id, period) in [("magazine", SubscriptionPeriod.week), ("music", .month)] {
            products.append(
                StoreProduct(
                    id: ProductID("com.example.learnpoints.\(id)"), kind: .autoRenewable, name: "Daily \(id)",
                    prices: ["CHN": Money(amount: 600, currency: Currency("CNY"))],
                    subscription: SubscriptionTerms(groupID: id, level: 1, period: period)))
        }
        try await emulator.store.replaceProducts(products)
        var ids: [String] = []
        for product in ["member.monthly", "magazine", "music"] {
            ids.append(try await buy(product, ["account": "lin"])["originalTransactionId"]?.string ?? "")
        }
        func pass(_ span: String) async { _ = await ask(.post, "/emulator/clock", ["advance": .string(span)]) }
        func act(_ name: String) async { _ = await ask(.post, "/emulator/subscriptions/\(ids[2])/\(name)") }
        await pass("100d")
        await act("billingFailure")
        await pass("30d")
        await act("recover")
        await pass("95d")
        if let newest = await ask(.get, "/emulator/subscriptions/\(ids[2])").json["currentTransactionId"]?.string {
            _ = await ask(.post, "/emulator/transactions/\(newest)/refund")
        }
        _ = try await buy("music", ["account": "lin"])
        await pass("60d")
        await act("cancel")
        await pass("80d")
    }
}
