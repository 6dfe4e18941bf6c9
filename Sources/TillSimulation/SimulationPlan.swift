import TillBilling

/// One run: everything that is decided before it begins.
public struct SimulationPlan: Sendable {
    public var seed: UInt64
    /// About so many purchases are begun in the world.
    public var purchases = 100
    /// Many thieves and few purchases, and shops of more kinds.
    public var isOfThieves = false
    /// Several customers share each Apple Account, and change each other's subscriptions.
    public var isOfFamilies = false
    /// Kinds of thieves that don't live there.
    public var withoutThefts: Set<TheftKind> = []
    /// Kinds of faults that never strike.
    public var without: Set<FaultKind> = []
    /// At most so many faults strike.
    public var faultLimit = Int.max
    /// The only phones that are used, by number; nil: all.
    public var phones: Set<Int>?
    /// A mistake that somebody put into the code, to see that it is found.
    /// One of `Planting.names`.
    public var planted: String?
    /// Whether everything is written down that happens.
    public var isTold = false

    public init(seed: UInt64) { self.seed = seed }

    /// What can be planted: nothing but in a build of the simulation's own (`scripts/plant-mistakes`).
    public static let plantable = Planting.names

    /// No world has more.
    public static let mostPhones = 7

    /// Nothing goes wrong but thieves, so whoever is told to wait waits for one.
    var isCalm: Bool {
        var random = SeededRandom(seed: seed, stream: "calm")
        return isOfThieves && random.chance(0.4)
    }

    /// How often each fault strikes where it can. Each seed has weather of its own: most faults are rare or absent, a
    /// few are heavy, so that a run is neither always calm nor always the same storm.
    var rates: [FaultKind: Double] {
        var rates: [FaultKind: Double] = [:]
        guard !isCalm else { return rates }
        for kind in FaultKind.allCases {
            var random = SeededRandom(seed: seed, stream: "weather \(kind.rawValue)")
            guard !without.contains(kind), !random.chance(0.25) else { continue }
            let heaviness = random.weighted([(0.3, 5), (1.0, 3), (2.5, 1)])
            rates[kind] = kind.usualRate * heaviness
        }
        // What Apple gives up telling a server that is down for days, a server without a key can't ask for.
        if isOfFamilies, ShopTerms(self).isKeyless { rates[.serverDown] = nil }
        return rates
    }
}

extension FaultKind {
    /// The chance that it strikes at one occasion: a request, a write, a launch, or an hour.
    var usualRate: Double {
        switch self {
        case .cut, .requestLost, .answerLost: 0.02
        case .delayed: 0.05
        case .duplicated: 0.03
        case .garbled: 0.02
        case .appKilled: 0.35
        case .tornWrite: 0.01
        case .deviceFull: 0.04
        case .reinstalled: 0.06
        case .serverKilled: 0.10
        case .powerCut: 0.10
        case .serverDiskFull: 0.01
        case .serverDiskFails: 0.02
        case .bodyRerun: 0.05
        case .commitInDoubt: 0.005
        case .rowsLate: 0.03
        case .serverDown: 0.01
        case .appleDown: 0.006
        case .notificationLost: 0.2
        case .clockJump: 0.02
        case .tokenLost: 0.03
        case .forged, .borrowed, .replayed: 0.05
        case .receiverDown: 0.01
        }
    }
}
