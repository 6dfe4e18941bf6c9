import TillAppStore
import TillBilling
import TillClient
import TillHTTP

/// The three purchases of the demo.
struct DemoRun: Sendable {
    let shop: DemoShop
    /// The directory of the buyers' devices.
    let directory: String
    let fetch: Fetch
    let transcript: Transcript
    let language: Language
    let process: ProcessEffects

    func run() async throws {
        try await shop.setNotifications(on: true)
        try await withProxy { try await buyPlainly(user: "ann", product: product(60), proxy: $0) }
        try await withProxy { try await buyAndBeKilled(user: "ben", product: product(300), proxy: $0) }
        try await forge(user: "eve", product: product(680))
        try await shop.setNotifications(on: true)
    }

    private func product(_ points: Int64) throws -> CatalogProduct {
        guard let product = shop.catalog.products.first(where: { $0.points["points"] == points }) else {
            throw CommandError(LocalizedText(en: "no product gives \(points) points", zh: "没有 \(points) 学点的商品"))
        }
        return product
    }

    // MARK: The buyers' devices

    private func withProxy(_ body: (DemoProxy) async throws -> Void) async throws {
        let proxy = try DemoProxy(to: shop.serverURL, fetch)
        do {
            try await body(proxy)
            await proxy.close()
        } catch {
            await proxy.close()
            throw error
        }
    }

    /// - Parameter generation: of StoreKit, 1 or 2.
    func app(of user: String, generation: Int, proxy: DemoProxy) throws -> BuyerApp {
        BuyerApp(
            executable: try BuyerApp.found(), user: UserID(user), token: shop.token(of: UserID(user)),
            server: proxy.url, store: shop.storeURL, generation: generation, directory: device(of: user),
            language: language, inherited: process.environment)
    }

    /// An order in the device's journal, while no app is running.
    func look(at order: String, of user: String) async throws -> (status: OrderStatus, hasProof: Bool) {
        let journal = try OrderJournal(disk: .file(at: resolve("orders.journal", from: device(of: user))))
        guard let id = OrderID(order), let entry = await journal[id] else {
            throw CommandError(LocalizedText(en: "the order is not in the device's journal", zh: "设备的记录中没有这个订单"))
        }
        return (entry.status, await journal.proof(of: id) != nil)
    }

    /// The number of a buyer's unfinished transactions in the store.
    func queueLength(of user: String) async throws -> Int {
        let list = "\(shop.storeURL)/emulator/transactions?account=\(user)&unfinished=true"
        return try await JSONCall(fetch).get(list)["data"]?.array?.count ?? 0
    }

    private func device(of user: String) -> String { resolve("device-\(user)", from: directory) }

    // MARK: 1

    private func buyPlainly(user: String, product: CatalogProduct, proxy: DemoProxy) async throws {
        transcript.heading(
            LocalizedText(
                en: "1. \(user) buys \(product.names.en) (\(shop.price(of: product)))",
                zh: "1. \(user) 购买 \(product.names.zh)（\(shop.price(of: product))）"))
        let before = try await shop.points(of: UserID(user))
        let grantsBefore = try await shop.grants(of: UserID(user))
        let visit = try await AppLaunch.run(
            app(of: user, generation: 2, proxy: proxy), sending: "buy \(product.id)",
            started: { [transcript] id in
                transcript.step(
                    LocalizedText(
                        en: "her app runs as process \(id) and buys with StoreKit 2, independently of this demo",
                        zh: "她的 App 是独立的进程 \(id)，通过 StoreKit 2 购买"))
            },
            answering: { $0["event"] == "purchase" ? "quit" : nil })
        guard let purchase = visit.last("purchase"), let order = purchase["order"]?["orderId"]?.string,
            let transaction = purchase["order"]?["transactionId"]?.string
        else { throw visit.failure }
        transcript.step(
            LocalizedText(
                en: "order \(order): saved on the device, then opened at the server",
                zh: "订单 \(order)：先保存在设备上，再在服务器上创建"))
        transcript.step(
            LocalizedText(
                en: "paid in the store: transaction \(transaction), with the order's id in the signed data",
                zh: "已在商店付款：交易 \(transaction)，签名数据中包含订单号"))
        // The app and the notification lead to one grant, whichever arrives first.
        let outcome = proxy.outcomes.last ?? purchase["code"]?.string ?? "nothing"
        let wasFirst =
            outcome == "alreadyGranted"
            ? LocalizedText(en: " (the store's notification was faster)", zh: "（商店的通知更快）") : LocalizedText("")
        transcript.check(
            "plain_granted",
            purchase["outcome"] == "completed" && ["granted", "alreadyGranted"].contains(outcome),
            LocalizedText(
                en: "the server verified the proof: \(outcome)\(wasFirst.en); then the app finished the transaction",
                zh: "服务器验证了凭证：\(outcome)\(wasFirst.zh)；随后 App 完成了这笔交易（finish）"))
        let arrived = try await shop.notificationsArrived()
        transcript.step(
            arrived
                ? LocalizedText(en: "the store also sent the server a notification", zh: "商店也向服务器发送了通知")
                : LocalizedText(en: "the store's notification has not arrived in time", zh: "商店的通知未按时到达"))
        let after = try await shop.points(of: UserID(user))
        let grants = try await shop.grants(of: UserID(user)) - grantsBefore
        let expected = before + (product.points["points"] ?? 0)
        transcript.check(
            "plain_wallet", after == expected && grants == 1,
            LocalizedText(
                en: "wallet \(before) → \(after) points, from \(grants) grant",
                zh: "钱包 \(before) → \(after) 学点，共 \(grants) 次发放"))
        let final = try await look(at: order, of: user)
        let left = try await queueLength(of: user)
        transcript.check(
            "plain_completed", final.status == .completed && left == 0,
            LocalizedText(
                en: "on the device the order is \(final.status.name); the store's queue holds \(left)",
                zh: "设备上订单为“\(final.status.title(of: .topUp).zh)”；商店队列中剩 \(left) 笔"))
        transcript.record([
            "kind": "plain", "userId": .string(user), "productId": .string(product.id.text),
            "orderId": .string(order), "transactionId": .string(transaction), "outcome": .string(outcome),
            "journal": ["after": .string(final.status.name)],
            "wallet": ["before": .int(before), "after": .int(after)], "grants": .int(Int64(grants)),
        ])
    }
}
