import TillAPI
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

extension Server {
    /// `POST /v1/plans/preview?environment=`: the result of buying a plan at one moment. Nothing is stored: the
    /// purchase itself uses the same calculation.
    func previewPlan(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(PlanPreviewBody.self)
        let user = try call.credential.buyer(naming: body.userId)
        let environment = try call.environment(for: user, configuration)
        let plan = try keptPlan(named: body.planId)
        let device = body.deviceId.map(DeviceID.init)
        try plan.requireDevice(device)
        let quantity = body.quantity ?? 1
        let purchases = try await database.read { [catalogs] connection in
            try PlanHistory.purchases(of: user, in: environment, catalogs, connection)
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
        guard isKnown else { throw RefusalError(.unknownProduct) }
        throw RefusalError(
            .invalidField, "planId: the product sells no plan with a length of time, so no conversion applies",
            zh: "planId：此商品不含有期限的套餐，无需折算")
    }
}

extension Plan {
    /// - Throws: `invalid_field` if the plan is for one device and the request names none.
    func requireDevice(_ device: DeviceID?) throws {
        guard scope == .device, device == nil else { return }
        throw RefusalError(
            .invalidField, "deviceId: missing; plan \(id) is for one device", zh: "deviceId：缺失；套餐 \(id) 仅用于一台设备")
    }
}
