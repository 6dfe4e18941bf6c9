import TillAppStore
import TillBilling
import TillClient
import TillHTTP

/// The three purchases of the demo.
struct DemoRun: Sendable {
    let shop: DemoShop
    /// Where the buyers' devices keep their files.
    let directory: String
    let fetch: Fetch
    let transcript: Transcript
    let language: Language
    let process: ProcessEffects

    func run() async throws {
        try await shop.setNotifications(on: true)
        try await buyPlainly(user: "ann", product: product(60))
        try await buyAndBeKilled(user: "ben", product: product(300))
        try await forge(user: "eve", product: product(680))
        try await shop.setNotifications(on: true)
    }

    private func product(_ points: Int64) throws -> Product {
        guard let product = shop.catalog.products.first(where: { $0.points["points"] == points }) else {
            throw CommandFailure(Text(en: "nobody sells \(points) points", zh: "没有 \(points) 学点的商品"))
        }
        return product
    }

    func papers(_ wish: BuyerPapers.Wish, user: String, product: Product) -> BuyerPapers {
        BuyerPapers(
            wish: wish, user: user, token: shop.token(of: UserID(user)), product: product.id.text,
            server: shop.serverURL, store: shop.storeURL, directory: resolve("device-\(user)", from: directory),
            language: language)
    }

    /// What the store still holds for a buyer.
    func queueLength(of user: String) async throws -> Int {
        let list = "\(shop.storeURL)/emulator/transactions?account=\(user)&unfinished=true"
        return try await JSONCall(fetch).get(list)["data"]?.array?.count ?? 0
    }

    // MARK: 1

    private func buyPlainly(user: String, product: Product) async throws {
        transcript.heading(
            Text(
                en: "1. \(user) buys \(product.names.en) (\(product.price))",
                zh: "1. \(user) 购买 \(product.names.zh)（\(product.price)）"))
        let before = try await shop.points(of: UserID(user))
        let grantsBefore = try await shop.grants(of: UserID(user))
        let device = try BuyerDevice(papers(.relaunch, user: user, product: product), fetch: fetch, process: process)
        let entry = try await device.purchase.prepare(product.id, price: product.price)
        transcript.step(
            Text(
                en: "order \(entry.id): written down on the device, then opened at the server",
                zh: "订单 \(entry.id)：先记在设备上，再在服务器上创建"))
        let transaction = try await device.pay(entry)
        transcript.step(
            Text(
                en: "paid in the store: transaction \(transaction.id), signed with the order's id in it",
                zh: "已在商店付款：交易 \(transaction.id)，其中签有订单号"))
        let outcome = await device.submit(transaction)
        // Both doors lead to one grant, and it does not matter which of them is faster.
        let wasFirst =
            outcome.word == "alreadyGranted"
            ? Text(en: " (the store's notification was faster)", zh: "（商店的通知更快）") : Text("")
        transcript.check(
            "plain_granted", outcome.isCompleted,
            Text(
                en: "the server checked the proof: \(outcome.word)\(wasFirst.en); only then the app finished it",
                zh: "服务器验证了凭证：\(outcome.word)\(wasFirst.zh)；此后 App 才结束这笔交易"))
        let arrived = try await shop.notificationsArrived()
        transcript.step(
            arrived
                ? Text(en: "the store sent the server a notification of its own as well", zh: "商店自己也向服务器发了通知")
                : Text(en: "the store's own notification is late", zh: "商店自己的通知迟到了"))
        let after = try await shop.points(of: UserID(user))
        let grants = try await shop.grants(of: UserID(user)) - grantsBefore
        let expected = before + (product.points["points"] ?? 0)
        transcript.check(
            "plain_wallet", after == expected && grants == 1,
            Text(
                en: "wallet \(before) → \(after) points, from \(grants) grant",
                zh: "钱包 \(before) → \(after) 学点，共 \(grants) 次发放"))
        let status = await device.journal[entry.id]?.status
        let left = try await queueLength(of: user)
        transcript.check(
            "plain_settled", status == .completed && left == 0,
            Text(
                en: "on the device the order is \(status?.name ?? "gone"); the store's queue holds \(left)",
                zh: "设备上订单为“\(status?.title.zh ?? "无")”；商店队列中剩 \(left) 笔"))
        transcript.record([
            "kind": "plain", "userId": .string(user), "productId": .string(product.id.text),
            "orderId": .string(entry.id.description), "transactionId": .string(transaction.id.text),
            "outcome": .string(outcome.word), "journal": ["after": .string(status?.name ?? "")],
            "wallet": ["before": .int(before), "after": .int(after)], "grants": .int(Int64(grants)),
        ])
    }
}

extension SubmitOutcome {
    var isCompleted: Bool { if case .completed = self { true } else { false } }
}
