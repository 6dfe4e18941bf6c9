import Foundation
import TillBilling

/// The result of one seed.
public struct SeedReport: Sendable {
    public let seed: UInt64
    /// Purchases that were started.
    public let purchases: Int
    /// Paid transactions at Apple, renewals included.
    public let paid: Int
    public let faults: [FaultKind: Int]
    /// Requests that were attempts to steal.
    public let thefts: [TheftKind: Int]
    public let violations: [Violation]
    /// Why the run could not be completed; nil if it was.
    public let fault: String?
    /// Pieces of work between two suspension points.
    public let steps: Int
    /// The time that passed in the world, in milliseconds.
    public let virtualTime: Int64
    /// How often the ledger was checked.
    public let looks: Int
    /// How often a customer's right to a subscription was compared with Apple's records.
    public let rightsChecks: Int
    /// The trace, if the plan asked for one.
    public let lines: [EventLog.Line]
    /// A digest of the final ledger; the same seed yields the same digest.
    public let digest: UInt64

    init(
        seed: UInt64, purchases: Int, paid: Int, faults: [FaultKind: Int], thefts: [TheftKind: Int],
        violations: [Violation], fault: String?, steps: Int, virtualTime: Int64, looks: Int,
        rightsChecks: Int, lines: [EventLog.Line], digest: UInt64
    ) {
        self.rightsChecks = rightsChecks
        self.seed = seed
        self.purchases = purchases
        self.paid = paid
        self.faults = faults
        self.thefts = thefts
        self.violations = violations
        self.fault = fault
        self.steps = steps
        self.virtualTime = virtualTime
        self.looks = looks
        self.lines = lines
        self.digest = digest
    }
}

/// Runs seeds one after the other, in this process and on this thread.
public struct Simulation {
    private let keys: StoreKeys
    private let databases: EmptyDatabases
    private let folder: URL

    /// - Parameters:
    ///   - folder: for files of emulated devices; it is created.
    ///   - shared: a folder for what all workers of a run need.
    public init(folder: URL, sharing shared: URL) throws {
        keys = try StoreKeys(sharedIn: shared)
        databases = try EmptyDatabases()
        self.folder = folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    public func run(_ plan: SimulationPlan) -> SeedReport {
        let place = folder.appendingPathComponent("seed-\(plan.seed)")
        defer { try? FileManager.default.removeItem(at: place) }
        let world = SimulatedWorld(plan, keys: keys, databases: databases, folder: place)
        world.run()
        return SeedReport(
            seed: plan.seed, purchases: world.begun, paid: world.paid, faults: world.parts.faults.counts,
            thefts: world.thefts.counts, violations: world.auditor?.violations ?? [], fault: world.fault,
            steps: world.parts.scheduler.steps,
            virtualTime: world.parts.scheduler.now.milliseconds - SimulatedWorld.start.milliseconds,
            looks: world.auditor?.looks ?? 0, rightsChecks: world.auditor?.rightsChecks ?? 0,
            lines: world.parts.log.lines, digest: world.digest)
    }
}

extension SeedReport {
    /// The worker process ended during the run.
    public init(crashed seed: UInt64, how: String) {
        self.init(
            seed: seed, purchases: 0, paid: 0, faults: [:], thefts: [:], violations: [],
            fault: "the process ended: \(how)",
            steps: 0, virtualTime: 0, looks: 0, rightsChecks: 0, lines: [], digest: 0)
    }
}
