import TillAppStore
import TillBilling
import TillClient
import TillCrypto
import TillEmulator

extension DemoRun {
    // MARK: 3

    /// A jailbreak plug-in's purchase (P9): nothing is paid, and the proof is signed by an authority whose names and
    /// markers are those of the real one.
    func forge(user: String, product: Product) async throws {
        transcript.heading(
            Text(
                en: "3. \(user) wants \(product.names.en) for a forged proof",
                zh: "3. \(user) 想用伪造的凭证换 \(product.names.zh)"))
        let before = try await shop.points(of: UserID(user))
        let grantsBefore = try await shop.grants(of: UserID(user))
        let device = try BuyerDevice(papers(.relaunch, user: user, product: product), fetch: fetch, process: process)
        let entry = try await device.purchase.prepare(product.id, price: product.price)
        let transaction = try forgedTransaction(for: entry)
        transcript.step(
            Text(
                en: "order \(entry.id) is open and not paid; the proof names it, under another root of the same name",
                zh: "订单 \(entry.id) 已创建但未付款；凭证写着它，由另一个同名的根证书签名"))
        let outcome = await device.submit(transaction)
        let isRefused = if case .refused = outcome { true } else { false }
        transcript.check(
            "forged_refused", isRefused,
            Text(
                en: "the server's word: \(outcome.word). \(outcome.sentence.en)",
                zh: "服务器的答复：\(outcome.word)。\(outcome.sentence.zh)"))
        let after = try await shop.points(of: UserID(user))
        let grants = try await shop.grants(of: UserID(user)) - grantsBefore
        transcript.check(
            "forged_wallet", after == before && grants == 0,
            Text(
                en: "wallet \(before) → \(after) points, from \(grants) grants",
                zh: "钱包 \(before) → \(after) 学点，共 \(grants) 次发放"))
        let status = try await shop.status(of: entry.id)
        transcript.check(
            "forged_order", status == OrderStatus.prepared.name,
            Text(
                en: "at the server the order is still \(status)",
                zh: "服务器上订单仍是“\(OrderStatus(name: status)?.title.zh ?? status)”"))
        transcript.record([
            "kind": "forged", "userId": .string(user), "productId": .string(product.id.text),
            "orderId": .string(entry.id.description), "outcome": isRefused ? "refused" : "taken",
            "code": .string(outcome.word), "wallet": ["before": .int(before), "after": .int(after)],
            "grants": .int(Int64(grants)),
        ])
    }

    private func forgedTransaction(for entry: JournalEntry) throws -> QueuedTransaction {
        let now = process.clock()
        let number = process.entropy(4).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let id = String(2_000_000_000_000_000 + number)
        let content: JSONValue = [
            "transactionId": .string(id), "originalTransactionId": .string(id),
            "bundleId": .string(DemoShop.bundleID), "productId": .string(entry.productID.text), "quantity": 1,
            "type": "Consumable", "inAppOwnershipType": "PURCHASED", "environment": "Sandbox",
            "appAccountToken": .string(entry.id.description), "purchaseDate": .int(now.milliseconds),
            "originalPurchaseDate": .int(now.milliseconds), "signedDate": .int(now.milliseconds),
            "transactionReason": "PURCHASE", "storefront": "CHN", "storefrontId": "143465",
        ]
        let unsigned = "e30.\(Base64.encode(Array(content.encoded().utf8), .url)).AA"
        guard let token = try Issuer.forged(unsigned, at: now, serials: { process.entropy(16) }) else {
            throw CommandFailure(Text(en: "the forger has failed", zh: "伪造失败"))
        }
        return QueuedTransaction(
            id: TransactionID(id), productID: entry.productID, quantity: 1, token: entry.id, purchasedAt: now,
            proof: .signedTransaction(token))
    }
}
