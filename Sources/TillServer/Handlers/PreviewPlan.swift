import TillAPI
import TillBilling
import TillHTTP
import TillStorage

extension Server {
    /// `POST /v1/plans/preview?environment=`: what buying a plan at one moment would come to (C6). Nothing is stored:
    /// the purchase itself is folded by the same arithmetic.
    func previewPlan(_ call: Call) async throws -> HTTPResponse {
        let body = try JSONText.decode(PlanPreviewBody.self, from: call.request.body)
        let user = try call.credential.buyer(naming: body.userId)
        let environment = try call.environment(for: user, configuration)
        let plan = try keptPlan(named: try Bounds.string(body.planId, "planId", 255))
        let device = try body.deviceId.map(Bounds.device)
        let quantity = body.quantity ?? 1
        guard (1...10).contains(quantity) else { throw Refused(.quantityNotAllowed) }
        let purchases = try await database.read { [catalog = configuration.catalog] session in
            try PlanHistory.purchases(of: user, in: environment, catalog: catalog, session)
        }
        let at = body.at ?? PlanHistory.next(after: purchases, at: clock())
        let service = Service(inOrder: PlanPurchase.counted(purchases).prefix { $0.at <= at })
        let proration = service.proration(to: plan, quantity: quantity, device: device, at: at)
        return JSONText.response(200, PlanPreviewReply(proration))
    }

    private func keptPlan(named name: String) throws -> Plan {
        let bundleID = configuration.apple.bundleID
        if let plan = configuration.catalog.plan(named: name, bundleID: bundleID) { return plan }
        let isKnown = [name, "\(bundleID).\(name)"].contains { configuration.catalog[ProductID($0)] != nil }
        guard isKnown else { throw Refused(.unknownProduct) }
        throw Refused(.invalidField, "planId: no plan that is bought for a time; nothing is converted into it")
    }
}

/// The plans a user bought, as the ledger has them.
enum PlanHistory {
    /// How many of a user's newest transactions are looked through.
    static let transactionLimit = 20_000

    /// Those that stand, by Apple's purchase dates, oldest first. `Service` knows when each counts.
    static func purchases(
        of user: UserID, in environment: Environment, catalog: Catalog, _ session: any Session
    ) throws -> [PlanPurchase] {
        try GrantedPurchases(session).list(user: user, environment: environment, limit: transactionLimit) { id, _ in
            catalog[id].flatMap { Plan(soldBy: $0) } != nil
        }
        .compactMap { PlanPurchase($0, catalog: catalog) }
    }

    /// When the next purchase is made at the earliest. The store's clock may be ahead of ours, and nothing can be
    /// bought before what was bought.
    static func next(after purchases: [PlanPurchase], at now: Instant) -> Instant {
        (purchases + PlanPurchase.counted(purchases)).reduce(now) { max($0, $1.at) }
    }
}

extension PlanPurchase {
    /// Nil if the catalogue has no plan of the product: plans that were sold stay in it as long as somebody has them.
    init?(_ entry: GrantedPurchases.Entry, catalog: Catalog) {
        guard let product = catalog[entry.productID],
            let plan = Plan(soldBy: product, at: Self.listPrice(entry, product))
        else { return nil }
        self.init(
            plan: plan, quantity: entry.quantity, paid: entry.price, at: entry.purchasedAt,
            previewedAt: entry.order.previewedAt, deviceID: entry.order.deviceID, transactionID: entry.id)
    }

    /// What one of it cost when the order was opened: a new price does not change what was converted before. Nil if the
    /// order was for something else, or in a currency that isn't the base any more.
    private static func listPrice(_ entry: GrantedPurchases.Entry, _ product: Product) -> Money? {
        let order = entry.order
        guard order.productID == product.id, order.quantity == entry.quantity, order.quantity > 0,
            order.price.currency == product.price.currency
        else { return nil }
        let (each, rest) = order.price.amount.quotientAndRemainder(dividingBy: Int64(order.quantity))
        return rest == 0 ? Money(amount: each, currency: order.price.currency) : nil
    }
}
