import TillAppStore
import TillBilling
import TillClient

extension DemoRun {
    // MARK: 2

    /// The buyer is a process of its own. It is killed when the money is paid and the proof not yet sent, and then
    /// started again. The store's notification is off, so nobody but that second launch can bring the points.
    func buyAndBeKilled(user: String, product: Product) async throws {
        transcript.heading(
            Text(
                en: "2. \(user) buys \(product.names.en) (\(product.price)), and his app is killed after he paid",
                zh: "2. \(user) 购买 \(product.names.zh)（\(product.price)），付款后 App 被强行终止"))
        try await shop.setNotifications(on: false)
        transcript.step(
            Text(
                en: "the store's notifications are switched off for this one: only his own relaunch can save it",
                zh: "这一笔关闭了商店通知：只有他自己重新启动 App 才能补单"))
        let before = try await shop.points(of: UserID(user))
        let grantsBefore = try await shop.grants(of: UserID(user))
        let killed = try await payAndDie(papers(.buyAndHold, user: user, product: product))
        let device = try await look(at: killed.order, papers(.relaunch, user: user, product: product))
        let unfinished = try await queueLength(of: user)
        let between = try await shop.points(of: UserID(user))
        transcript.check(
            "killed_kept", device.status == .ongoing && device.hasProof && unfinished == 1 && between == before,
            Text(
                en: "left behind: order \(device.status.name) with its proof on the device, \(unfinished) transaction "
                    + "in the store's queue, wallet \(between)",
                zh: "留下的是：设备上订单“\(device.status.title.zh)”及其凭证，商店队列中 \(unfinished) 笔交易，钱包 \(between)"))

        let relaunched = try await relaunch(papers(.relaunch, user: user, product: product))
        transcript.check(
            "killed_recovered", relaunched.outcome == "granted",
            Text(
                en: "relaunched as process \(relaunched.process): it found the order by itself and sent the proof: "
                    + relaunched.outcome,
                zh: "以进程 \(relaunched.process) 重新启动：自己找到订单并提交凭证：\(relaunched.outcome)"))
        let after = try await shop.points(of: UserID(user))
        let grants = try await shop.grants(of: UserID(user)) - grantsBefore
        transcript.check(
            "killed_wallet", after == before + (product.points["points"] ?? 0) && grants == 1,
            Text(
                en: "wallet \(before) → \(after) points, from \(grants) grant",
                zh: "钱包 \(before) → \(after) 学点，共 \(grants) 次发放"))
        let settled = try await look(at: killed.order, papers(.relaunch, user: user, product: product))
        let left = try await queueLength(of: user)
        transcript.check(
            "killed_settled", settled.status == .completed && !settled.hasProof && left == 0,
            Text(
                en: "on the device the order is \(settled.status.name); the store's queue holds \(left)",
                zh: "设备上订单为“\(settled.status.title.zh)”；商店队列中剩 \(left) 笔"))
        transcript.record([
            "kind": "killed", "userId": .string(user), "productId": .string(product.id.text),
            "orderId": .string(killed.order.description), "transactionId": .string(killed.transaction),
            "outcome": .string(relaunched.outcome), "signal": 9,
            "processes": ["killed": .int(Int64(killed.process)), "relaunched": .int(Int64(relaunched.process))],
            "journal": ["before": .string(device.status.name), "after": .string(settled.status.name)],
            "queue": ["before": .int(Int64(unfinished)), "after": .int(Int64(left))],
            "wallet": ["before": .int(before), "between": .int(between), "after": .int(after)],
            "grants": .int(Int64(grants)),
        ])
    }

    private struct Killed {
        let process: Int32
        let order: OrderID
        let transaction: String
    }

    private func payAndDie(_ papers: BuyerPapers) async throws -> Killed {
        let process = try BuyerProcess.start(papers)
        defer { process.kill() }
        var order: OrderID?
        var transaction: String?
        for await event in process.events {
            switch event {
            case .said(let said) where said["event"] == "prepared":
                order = said["orderId"]?.string.flatMap { UniqueID($0) }
                transcript.step(
                    Text(
                        en: "his app is process \(process.id); order \(said["orderId"]?.string ?? "") is open",
                        zh: "他的 App 是进程 \(process.id)；订单 \(said["orderId"]?.string ?? "") 已创建"))
            case .said(let said) where said["event"] == "paid":
                transaction = said["transactionId"]?.string
                transcript.step(
                    Text(
                        en: "paid in the store: transaction \(transaction ?? "")", zh: "已在商店付款：交易 \(transaction ?? "")")
                )
            case .said(let said) where said["event"] == "holding": process.kill()
            case .said: break
            case .ended(_, let signal):
                guard let order, let transaction else { continue }
                transcript.check(
                    "killed_by_signal_9", signal == 9,
                    Text(
                        en: "process \(process.id) was killed with signal \(signal ?? 0) before the proof left it",
                        zh: "进程 \(process.id) 在凭证发出之前被信号 \(signal ?? 0) 终止"))
                return Killed(process: process.id, order: order, transaction: transaction)
            }
        }
        throw CommandFailure(Text(en: "the buyer's process ended before it paid", zh: "买家进程在付款前就结束了"))
    }

    private func relaunch(_ papers: BuyerPapers) async throws -> (process: Int32, outcome: String) {
        let process = try BuyerProcess.start(papers)
        defer { process.kill() }
        var outcome = "nothing"
        for await event in process.events {
            switch event {
            case .said(let said) where said["event"] == "holding": process.tell("go on")
            case .said(let said) where said["event"] == "settled": outcome = said["outcome"]?.string ?? outcome
            case .said: break
            case .ended(let code, _):
                return (process.id, code == 0 ? outcome : "exit \(code ?? -1)")
            }
        }
        throw CancellationError()
    }

    /// What the device's journal says while no app is running.
    private func look(at order: OrderID, _ papers: BuyerPapers) async throws -> (status: OrderStatus, hasProof: Bool) {
        let journal = try OrderJournal(disk: .file(at: BuyerDevice.journalFile(in: papers.directory)))
        guard let entry = await journal[order] else {
            throw CommandFailure(Text(en: "the order is not in the device's journal", zh: "设备的记录中没有这个订单"))
        }
        return (entry.status, await journal.proof(of: order) != nil)
    }
}
