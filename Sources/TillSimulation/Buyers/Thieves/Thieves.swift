/// The thieves in a world.
enum Thieves {
    /// In a world of thieves every kind; in other worlds a few kinds, or none.
    static func kinds(in plan: SimulationPlan) -> [TheftKind] {
        TheftKind.allCases.filter { kind in
            var random = SeededRandom(seed: plan.seed, stream: "thieves \(kind.rawValue)")
            return !plan.withoutThefts.contains(kind) && (plan.isOfThieves || random.chance(0.12))
        }
    }

    /// - Parameters:
    ///   - accounts: users with an account.
    ///   - lookalikes: those of them whose ids have lookalikes.
    static func gather(
        _ plan: SimulationPlan, _ means: Thief.Means, accounts: [String], lookalikes: [String], keys: StoreKeys
    ) -> [Thief] {
        kinds(in: plan).map { kind in
            switch kind {
            case .squatter: Squatter(means)
            case .twin: Twin(of: lookalikes, means)
            case .receiptThief: ReceiptThief(means)
            case .borrowedDevice: BorrowedDevice(means)
            case .guestMerger: GuestMerger(of: accounts, means)
            case .shortLivedToken: ShortLivedToken(of: accounts, means)
            case .replayAcrossUsers: ReplayAcrossUsers(means)
            case .claimJumper: ClaimJumper(means)
            case .hostileRestorer: HostileRestorer(means)
            case .flooder: Flooder(means, keys: keys)
            }
        }
    }
}
