import TillBilling
import TillJSON

/// Submits another customer's proofs, with the thief's own token and order ids, to every endpoint that accepts proofs.
final class ReplayAcrossUsers: Thief, @unchecked Sendable {
    init(_ means: Means) { super.init(.replayAcrossUsers, means) }

    override func act() async {
        await stockUp()
        // A proof without a token belongs to a customer who submits it with an earlier order.
        let proofs = stolen.purchases.filter { !$0.hasNoToken }
        guard let prey = pick(proofs) else { return await guess() }
        switch random.below(5) {
        case 0, 1:
            guard let signed = prey.signed else { return await guess() }
            var body: [String: JSONValue] = [
                "signedTransaction": .string(signed), "deviceId": .string(prey.device ?? "a phone"),
            ]
            body["orderId"] = order(for: prey.product).map { .string($0) }
            if random.chance(0.2) { body["userId"] = .string(user) }
            await attempt("\(prey.owner)'s proof", "/v1/transactions", .object(body))
        case 2:
            guard let signed = prey.signed else { return await guess() }
            await attempt("restores \(prey.owner)'s", "/v1/restores", ["signedTransactions": [.string(signed)]])
        case 3: await post(prey)
        default:
            guard let receipt = prey.receipt else { return await guess() }
            await attempt(
                "asks about \(prey.owner)'s receipt", "/verifyReceipt", ["receipt-data": .string(receipt)],
                bearer: "")
        }
    }

    /// A receipt with an order for another product, or of another user.
    private func post(_ prey: StolenKnowledge.Purchase) async {
        guard let receipt = prey.receipt, let order = pick(stolen.orders) else { return await guess() }
        let plan = String(prey.product.dropFirst(SimulatedShop.bundleID.utf8.count + 1))
        await attempt(
            "\(prey.owner)'s receipt with \(order.user)'s order", "/postPay/ios",
            [
                "token": .string(SimulatedShop.token(of: user, at: clockwork.now)), "receipt-data": .string(receipt),
                "product_id": .string(plan), "transaction_id": .string(prey.transaction),
                "order_id": .string(order.id),
            ], bearer: "")
    }

    /// Another user's order, without a proof.
    private func guess() async {
        guard let order = pick(stolen.orders) else { return }
        let (status, answer) = await attempt("reads \(order.user)'s order", .get, "/v1/orders/\(order.id)")
        if status == 200, answer?["id"] != nil {
            confess("read order \(order.id) of \(order.user)", about: ["order \(order.id)"])
        }
    }
}
