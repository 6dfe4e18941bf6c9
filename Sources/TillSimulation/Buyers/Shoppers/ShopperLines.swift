import TillBilling

/// The connections of every customer without the client kit.
struct ShopperLines: @unchecked Sendable {
    let parts: WorldParts
    let apple: AppleHost
    let truth: Truth
    let backend: Backend
    let stolen: StolenKnowledge
    let process: SimulatedProcess
    let toServer: Link
    let toStore: Link
    /// The probability that a thief reads the phone after a purchase.
    let exposure: Double
    /// Customers restore what the server moved: under the policy `move`.
    let restores: Bool
    /// Thieves are the only disturbance in this world: no customer may be asked to come again.
    let isCalm: Bool
    let complain: @Sendable (Violation.Kind, String, [String]) -> Void
}
