import TillAPI
import TillAppStore
import TillBilling

extension OpenAPITests {
    /// What is sent and taken about plans and rights, each with everything in it and with as little as there can be.
    static var planSamples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            let at = Instant(seconds: 1_790_000_000)
            let full = try preview(device: "d", transaction: TransactionID("1"), to: "premium", at: at)
            let least = try preview(device: nil, transaction: nil, to: "basic", at: at)
            return [
                "PlanTerms": try both(terms("basic", rank: "basic"), terms("basic", rank: nil)),
                "PlanPreview": try both(
                    PlanPreviewBody(userId: "u", planId: "p", quantity: 1, at: at), PlanPreviewBody(planId: "p")),
                "PlanPreviewReply": try both(full, least),
                "PlanRemainder": try both(full.current[0], least.current[0]),
                "ExactMoney": try same(full.balance), "Explanation": try same(full.explanation),
            ]
        }
    }

    static func terms(_ id: String, rank: String?) throws -> PlanTerms {
        guard let length = PlanLength("P1M") else { throw CancellationError() }
        return PlanTerms(id: PlanID(id), length: length, rank: rank)
    }

    private static func plan(_ id: String) throws -> Plan {
        let product = Product(
            id: ProductID(id), type: .consumable, names: Text(en: "a", zh: "b"),
            price: Money(amount: 299, currency: Currency("USD")), plan: try terms(id, rank: nil))
        guard let plan = Plan(soldBy: product) else { throw CancellationError() }
        return plan
    }

    private static func preview(
        device: String?, transaction: TransactionID?, to: String, at: Instant
    ) throws -> PlanPreviewReply {
        let purchase = PlanPurchase(
            plan: try plan("basic"), paid: nil, at: at, deviceID: device, transactionID: transaction)
        return PlanPreviewReply(Proration(of: [ServicePeriod(purchase, from: at)], to: try plan(to), at: at))
    }
}
