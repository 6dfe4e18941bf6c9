import TillAppStore
import TillBilling
import TillSQL

/// Price increases for existing subscribers (facts/business-rules §8.4).
enum PriceIncrease {
    /// The increase that the developer requests.
    struct IncreaseRequest: Sendable, Hashable {
        var price: Money
        /// Nil: determined by the function `needsConsent`.
        var needsConsent: Bool?
        /// Nil: from the next renewal on.
        var effective: Instant?
    }

    /// About five dollars in minor units; ten times as much for a year. Apple gives the amount in dollars only; the
    /// other currencies are our rounding.
    private static let smallStep: [String: Int64] = [
        "USD": 500, "EUR": 500, "GBP": 500, "CAD": 700, "AUD": 700, "CNY": 3_500, "HKD": 4_000, "JPY": 750,
    ]

    /// Whether the customer must consent: for a second increase within a year, for more than half of the price, or for
    /// more than about five dollars (fifty for a period of a year). For a currency without a known amount only the
    /// first two apply.
    static func needsConsent(from old: Money, to new: Money, period: SubscriptionPeriod?, last: Instant?, now: Instant)
        -> Bool
    {
        let (step, overflow) = new.amount.subtractingReportingOverflow(old.amount)
        if overflow || step > old.amount / 2 { return true }
        if let last, last.adding(seconds: 365 * 86_400) > now { return true }
        guard let small = smallStep[new.currency.text] else { return false }
        return step > (period == .year ? 10 * small : small)
    }

    static func raise(
        _ original: Int64, _ request: IncreaseRequest, _ change: StoreChange
    ) throws -> Result<StoreSubscription, StoreRefusal> {
        switch try SubscriptionLifecycle.changeable(original, change) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let subscription): return try raise(subscription, request, change)
        }
    }

    private static func raise(
        _ known: StoreSubscription, _ request: IncreaseRequest, _ change: StoreChange
    ) throws -> Result<StoreSubscription, StoreRefusal> {
        let id = String(known.original)
        guard known.isGoingOn else { return .failure(.subscriptionEnded(id)) }
        guard let old = known.renewalPrice, old.currency == request.price.currency, old.amount < request.price.amount
        else {
            return .failure(.notAnIncrease(id))
        }
        let own = try ProductTable.find(known.renewalProductID, change.connection)?.subscription?.period
        let period = known.monthlyBilling ? .month : own
        let needsConsent =
            request.needsConsent
            ?? Self.needsConsent(
                from: old, to: request.price, period: period, last: known.lastIncrease, now: change.now)
        var subscription = known
        subscription.priceIncrease = StoreSubscription.PriceIncrease(
            price: request.price, effective: max(request.effective ?? change.now, change.now),
            needsConsent: needsConsent,
            isAccepted: !needsConsent)
        try SubscriptionLifecycle.save(subscription, change)
        let current = try SubscriptionLifecycle.current(of: subscription, change)
        try change.note(.priceIncrease, needsConsent ? .pending : .accepted, about: current, subscription)
        return .success(subscription)
    }

    /// Records the customer's answer. A refusal turns renewal off, as a cancellation does.
    static func answer(
        _ original: Int64, accepts: Bool, _ change: StoreChange
    ) throws -> Result<StoreSubscription, StoreRefusal> {
        var subscription: StoreSubscription
        switch try SubscriptionLifecycle.changeable(original, change) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let found): subscription = found
        }
        guard subscription.isGoingOn, let increase = subscription.priceIncrease, !increase.isAccepted else {
            return .failure(.noConsentAsked(String(original)))
        }
        guard accepts else { return try PlanChoice.cancel(original, change) }
        subscription.priceIncrease?.isAccepted = true
        try SubscriptionLifecycle.save(subscription, change)
        let current = try SubscriptionLifecycle.current(of: subscription, change)
        try change.note(.priceIncrease, .accepted, about: current, subscription)
        return .success(subscription)
    }
}

extension StoreSchema {
    static let priceIncreases: StaticString = """
        CREATE TABLE price_increases (
            number INTEGER PRIMARY KEY,
            content TEXT NOT NULL
        ) STRICT;
        """
}

/// A product's price increase in one storefront, and its progress through the subscribers. The new list price and the
/// first batch are one commit; the schedule continues with the others, also after a crash.
public struct ProductPriceIncrease: Sendable, Hashable, Codable {
    public var productID: ProductID
    public var bundleID: String
    public var storefront: String
    public var price: Money
    /// Nil: by Apple's thresholds, for each subscriber (facts/business-rules §8.4).
    public var needsConsent: Bool?
    /// The increase applies to renewals from then on; nil: from the next one on.
    public var effective: Instant?
    /// The number of subscribers informed so far.
    public internal(set) var notified: Int64 = 0
    /// Whether all subscribers were processed.
    public internal(set) var isComplete = false
    /// The last processed subscription.
    var after: Int64 = 0

    /// Subscriptions per commit. The next commit follows a second later.
    static let batch = 256
    private static let pause: Int64 = 1

    init(
        productID: ProductID, bundleID: String, storefront: String, price: Money, needsConsent: Bool?,
        effective: Instant?
    ) {
        self.productID = productID
        self.bundleID = bundleID
        self.storefront = storefront
        self.price = price
        self.needsConsent = needsConsent
        self.effective = effective
    }

    /// - Returns: the increase with its progress.
    func begin(_ change: StoreChange) throws -> Result<ProductPriceIncrease, StoreRefusal> {
        guard var product = try ProductTable.find(productID, change.connection) else {
            return .failure(try ProductTable.unknown(productID.text, change.connection))
        }
        guard product.subscription != nil, let old = product.prices[storefront] else {
            return .failure(.notForSale(product: productID.text, storefront: storefront))
        }
        guard old.currency == price.currency, old.amount < price.amount else {
            return .failure(.notAnIncrease(ofProduct: productID.text))
        }
        product.prices[storefront] = price
        try ProductTable.update(product, change.connection)
        let number = try change.connection.insert(
            "INSERT INTO price_increases (content) VALUES (?)", [.text(try StoredDocument.text(self))])
        return .success(try proceed(number, change))
    }

    /// Continues an increase where it stopped.
    static func proceed(_ number: Int64, _ change: StoreChange) throws {
        let stored = try change.connection.first(
            "SELECT content FROM price_increases WHERE number = ?", [.integer(number)]
        ) { try StoredDocument.read(ProductPriceIncrease.self, from: $0.text("content")) }
        if let stored, !stored.isComplete { _ = try stored.proceed(number, change) }
    }

    private func proceed(_ number: Int64, _ change: StoreChange) throws -> ProductPriceIncrease {
        var increase = self
        let page = try SubscriptionTable.ofProduct(
            productID, bundleID: bundleID, after: after, limit: Self.batch, change.connection)
        let product = try ProductTable.find(productID, change.connection)
        for subscription in page where subscription.renewalProductID == productID && subscription.isGoingOn {
            let current = try SubscriptionLifecycle.current(of: subscription, change)
            // Subscribers with a monthly plan are informed of the monthly price.
            guard current.storefront == storefront,
                let price = subscription.monthlyBilling
                    ? product?.chargePrice(in: storefront, byTheMonth: true) : price
            else { continue }
            let request = PriceIncrease.IncreaseRequest(price: price, needsConsent: needsConsent, effective: effective)
            if case .success = try PriceIncrease.raise(subscription.original, request, change) {
                increase.notified += 1
            }
        }
        increase.after = page.last?.original ?? after
        increase.isComplete = page.count < Self.batch
        try change.connection.execute(
            "UPDATE price_increases SET content = ? WHERE number = ?",
            [.text(try StoredDocument.text(increase)), .integer(number)])
        if !increase.isComplete {
            try Schedule.set(.priceIncrease, number, at: change.now.adding(seconds: Self.pause), change.connection)
        }
        return increase
    }
}

extension Store {
    /// Raises the price of a product in one storefront, for existing and new subscribers. Subscribers who already pay
    /// this price are not informed.
    public func raisePrice(
        of productID: ProductID, bundleID: String, storefront: String, to price: Money, needsConsent: Bool? = nil,
        effective: Instant? = nil
    ) async throws -> Result<ProductPriceIncrease, StoreRefusal> {
        let increase = ProductPriceIncrease(
            productID: productID, bundleID: bundleID, storefront: storefront, price: price,
            needsConsent: needsConsent, effective: effective)
        return try await change { try increase.begin($0) }
    }
}

extension StoreRefusal {
    static func notAnIncrease(ofProduct product: String) -> StoreRefusal {
        StoreRefusal(
            "not_an_increase", status: 422,
            "The price must be higher than the current price of \(product) in the storefront, in the same currency.",
            "新价格必须高于 \(product) 在该店面的现价，且币种相同。")
    }
}
