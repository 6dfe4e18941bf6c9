import TillBilling
import TillJSON

/// A receipt does not contain its order's id. This thief has earlier orders for every product and posts others'
/// receipts with them; and uses one payment for two accounts of their own.
final class ReceiptThief: Thief, @unchecked Sendable {
    private var posted: Set<String> = []

    init(_ resources: Resources) {
        super.init(.receiptThief, users: ["receipt-thief", "sock-1", "sock-2"], resources)
    }

    /// The user who submits the receipt, and the user of Apple's token.
    private var secondAccounts: (String, String) { (users[1], users[2]) }

    /// Posts a new receipt at once, before its owner's request reaches the server.
    override func live(pace: Int64, while isRunning: @escaping @Sendable () -> Bool) async {
        await stockUp()
        while isRunning() {
            // A proof without a token is granted to any customer who submits it with an earlier order, so it is no
            // theft.
            let fresh = stolen.purchases.filter {
                $0.receipt != nil && !$0.hasNoToken && resources.groundTruth.isFromApp($0.transaction)
                    && !posted.contains($0.transaction)
            }
            for target in fresh {
                posted.insert(target.transaction)
                await post(target)
            }
            if random.chance(0.06) { await sellTwice() }
            await scheduler.pause(random.between(20_000, 300_000))
        }
    }

    private func post(_ target: StolenData.Purchase) async {
        guard let receipt = target.receipt, let order = take(orderFor: target.product) else { return }
        await post(receipt, target.transaction, target.product, order, as: user)
        await spend(as: user)
        await openOwnOrder(target.product)
    }

    private func post(
        _ receipt: String, _ transaction: String, _ product: String, _ order: String, as name: String
    ) async {
        if random.chance(0.4) {
            let plan = String(product.dropFirst(SimulatedShop.bundleID.utf8.count + 1))
            await attempt(
                "\(transaction)'s receipt by /postPay/ios", "/postPay/ios",
                [
                    "token": .string(SimulatedShop.token(of: name, at: scheduler.now)),
                    "receipt-data": .string(receipt), "product_id": .string(plan),
                    "transaction_id": .string(transaction), "order_id": .string(order),
                ], as: name, bearer: "")
        } else {
            await attempt(
                "\(transaction)'s receipt", "/v1/transactions",
                [
                    "receipt": .string(receipt), "transactionId": .string(transaction),
                    "productId": .string(product), "orderId": .string(order),
                ], as: name)
        }
    }

    /// Spends the first points at once, before the grant can be corrected. The payer may spend as much.
    private func spend(as name: String) async {
        resources.thefts.record(kind, "\(name) spends at once")
        _ = await resources.backend.sell(to: name, for: random.between(10, 60), group: users)
    }

    /// Spends everything granted for whole payments: unspent points would hide a double grant.
    private func spendAll(as name: String) async {
        for _ in 0..<3 {
            resources.thefts.record(kind, "\(name) spends at once")
            guard await resources.backend.sell(to: name, for: 60, group: users) else { return }
        }
    }

    /// Uses one payment of the second account, whose receipt the first one submits; both spend the points.
    private func sellTwice() async {
        let (bearer, buyer) = secondAccounts
        guard let own = await openOwnOrder(SimulatedShop.points60, as: bearer),
            let paid = await openOwnOrder(SimulatedShop.points60, as: buyer)
        else { return }
        await scheduler.pause(2_000)
        let wanted: JSONValue = [
            "bundleId": .string(SimulatedShop.bundleID), "productId": .string(SimulatedShop.points60),
            "account": "socks", "appAccountToken": .string(paid),
        ]
        resources.groundTruth.note(token: paid, of: buyer)
        _ = await resources.apple.act(.put, "/emulator/accounts/socks", [:])
        guard case .object(let answer)? = await resources.apple.act(.post, "/emulator/purchases", wanted),
            let id = StolenData.text(answer["transactionId"]),
            let signed = StolenData.text(answer["signedTransaction"]),
            let receipt = StolenData.text(answer["receipt"])
        else { return }
        resources.groundTruth.note(sale: id, of: buyer)
        resources.backend.note(paid: 60, by: users)
        await post(receipt, id, SimulatedShop.points60, own, as: bearer)
        await spendAll(as: bearer)
        await attempt(
            "the same payment for \(buyer)", "/v1/transactions", ["signedTransaction": .string(signed)], as: buyer)
        await spendAll(as: buyer)
        await spendAll(as: bearer)
        _ = await resources.apple.act(.post, "/emulator/transactions/\(id)/finish")
    }
}
