import TillAPI
import TillBilling
import TillJSON

extension OpenAPITests {
    /// Request and reply bodies about plans and rights, each once with every member and once with the required members
    /// only.
    static var planSamples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            let at = Instant(seconds: 1_790_000_000)
            let full = try preview(device: "d", transaction: TransactionID("1"), to: "premium", at: at)
            let least = try preview(device: nil, transaction: nil, to: "basic", at: at)
            let reported = OpenOrderBody.Preview(
                at: at, expiresAt: at, price: Money(amount: 1, currency: Currency("USD")))
            let order = OrderReply(
                Order(
                    id: UniqueID(high: 1, low: 2), userID: UserID("u"), productID: ProductID("p"), quantity: 1,
                    price: Money(amount: 1, currency: Currency("USD")), preview: OrderPreview(at: at, expiresAt: at),
                    createdAt: at, updatedAt: at), metadata: nil, history: [])
            let fullOrder = OpenOrderBody(
                id: UniqueID(high: 1, low: 2), userId: "u", productId: "p", quantity: 1, deviceId: "d",
                preview: reported,
                metadata: .integer(1), idNonce: OrderIDNonce(bytes: Array(0..<16)), idUserId: "g", orderNumber: "1",
                phoneId: "p")
            let token = AccountTokenReply(token: UniqueID(high: 1, low: 2), user: UserID("u"), since: at)
            return [
                "AccountToken": try same(token), "AccountTokenList": try same(AccountTokenList(data: [token])),
                "OpenOrder": try both(fullOrder, OpenOrderBody(productId: "p")),
                "PlanTerms": try both(terms("basic", rank: "basic", scope: .device), terms("basic", rank: nil)),
                "OpenOrderPreview": try both(reported, OpenOrderBody.Preview(at: at, expiresAt: at)),
                "OrderPreview": try same(order.preview),
                "PlanPreview": try both(
                    PlanPreviewBody(userId: "u", planId: "p", quantity: 1, at: at, deviceId: "d"),
                    PlanPreviewBody(planId: "p")),
                "PlanPreviewReply": try both(full, least),
                "PlanRemainder": try both(full.current[0], least.current[0]),
                "ExactMoney": try same(full.balance), "Explanation": try same(full.explanation),
            ]
        }
    }

    static func terms(_ id: String, rank: String?, scope: PlanScope? = nil) throws -> PlanTerms {
        guard let length = PlanLength("P1M") else { throw CancellationError() }
        return PlanTerms(id: PlanID(id), length: length, rank: rank, scope: scope)
    }

    private static func plan(_ id: String) throws -> Plan {
        let product = CatalogProduct(
            id: ProductID(id), type: .consumable, names: LocalizedText(en: "a", zh: "b"),
            price: Money(amount: 299, currency: Currency("USD")), plan: try terms(id, rank: nil))
        guard let plan = Plan(soldBy: product) else { throw CancellationError() }
        return plan
    }

    private static func preview(
        device: String?, transaction: TransactionID?, to: String, at: Instant
    ) throws -> PlanPreviewReply {
        let purchase = PlanPurchase(
            plan: try plan("basic"), paid: nil, at: at, deviceID: device.map(DeviceID.init), transactionID: transaction)
        return PlanPreviewReply(
            Proration(
                of: [ServicePeriod(purchase, from: at)], to: try plan(to), at: at,
                for: device.map { .device(DeviceID($0)) } ?? .account))
    }
}
