import TillBilling

/// The terms on which a world's shop sells.
struct ShopTerms: Sendable {
    /// The server has no In-App Purchase Key: it accepts receipts until a signed transaction arrives, and requests
    /// none.
    var isKeyless = false
    /// The policy for restoring another customer's purchase.
    var restore = RestorePolicy.keep

    init() {}

    /// Customers use the client kit, on phones.
    private var hasKit = true

    init(_ plan: SimulationPlan) {
        guard plan.hasThieves || plan.hasFamilies else { return }
        var random = SeededRandom(seed: plan.seed, stream: "terms")
        isKeyless = random.chance(0.35)
        hasKit = plan.hasThieves
        guard plan.hasThieves else { return }
        restore = random.weighted([(RestorePolicy.keep, 5), (.move, 3), (.ask, 2)])
    }

    /// Under the policy `move`, restores also move purchases among the users of one Apple Account, and the world can't
    /// tell the owner. Such a world has only customers with their own accounts.
    var hasPhones: Bool { hasKit && restore != .move }
}
