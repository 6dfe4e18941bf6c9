import TillAPI
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

extension Server {
    /// `POST /v1/plans/preview?environment=`: what buying a plan at one moment would come to (C6). Nothing is stored:
    /// the purchase itself is folded by the same arithmetic.
    func previewPlan(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(PlanPreviewBody.self)
        let user = try call.credential.buyer(naming: body.userId)
        let environment = try call.environment(for: user, configuration)
        let plan = try keptPlan(named: body.planId)
        let device = body.deviceId.map(DeviceID.init)
        try plan.requireDevice(device)
        let quantity = body.quantity ?? 1
        let purchases = try await database.read { [catalogs] session in
            try PlanHistory.purchases(of: user, in: environment, catalogs, session)
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

extension Plan {
    /// - Throws: a plan for one device is bought for a device that has a name.
    func requireDevice(_ device: DeviceID?) throws {
        guard scope == .device, device == nil else { return }
        throw Refused(.invalidField, "deviceId: missing; plan \(id) is for one device, so say for which")
    }
}

/// The plans a user bought, as the ledger has them.
enum PlanHistory {
    /// How many of a user's newest transactions are looked through.
    static let transactionLimit = 20_000

    /// Those that stand, by Apple's purchase dates, oldest first. `Service` knows when each counts.
    static func purchases(
        of user: UserID, in environment: Environment, _ catalogs: CatalogHistory, _ session: any Connection
    ) throws -> [PlanPurchase] {
        let entries = try GrantedPurchases(session).list(
            user: user, environment: environment, limit: transactionLimit
        ) { id, _ in catalogs.current[id].flatMap { Plan(soldBy: $0) } != nil }
        guard !entries.isEmpty else { return [] }
        let versions = try catalogs.versions(session)
        return entries.compactMap { PlanPurchase($0, catalogs.current, versions) }
    }

    /// When the next purchase is made at the earliest. The store's clock may be ahead of ours, and nothing can be
    /// bought before what was bought.
    static func next(after purchases: [PlanPurchase], at now: Instant) -> Instant {
        (purchases + PlanPurchase.counted(purchases)).reduce(now) { max($0, $1.at) }
    }
}

extension PlanPurchase {
    /// Worth what was paid for it, at the list price of its date. The order's own price counts for nothing: who pays
    /// may have opened the order years ago.
    ///
    /// Nil if the catalogue has no plan of the product: plans that were sold stay in it as long as somebody has them.
    init?(_ entry: GrantedPurchases.Entry, _ catalog: Catalog, _ versions: CatalogVersions) {
        guard let product = catalog[entry.productID] else { return nil }
        let price = versions.listPrice(of: product, at: entry.purchasedAt, paid: entry.price)
        let sold = versions.product(entry.productID, at: entry.purchasedAt)?.plan
        guard let plan = Plan(soldBy: product, at: price.base, as: sold) else { return nil }
        self.init(
            plan: plan, quantity: entry.quantity,
            worth: price.worth(of: entry.price, quantity: entry.quantity, isOffer: entry.isOffer),
            at: entry.purchasedAt, preview: Self.preview(entry, product, versions), deviceID: entry.order.deviceID,
            transactionID: entry.id)
    }

    /// What the buyer was shown of this very purchase, at the price that the catalogue had when the order was opened.
    private static func preview(
        _ entry: GrantedPurchases.Entry, _ product: Product, _ versions: CatalogVersions
    ) -> Preview? {
        let order = entry.order
        guard let at = order.previewedAt, order.productID == entry.productID, order.quantity == entry.quantity else {
            return nil
        }
        let shown =
            order.catalogVersion.flatMap { versions.listPrice(of: product, inVersion: $0) }
            ?? versions.listPrice(of: product, at: at)
        return Preview(at: at, price: shown.base)
    }
}
