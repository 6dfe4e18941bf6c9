import TillBilling

/// The shared parts of a simulated world.
struct SimulationContext: @unchecked Sendable {
    let seed: UInt64
    let scheduler: SimulatedScheduler
    let faults: FaultLog
    let log: EventLog
}
