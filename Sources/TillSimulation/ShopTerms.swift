import TillBilling

/// On what terms the shop of a world sells.
struct ShopTerms: Sendable {
    /// The server has no In-App Purchase key: it believes receipts until Apple's signed copy comes, and asks for none.
    var isKeyless = false
    /// What becomes of another customer's purchase when somebody restores it.
    var restore = RestorePolicy.keep

    init() {}

    /// Customers use the client kit, on phones.
    private var hasKit = true

    init(_ plan: SimulationPlan) {
        guard plan.isOfThieves || plan.isOfFamilies else { return }
        var random = SeededRandom(seed: plan.seed, stream: "terms")
        isKeyless = random.chance(0.35)
        hasKit = plan.isOfThieves
        guard plan.isOfThieves else { return }
        restore = random.weighted([(RestorePolicy.keep, 5), (.move, 3), (.ask, 2)])
    }

    /// What moves by restoring moves among the users of one Apple Account too, and then the world does not know whose
    /// it is: only customers with accounts of their own are in such a world.
    var hasPhones: Bool { hasKit && restore != .move }
}
