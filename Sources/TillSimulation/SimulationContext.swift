import TillBilling

/// The shared parts of a simulated world.
struct SimulationContext: @unchecked Sendable {
    let seed: UInt64
    let scheduler: SimulatedScheduler
    let faults: FaultLog
    let log: EventLog

    /// In a quarter of the worlds the ledger is the file of one server, in the others a database that several may
    /// write.
    var hasSeveralWriters: Bool {
        var random = SeededRandom(seed: seed, stream: "writers")
        return random.chance(0.75)
    }
}
