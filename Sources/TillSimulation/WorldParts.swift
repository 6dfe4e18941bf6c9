import TillBilling

/// The shared parts of a simulated world.
struct WorldParts: @unchecked Sendable {
    let seed: UInt64
    let clockwork: Clockwork
    let faults: FaultLedger
    let story: Story
}
