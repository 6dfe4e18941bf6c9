import TillBilling

/// The connections of every customer without the client kit.
struct ShopperConnections: @unchecked Sendable {
    let parts: SimulationContext
    let apple: AppleHost
    let groundTruth: GroundTruth
    let backend: Backend
    let stolen: StolenData
    let process: SimulatedProcess
    let toServer: Link
    let toStore: Link
    /// The probability that a thief reads the phone after a purchase.
    let exposure: Double
    /// Customers restore what the server moved: under the policy `move`.
    let restores: Bool
    /// Thieves are the only disturbance in this world: no customer may be asked to come again.
    let isQuiet: Bool
    let complain: @Sendable (Violation.Kind, String, [String]) -> Void
}
