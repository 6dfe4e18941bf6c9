import TillAPI
import TillBilling
import TillCrypto
import TillEmulator
import TillJSON

extension DemoRun {
    // MARK: 3

    /// The purchase of a jailbreak plug-in: nothing is paid, and the proof is signed by an authority with the names and
    /// markers of the real one. The plug-in calls the server in place of the app, with its user's token.
    func forge(user: String, product: CatalogProduct) async throws {
        transcript.heading(
            LocalizedText(
                en: "3. \(user) submits a forged proof for \(product.names.en)",
                zh: "3. \(user) 提交 \(product.names.zh) 的伪造凭证"))
        let before = try await shop.points(of: UserID(user))
        let grantsBefore = try await shop.grants(of: UserID(user))
        let (call, token) = (JSONCall(fetch), shop.token(of: UserID(user)))
        guard let nonce = OrderIDNonce(bytes: process.entropy(OrderIDNonce.count)) else { return }
        let order = OrderIDCommitment(user: UserID(user), nonce: nonce).id
        let opened = try await call.post(
            shop.serverURL + Paths.orders,
            [
                "id": .string(order.description), "idNonce": .string(nonce.text),
                "productId": .string(product.id.text),
            ], bearer: token)
        guard opened.status == 201 else {
            throw CommandError(LocalizedText(en: "the order was not opened", zh: "订单没有创建"))
        }
        transcript.step(
            LocalizedText(
                en:
                    "order \(order) is open and unpaid; the proof names it, signed under another root of that name",
                zh: "订单 \(order) 已创建但未付款；凭证写有该订单号，但由另一个同名的根证书签名"))
        let reply = try await call.post(
            shop.serverURL + Paths.transactions,
            ["signedTransaction": .string(try forgedProof(of: order, product)), "orderId": .string(order.description)],
            bearer: token)
        let outcome = reply.body["code"]?.string ?? reply.body["outcome"]?.string ?? "status \(reply.status)"
        let isRefused = reply.status == 422
        let sentence = Refusal(rawValue: outcome)?.sentence ?? LocalizedText("")
        transcript.check(
            "forged_refused", isRefused,
            LocalizedText(
                en: "the server's response: \(outcome). \(sentence.en)", zh: "服务器的答复：\(outcome)。\(sentence.zh)"))
        let after = try await shop.points(of: UserID(user))
        let grants = try await shop.grants(of: UserID(user)) - grantsBefore
        transcript.check(
            "forged_wallet", after == before && grants == 0,
            LocalizedText(
                en: "wallet \(before) → \(after) points, from \(grants) grants",
                zh: "钱包 \(before) → \(after) 学点，共 \(grants) 次发放"))
        let status = try await shop.status(of: order)
        transcript.check(
            "forged_order", status == OrderStatus.prepared.name,
            LocalizedText(
                en: "on the server the order is still \(status)",
                zh: "服务器上订单仍是“\(OrderStatus(name: status)?.title(of: .topUp).zh ?? status)”"))
        transcript.record([
            "kind": "forged", "userId": .string(user), "productId": .string(product.id.text),
            "orderId": .string(order.description), "outcome": isRefused ? "refused" : "taken",
            "code": .string(outcome), "wallet": ["before": .int(before), "after": .int(after)],
            "grants": .int(Int64(grants)),
        ])
    }

    private func forgedProof(of order: OrderID, _ product: CatalogProduct) throws -> String {
        let now = process.clock()
        let number = process.entropy(4).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let id = String(2_000_000_000_000_000 + number)
        let content: JSONValue = [
            "transactionId": .string(id), "originalTransactionId": .string(id),
            "bundleId": .string(DemoShop.bundleID), "productId": .string(product.id.text), "quantity": 1,
            "type": "Consumable", "inAppOwnershipType": "PURCHASED", "environment": "Sandbox",
            "appAccountToken": .string(order.description), "purchaseDate": .int(now.milliseconds),
            "originalPurchaseDate": .int(now.milliseconds), "signedDate": .int(now.milliseconds),
            "transactionReason": "PURCHASE", "storefront": "CHN", "storefrontId": "143465",
        ]
        let unsigned = "e30.\(Base64.encode(content.encodedBytes(), .url)).AA"
        guard let token = try Issuer.forged(unsigned, at: now, serials: { process.entropy(16) }) else {
            throw CommandError(LocalizedText(en: "the forged proof could not be created", zh: "无法生成伪造的凭证"))
        }
        return token
    }
}
