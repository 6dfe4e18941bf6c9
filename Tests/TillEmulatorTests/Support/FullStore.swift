import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

/// A store with an item of every kind, and with names that a browser could interpret.
struct FullStore {
    static let hostile = #"<script>hacked=1</script>"><img src=x onerror=hacked=1>"# + "\u{202E}evil"
    static let bundleID = "com.example.learnpoints"
    static let start = EmulatedWorld.start

    let world: EmulatedWorld

    static func open() async throws -> FullStore {
        let world = try await EmulatedWorld()
        let store = FullStore(world: world)
        try await store.world.emulator.store.setNotificationURL("http://127.0.0.1:9/<b>")
        try await store.addProducts()
        try await store.openAccounts()
        try await store.sell()
        try await store.subscribe()
        try await store.hinder()
        return store
    }

    private func addProducts() async throws {
        var products = StoreProduct.sampleCatalog(bundleID: Self.bundleID)
        var odd = StoreProduct(
            id: ProductID("a<b>\"c"), kind: .nonConsumable, name: Self.hostile,
            prices: ["<i>": Money(amount: 120, currency: Currency("JPY"))])
        odd.isFamilyShareable = true
        odd.state = .rejected
        products.append(odd)
        for index in products.indices where products[index].subscription != nil {
            products[index].offers = [
                ProductOffer(kind: .introductory, discount: .freeTrial, period: OfferPeriod(1, .week)),
                ProductOffer(
                    kind: .winBack, identifier: "<u>back", discount: .payAsYouGo, period: OfferPeriod(1, .month)),
            ]
        }
        for state in ProductState.allCases {
            var product = StoreProduct(
                id: ProductID("state.\(state)"), kind: .consumable, name: "State",
                prices: ["CHN": Money(amount: 600, currency: Currency("CNY"))])
            product.state = state
            products.append(product)
        }
        try await world.emulator.store.replaceProducts(products)
    }

    private func openAccounts() async throws {
        try await world.emulator.store.change { change in
            for name in ["lin", "wei", Self.hostile, "gone"] + (10..<40).map({ "reader-\($0)" }) {
                _ = try AccountTable.account(name, openingIn: "CHN", change.connection)
                _ = try DownloadTable.download(
                    account: name, bundleID: Self.bundleID, at: change.now, change.connection)
            }
        }
    }

    /// Restricts the accounts; last, because they buy before.
    private func hinder() async throws {
        try await world.emulator.store.change { change in
            var hostile = StoreAccount(name: Self.hostile, storefront: "<i>")
            hostile.family = Self.hostile
            hostile.asksToBuy = true
            hostile.mayPay = false
            hostile.paymentMethodWorks = false
            try AccountTable.update(hostile, change.connection)
            var gone = StoreAccount(name: "gone", storefront: "USA")
            gone.isDeleted = true
            try AccountTable.update(gone, change.connection)
        }
    }

    private func sell() async throws {
        for account in ["lin", Self.hostile] {
            let buyer: [String: JSONValue] = ["account": .string(account)]
            for outcome in ["purchased", "deferred", "interrupted"] {
                _ = try await world.buy("points60", buyer.merging(["outcome": .string(outcome)]) { $1 })
            }
            _ = try await world.buy(
                "points300",
                buyer.merging(["quantity": 3, "appAccountToken": "3f2c91ab-0000-4000-8000-000000000001"]) { $1 })
            let paid = try await world.buy("points60", buyer)["transactionId"]?.string ?? ""
            _ = await world.ask(.post, "/emulator/transactions/\(paid)/refund", ["percentage": 33_500])
            let done = try await world.buy("library", buyer)["transactionId"]?.string ?? ""
            _ = await world.ask(.post, "/emulator/transactions/\(done)/finish")
            let asked = try await world.buy("points60", buyer.merging(["outcome": "deferred"]) { $1 })
            _ = await world.ask(.post, "/emulator/transactions/\(asked["transactionId"]?.string ?? "")/decline")
        }
        // More than one page of them.
        for _ in 0..<25 { _ = try await world.buy("points60", ["account": "wei", "receipt": false]) }
    }

    /// One subscription in each state for each of two accounts, with a history.
    private func subscribe() async throws {
        let states: [StoreSubscription.State] = [.active, .gracePeriod, .billingRetry, .expired, .revoked]
        for account in ["lin", Self.hostile] {
            try await world.emulator.store.change { change in
                for (index, state) in states.enumerated() {
                    try Life(account: account, group: "group-\(index)", state: state, now: change.now).write(change)
                }
            }
        }
    }
}

/// A subscription's history: a trial, a paid period ended by an upgrade, three more of the higher product, one of them
/// refunded; and the notifications about it.
private struct Life {
    let account: String
    let group: String
    let state: StoreSubscription.State
    let now: Instant

    private static let day: Int64 = 86_400

    func write(_ change: StoreChange) throws {
        let began = now.adding(seconds: -100 * Self.day)
        var periods: [StoreTransaction] = []
        for (index, days) in [0, 7, 20, 50, 80].enumerated() {
            let start = began.adding(seconds: Int64(days) * Self.day)
            let length: Int64 = index == 0 ? 7 : 30
            let product = index < 2 ? "basic" : "plus<b>"
            var period = StoreTransaction(
                price: Money(amount: index == 0 ? 0 : 1_800, currency: Currency("CNY")),
                number: try Counter.transaction.take(change.connection), original: 0, state: .purchased,
                isFinished: true,
                environment: .sandbox, account: account, bundleID: FullStore.bundleID, productID: ProductID(product),
                kind: .autoRenewable, quantity: 1, storefront: "CHN", appTransaction: 1,
                reason: [1, 3, 4].contains(index) ? "RENEWAL" : "PURCHASE", purchased: start, firstPurchased: began)
            period.original = periods.first?.number ?? period.number
            period.subscription = StoreTransaction.Subscription(
                groupID: group, expires: start.adding(seconds: length * Self.day),
                lineItem: try Counter.lineItem.take(change.connection))
            if index == 0 {
                period.offer = StoreTransaction.Offer(
                    kind: .introductory, identifier: "<s>", discount: .freeTrial, period: "P1W")
            }
            period.isUpgraded = index == 1
            if index == 3 {
                period.revocation = StoreTransaction.Revocation(
                    date: start.adding(seconds: 9 * Self.day), reason: 0, type: "REFUND_PRORATED", percentage: 70_000)
            }
            periods.append(try TransactionTable.insert(period, change.connection))
        }
        try SubscriptionTable.save(subscription(periods), change.connection)
        try tell(periods, change)
    }

    private func subscription(_ periods: [StoreTransaction]) throws -> StoreSubscription {
        let last = try #require(periods.last)
        let first = try #require(periods.first)
        let expires = try #require(last.subscription?.expires)
        var subscription = StoreSubscription(
            original: first.number, account: account, bundleID: FullStore.bundleID, groupID: group, state: state,
            productID: last.productID, current: last.number, expires: expires, billingDay: 1,
            renews: state == .active || state == .billingRetry, renewalProductID: last.productID,
            renewalPrice: last.price, recentStart: first.purchased, eligibleWinBacks: [], renewals: 3, extensions: [],
            billingFails: state == .billingRetry, monthlyBilling: false)
        switch state {
        case .active:
            subscription.priceIncrease = StoreSubscription.PriceIncrease(
                price: Money(amount: 2_500, currency: Currency("CNY")), effective: expires, needsConsent: true,
                isAccepted: false)
            subscription.runningOffer = StoreSubscription.RunningOffer(
                offer: StoreTransaction.Offer(
                    kind: .promotional, identifier: "<s>", discount: .payAsYouGo, period: "P3M"),
                price: last.price, charges: 2)
        case .gracePeriod: subscription.graceExpires = expires.adding(seconds: 16 * Self.day)
        case .billingRetry:
            subscription.graceExpires = expires.adding(seconds: 3 * Self.day)
            subscription.retryUntil = expires.adding(seconds: 60 * Self.day)
        case .expired, .revoked: subscription.expirationIntent = 1
        }
        return subscription
    }

    private func tell(_ periods: [StoreTransaction], _ change: StoreChange) throws {
        let notified: [(Int64, NotificationType, String?)] = [
            (0, .subscribed, "INITIAL_BUY"), (20, NotificationType(rawValue: "DID_CHANGE_RENEWAL_PREF"), "UPGRADE"),
            (55, NotificationType(rawValue: "DID_CHANGE_RENEWAL_STATUS"), "AUTO_RENEW_DISABLED"),
            (57, NotificationType(rawValue: "DID_CHANGE_RENEWAL_STATUS"), "AUTO_RENEW_ENABLED"),
            (59, .refund, nil), (60, NotificationType(rawValue: "DID_FAIL_TO_RENEW"), "GRACE_PERIOD"),
            (61, NotificationType(rawValue: "DID_RENEW"), "BILLING_RECOVERY"),
            (62, NotificationType(rawValue: "SOMETHING_<NEW>"), nil),
        ]
        for (days, type, subtype) in notified {
            let moment = change.now.adding(seconds: (days - 100) * Self.day)
            let past = StoreChange(
                connection: change.connection, now: moment, configuration: change.configuration, entropy: change.entropy
            )
            try past.note(
                type, subtype.map { NotificationSubtype(rawValue: $0) }, about: periods[0])
        }
    }
}
