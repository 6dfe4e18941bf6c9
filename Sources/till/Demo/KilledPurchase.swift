import TillAppStore
import TillBilling
import TillClient
import TillThreads

extension DemoRun {
    // MARK: 2

    /// Kills the buyer's app after the payment, before the proof reaches the server, and starts it again. The store's
    /// notifications are off, so only the second launch can deliver the points. The app is not involved: the proxy
    /// between it and the server holds the proof.
    func buyAndBeKilled(user: String, product: CatalogProduct, proxy: DemoProxy) async throws {
        let price = shop.price(of: product)
        transcript.heading(
            LocalizedText(
                en: "2. \(user) buys \(product.names.en) (\(price)), and his app is killed after he paid",
                zh: "2. \(user) 购买 \(product.names.zh)（\(price)），付款后 App 被强行终止"))
        try await shop.setNotifications(on: false)
        transcript.step(
            LocalizedText(
                en:
                    "the store's notifications are off for this purchase: only a relaunch can recover it",
                zh: "这笔购买关闭了商店通知：只有重新启动 App 才能补单"))
        let before = try await shop.points(of: UserID(user))
        let grantsBefore = try await shop.grants(of: UserID(user))
        let app = try app(of: user, generation: 1, proxy: proxy)
        let killed = try await payAndKill(app, product, proxy)
        let device = try await look(at: killed.order, of: user)
        let unfinished = try await queueLength(of: user)
        let between = try await shop.points(of: UserID(user))
        transcript.check(
            "killed_kept", device.status == .ongoing && device.hasProof && unfinished == 1 && between == before,
            LocalizedText(
                en:
                    "left: order \(device.status.name) and its proof on the device, \(unfinished) transaction "
                    + "in the store's queue, wallet \(between)",
                zh: "终止后的状态：设备上订单“\(device.status.title(of: .topUp).zh)”及其凭证，商店队列中 \(unfinished) 笔交易，钱包 \(between)"))

        let relaunched = try await relaunch(app, killed.order, proxy)
        transcript.check(
            "killed_recovered", relaunched.outcome == "granted",
            LocalizedText(
                en: "relaunched as process \(relaunched.process): it found the order and sent the proof: "
                    + relaunched.outcome,
                zh: "以进程 \(relaunched.process) 重新启动：找到订单并提交凭证：\(relaunched.outcome)"))
        let after = try await shop.points(of: UserID(user))
        let grants = try await shop.grants(of: UserID(user)) - grantsBefore
        transcript.check(
            "killed_wallet", after == before + (product.points["points"] ?? 0) && grants == 1,
            LocalizedText(
                en: "wallet \(before) → \(after) points, from \(grants) grant",
                zh: "钱包 \(before) → \(after) 学点，共 \(grants) 次发放"))
        let final = try await look(at: killed.order, of: user)
        let left = try await queueLength(of: user)
        transcript.check(
            "killed_completed", final.status == .completed && !final.hasProof && left == 0,
            LocalizedText(
                en: "on the device the order is \(final.status.name); the store's queue holds \(left)",
                zh: "设备上订单为“\(final.status.title(of: .topUp).zh)”；商店队列中剩 \(left) 笔"))
        transcript.record([
            "kind": "killed", "userId": .string(user), "productId": .string(product.id.text),
            "orderId": .string(killed.order), "transactionId": .string(killed.transaction),
            "outcome": .string(relaunched.outcome), "signal": 9,
            "processes": ["killed": .int(Int64(killed.process)), "relaunched": .int(Int64(relaunched.process))],
            "journal": ["before": .string(device.status.name), "after": .string(final.status.name)],
            "queue": ["before": .int(Int64(unfinished)), "after": .int(Int64(left))],
            "wallet": ["before": .int(before), "between": .int(between), "after": .int(after)],
            "grants": .int(Int64(grants)),
        ])
    }

    private struct Killed {
        let process: Int32
        let order: String
        let transaction: String
    }

    private func payAndKill(_ app: BuyerApp, _ product: CatalogProduct, _ proxy: DemoProxy) async throws -> Killed {
        let proof = Locked<DemoProxy.Proof?>(nil)
        proxy.hold()
        let visit = try await AppLaunch.run(
            app, sending: "buy \(product.id)",
            started: { [transcript] id in
                transcript.step(
                    LocalizedText(
                        en:
                            "his app runs as process \(id) and buys with StoreKit 1; the network delays his proof",
                        zh: "他的 App 是进程 \(id)，通过 StoreKit 1 购买；与服务器的连接暂不送出他的凭证"))
            },
            during: { process in
                for await held in proxy.held {
                    proof.withLock { $0 = held }
                    process.kill()
                    return
                }
            },
            // This event arrives only if no proof was held.
            answering: { $0["event"] == "purchase" ? "quit" : nil })
        proxy.cut()
        guard let proof = proof.withLock({ $0 }) else { throw visit.failure }
        transcript.step(
            LocalizedText(
                en: "order \(proof.order) is open and paid in the store: transaction \(proof.transaction)",
                zh: "订单 \(proof.order) 已创建，并已在商店付款：交易 \(proof.transaction)"))
        transcript.check(
            "killed_by_signal_9", visit.signal == 9,
            LocalizedText(
                en: "process \(visit.process) was killed with signal \(visit.signal ?? 0) before the proof arrived",
                zh: "进程 \(visit.process) 在凭证送达之前被信号 \(visit.signal ?? 0) 终止"))
        return Killed(process: visit.process, order: proof.order, transaction: proof.transaction)
    }

    /// Starts the app again without input: the order completes by itself, and the app quits.
    private func relaunch(
        _ app: BuyerApp, _ order: String, _ proxy: DemoProxy
    ) async throws -> (process: Int32, outcome: String) {
        let hasArrived = Locked(false)
        let visit = try await AppLaunch.run(
            app,
            // StoreKit finishes a transaction asynchronously, so the app quits only after the queue is empty.
            during: { process in
                while !Task.isCancelled {
                    if hasArrived.withLock({ $0 }), (try? await queueLength(of: app.user.text)) == 0 { break }
                    try? await Task.sleep(for: .milliseconds(50))
                }
                process.send("quit")
            },
            answering: { said in
                let changed = said["event"] == "order" ? said["order"] : nil
                if changed?["orderId"]?.string == order, changed?["status"] == "completed" {
                    hasArrived.withLock { $0 = true }
                }
                return nil
            })
        guard visit.code == 0 else { throw visit.failure }
        return (visit.process, proxy.outcomes.last ?? "nothing")
    }
}
