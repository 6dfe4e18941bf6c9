import TillBilling
import TillClient

/// The person with a phone: opens the app from time to time, buys, signs in and out, lends the phone, deletes the app,
/// and never waits for anything to complete.
final class PhoneUser: @unchecked Sendable {
    let phone: PhoneHost
    let users: [String]
    private let parts: SimulationContext
    private var random: SeededRandom
    /// Purchases not started yet.
    private var purchasesLeft: Int
    private(set) var begun = 0
    /// Orders that its users last saw as ongoing.
    private(set) var waiting: [StoreOrder] = []

    init(_ phone: PhoneHost, users: [String], purchasesLeft: Int, _ parts: SimulationContext) {
        self.phone = phone
        self.users = users
        self.purchasesLeft = purchasesLeft
        self.parts = parts
        random = SeededRandom(seed: parts.seed, stream: "owner \(phone.name)")
    }

    private var scheduler: SimulatedScheduler { parts.scheduler }

    /// Returns when all purchases were started, or when its task is cancelled.
    func live() async {
        await scheduler.pause(random.between(0, 3_600_000 * 6))
        while purchasesLeft > 0, !Task.isCancelled {
            if parts.faults.occurs(.reinstalled, at: phone.name) { phone.erase() }
            if parts.faults.occurs(.deviceFull, at: phone.name) { phone.fillDisk(for: random.between(1_000, 600_000)) }
            if parts.faults.occurs(.clockJump, at: phone.name) {
                phone.set(clockError: random.between(-86_400_000 * 3, 86_400_000 * 3))
            }
            await visit()
            await scheduler.pause(
                random.weighted([(60_000, 3), (3_600_000, 5), (86_400_000 / 2, 2)]) + random.between(0, 1_800_000))
        }
    }

    /// One visit: the app is opened, used and left.
    private func visit() async {
        guard await phone.launch() else { return }
        if parts.faults.occurs(.appKilled, at: phone.name) {
            phone.kill(afterSteps: random.below(random.chance(0.5) ? 120 : 900))
        }
        var user = random.pick(users)
        if !random.chance(0.05) { await phone.signIn(user) }
        for _ in 0..<(2 + random.below(8)) {
            guard phone.isRunning, purchasesLeft > 0 else { break }
            user = await act(as: user)
            await scheduler.pause(random.between(200, 20_000))
        }
        await scheduler.pause(random.weighted([(500, 3), (25_000, 5), (70_000, 2)]))
        phone.kill()
    }

    /// - Returns: the user of the app afterwards.
    private func act(as user: String) async -> String {
        enum Action { case buy, check, restore, resubmit, switchUser, signOut, look }
        switch random.weighted([
            (Action.buy, 70), (.check, 4), (.restore, 3), (.resubmit, 4), (.switchUser, 6), (.signOut, 2), (.look, 4),
        ]) {
        case .buy: await buy(as: user)
        case .check: _ = await phone.use { await $0.checkOrderStatus() }
        case .restore: _ = await phone.use { try? await $0.restore() }
        case .resubmit:
            let pick = random.next()
            _ = await phone.use { store in
                let open = await store.orders().filter { $0.status == .ongoing }
                if !open.isEmpty {
                    _ = try? await store.resubmit(orderID: open[Int(pick % UInt64(open.count))].orderID)
                }
            }
        case .switchUser:
            let other = random.pick(users)
            await phone.signIn(other)
            return other
        case .signOut:
            _ = await phone.use { await $0.signOut() }
            await scheduler.pause(random.between(100, 5_000))
            await phone.signIn(user)
        case .look:
            _ = await phone.use { store in
                _ = try? await store.products()
                _ = try? await store.wallet()
                _ = try? await store.refresh()
            }
        }
        return user
    }

    private func buy(as user: String) async {
        purchasesLeft -= 1
        begun += 1
        let product = random.weighted([
            (SimulatedShop.points60, 50), (SimulatedShop.points300, 20), (SimulatedShop.basic, 8),
            (SimulatedShop.pro, 6), (SimulatedShop.silver, 8), (SimulatedShop.gold, 5), (SimulatedShop.goldYear, 3),
        ])
        let isPack = product == SimulatedShop.points60 || product == SimulatedShop.points300
        let quantity = isPack && random.chance(0.15) ? 1 + random.below(10) : 1
        let outcome = await phone.buy(product, quantity: quantity, by: user)
        parts.log.record(
            phone.name,
            "\(user) bought \(product): \(outcome.map(Self.line) ?? "the app was gone")",
            about: ["user \(user)"])
    }

    private static func line(_ outcome: Result<PurchaseResult, TillError>) -> String {
        switch outcome {
        case .success(let result): "\(result)".prefix(120).description
        case .failure(let error): "failed: \(error.code.rawValue) of \(error.orderID ?? "no order")"
        }
    }

    /// Opens the app once more for each of its users, long enough to complete all pending work.
    func finishPurchases() async {
        phone.makeRoom()
        phone.set(clockError: 0)
        guard await phone.launch() else { return }
        waiting = []
        for user in users {
            await phone.signIn(user)
            _ = await phone.use { await $0.checkOrderStatus() }
            await scheduler.pause(60_000)
            waiting += await phone.use { await $0.orders().filter { $0.status == .ongoing } } ?? []
        }
        await scheduler.pause(60_000)
        phone.kill()
    }
}
