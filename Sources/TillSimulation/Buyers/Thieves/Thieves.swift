/// The thieves in a world.
enum Thieves {
    /// In a world of thieves every kind; in other worlds a few kinds, or none.
    static func kinds(in plan: SimulationPlan) -> [TheftKind] {
        TheftKind.allCases.filter { kind in
            var random = SeededRandom(seed: plan.seed, stream: "thieves \(kind.rawValue)")
            return !plan.withoutThefts.contains(kind) && (plan.hasThieves || random.chance(0.12))
        }
    }

    /// - Parameters:
    ///   - accounts: users with an account.
    ///   - lookalikes: those of them whose ids have lookalikes.
    static func gather(
        _ plan: SimulationPlan, _ resources: Thief.Resources, accounts: [String], lookalikes: [String], keys: StoreKeys
    ) -> [Thief] {
        kinds(in: plan).map { kind in
            switch kind {
            case .squatter: Squatter(resources)
            case .twin: Twin(of: lookalikes, resources)
            case .receiptThief: ReceiptThief(resources)
            case .borrowedDevice: BorrowedDevice(resources)
            case .guestMerger: GuestMerger(of: accounts, resources)
            case .shortLivedToken: ShortLivedToken(of: accounts, resources)
            case .replayAcrossUsers: ProofReplayer(resources)
            case .falseClaimant: FalseClaimant(resources)
            case .hostileRestorer: HostileRestorer(resources)
            case .flooder: Flooder(resources, keys: keys)
            }
        }
    }
}
