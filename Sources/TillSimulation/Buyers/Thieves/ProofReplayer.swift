import TillBilling
import TillJSON

/// Submits another customer's proofs, with the thief's own token and order ids, to every endpoint that accepts proofs.
final class ProofReplayer: Thief, @unchecked Sendable {
    init(_ resources: Resources) { super.init(.replayAcrossUsers, resources) }

    override func act() async {
        await stockUp()
        // A proof without a token belongs to a customer who submits it with an earlier order.
        let proofs = stolen.purchases.filter { !$0.hasNoToken }
        guard let target = pick(proofs) else { return await guess() }
        switch random.below(5) {
        case 0, 1:
            guard let signed = target.signed else { return await guess() }
            var body: [String: JSONValue] = [
                "signedTransaction": .string(signed), "deviceId": .string(target.device ?? "a phone"),
            ]
            body["orderId"] = order(for: target.product).map { .string($0) }
            if random.chance(0.2) { body["userId"] = .string(user) }
            await attempt("\(target.owner)'s proof", "/v1/transactions", .object(body))
        case 2:
            guard let signed = target.signed else { return await guess() }
            await attempt("restores \(target.owner)'s", "/v1/restores", ["signedTransactions": [.string(signed)]])
        case 3: await post(target)
        default:
            guard let receipt = target.receipt else { return await guess() }
            await attempt(
                "asks about \(target.owner)'s receipt", "/verifyReceipt", ["receipt-data": .string(receipt)],
                bearer: "")
        }
    }

    /// A receipt with an order for another product, or of another user.
    private func post(_ target: StolenData.Purchase) async {
        guard let receipt = target.receipt, let order = pick(stolen.orders) else { return await guess() }
        let plan = String(target.product.dropFirst(SimulatedShop.bundleID.utf8.count + 1))
        await attempt(
            "\(target.owner)'s receipt with \(order.user)'s order", "/postPay/ios",
            [
                "token": .string(SimulatedShop.token(of: user, at: scheduler.now)), "receipt-data": .string(receipt),
                "product_id": .string(plan), "transaction_id": .string(target.transaction),
                "order_id": .string(order.id),
            ], bearer: "")
    }

    /// Another user's order, without a proof.
    private func guess() async {
        guard let order = pick(stolen.orders) else { return }
        let (status, answer) = await attempt("reads \(order.user)'s order", .get, "/v1/orders/\(order.id)")
        if status == 200, answer?["id"] != nil {
            report("read order \(order.id) of \(order.user)", about: ["order \(order.id)"])
        }
    }
}
