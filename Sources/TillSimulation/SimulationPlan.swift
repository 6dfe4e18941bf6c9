import TillBilling

/// The parameters of one run, all fixed before it starts.
public struct SimulationPlan: Sendable {
    public var seed: UInt64
    /// The approximate number of purchases in the world.
    public var purchases = 100
    /// Many thieves and few purchases, with more kinds of shops.
    public var hasThieves = false
    /// Several customers share each Apple Account and change each other's subscriptions.
    public var hasFamilies = false
    /// Kinds of thieves that are absent.
    public var withoutThefts: Set<TheftKind> = []
    /// Kinds of faults that never occur.
    public var without: Set<FaultKind> = []
    /// The most faults that may occur.
    public var faultLimit = Int.max
    /// The only phones in use, by number; nil: all.
    public var phones: Set<Int>?
    /// A planted mistake that the run must find. One of `PlantableMistakes.names`.
    public var planted: String?
    /// Whether the run records a trace.
    public var keepsLog = false

    public init(seed: UInt64) { self.seed = seed }

    /// The mistakes that can be planted: empty except in a build of the simulation's own (`scripts/plant-mistakes`).
    public static let plantable = PlantableMistakes.names

    /// The most phones of any world.
    public static let maximumPhones = 7

    /// The only disturbances are thieves, so every delay is caused by a thief.
    var isQuiet: Bool {
        var random = SeededRandom(seed: seed, stream: "calm")
        return hasThieves && random.chance(0.4)
    }

    /// The rate of each fault. Each seed has its own mix: most faults are rare or absent and a few are frequent, so
    /// that runs differ.
    var rates: [FaultKind: Double] {
        var rates: [FaultKind: Double] = [:]
        guard !isQuiet else { return rates }
        for kind in FaultKind.allCases {
            var random = SeededRandom(seed: seed, stream: "weather \(kind.rawValue)")
            guard !without.contains(kind), !random.chance(0.25) else { continue }
            let heaviness = random.weighted([(0.3, 5), (1.0, 3), (2.5, 1)])
            rates[kind] = kind.usualRate * heaviness
        }
        // A server without a key can't request notifications that Apple gives up on while the server is down for days.
        if hasFamilies, ShopTerms(self).isKeyless { rates[.serverDown] = nil }
        return rates
    }
}

extension FaultKind {
    /// The probability of the fault at one occasion: a request, a write, a launch, or an hour.
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
