import TillBilling

/// What every part of a simulated world is made from.
struct WorldParts: @unchecked Sendable {
    let seed: UInt64
    let clockwork: Clockwork
    let faults: FaultLedger
    let story: Story
}
