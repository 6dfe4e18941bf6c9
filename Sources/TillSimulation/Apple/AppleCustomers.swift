import TillBilling
import TillHTTP
import TillJSON

/// Events at Apple without the app: parents' decisions, failing and recovering payments, refunds, subscription changes
/// in the settings, and purchases in Apple's own shop.
final class AppleCustomers: @unchecked Sendable {
    private let apple: AppleHost
    private let groundTruth: GroundTruth
    private let parts: SimulationContext
    private var random: SeededRandom
    private let accounts: [String]
    private var refunded: Set<String> = []
    private var reversed: Set<String> = []

    private let hasFamilies: Bool

    init(
        _ apple: AppleHost, _ groundTruth: GroundTruth, accounts: [String], hasFamilies: Bool = false,
        _ parts: SimulationContext
    ) {
        self.hasFamilies = hasFamilies
        self.apple = apple
        self.groundTruth = groundTruth
        self.accounts = accounts
        self.parts = parts
        random = SeededRandom(seed: parts.seed, stream: "household")
    }

    /// Runs until the end of the fault phase.
    func live(while isRunning: @escaping @Sendable () -> Bool) async {
        while isRunning() {
            await parts.scheduler.pause(random.between(1_800_000, 14_400_000))
            await decide(about: 0.6)
            await refund()
            await changeSubscriptions()
            await buyAtApple()
        }
    }

    /// Customers request refunds and change subscriptions.
    func changeDecisions() async {
        await refund()
        await changeSubscriptions()
    }

    /// Decides all waiting purchases.
    func finishPurchases() async { await decide(about: 1) }

    /// Parents approve or decline, and interrupted purchases continue.
    private func decide(about share: Double) async {
        let waiting = (try? await apple.waiting()) ?? []
        for id in waiting where random.chance(share) {
            let act = random.chance(0.75) ? "approve" : "decline"
            _ = await apple.act(.post, "/emulator/transactions/\(id)/\(act)")
            parts.log.record("apple", "\(act)s \(id)", about: ["transaction \(id)"])
        }
    }

    private func refund() async {
        guard random.chance(0.35), let sold = try? await apple.transactions() else { return }
        let paid = sold.filter { $0.isPaid && $0.revokedAt == nil && !$0.isShared && !refunded.contains($0.id) }
        if !paid.isEmpty, random.chance(0.7) {
            let one = paid[random.below(paid.count)]
            refunded.insert(one.id)
            if random.chance(0.3) {
                _ = await apple.act(.post, "/emulator/transactions/\(one.id)/consumptionRequest", [:])
                parts.log.record("apple", "\(one.id) is to be refunded; asks", about: ["transaction \(one.id)"])
            } else {
                _ = await apple.act(.post, "/emulator/transactions/\(one.id)/refund", [:])
                parts.log.record("apple", "refunds \(one.id)", about: ["transaction \(one.id)"])
            }
        }
        let back = sold.filter { $0.revokedAt != nil && !reversed.contains($0.id) && mayComeBack($0, in: sold) }
        if !back.isEmpty, random.chance(0.25) {
            let one = back[random.below(back.count)]
            reversed.insert(one.id)
            _ = await apple.act(.post, "/emulator/transactions/\(one.id)/refundReversal")
            parts.log.record("apple", "takes back the refund of \(one.id)", about: ["transaction \(one.id)"])
        }
    }

    /// In worlds of families, a refund is not reversed after the subscription was bought again: Apple's records do not
    /// show who would then have the right.
    private func mayComeBack(_ period: AppleHost.StoreSale, in sold: [AppleHost.StoreSale]) -> Bool {
        guard hasFamilies else { return true }
        return !sold.contains {
            $0.originalID == period.originalID && !$0.isRenewal && $0.isPaid && $0.purchasedAt > period.purchasedAt
        }
    }

    private func changeSubscriptions() async {
        guard random.chance(0.3), let chains = try? await apple.subscriptions(), !chains.isEmpty else { return }
        let chain = random.pick(chains)
        let act = random.weighted([("cancel", 3), ("resume", 2), ("billingFailure", 2), ("recover", 2), ("upgrade", 2)])
        let body: JSONValue? =
            act == "upgrade"
            ? ["productId": .string(random.pick([SimulatedShop.silver, SimulatedShop.gold, SimulatedShop.goldYear]))]
            : nil
        _ = await apple.act(.post, "/emulator/subscriptions/\(chain)/\(act)", body)
        parts.log.record("apple", "\(act) of subscription \(chain)", about: ["transaction \(chain)"])
    }

    /// A purchase without an order, because no app started it.
    private func buyAtApple() async {
        guard random.chance(0.04), !accounts.isEmpty else { return }
        let account = random.pick(accounts)
        let product = random.pick([SimulatedShop.points60, SimulatedShop.pro, SimulatedShop.unlisted])
        let answer = await apple.act(
            .post, "/emulator/purchases",
            [
                "bundleId": .string(SimulatedShop.bundleID), "productId": .string(product),
                "account": .string(account),
            ])
        guard case .object(let members)? = answer, case .string(let id)? = members["transactionId"] else { return }
        groundTruth.note(stray: id)
        parts.log.record("apple", "\(account) buys \(product) in Apple's shop: \(id)", about: ["transaction \(id)"])
    }
}
