import TillBilling

/// What every customer without our client kit is connected to.
struct ShopperLines: @unchecked Sendable {
    let parts: WorldParts
    let apple: AppleHost
    let truth: Truth
    let backend: Backend
    let stolen: StolenKnowledge
    let process: SimulatedProcess
    let toServer: Link
    let toStore: Link
    /// How often a phone lies about.
    let exposure: Double
    /// What the server moves is moved back by who restores: under the policy `move`.
    let restores: Bool
    /// Nothing goes wrong in this world but thieves: no customer may be told to come again.
    let isCalm: Bool
    let complain: @Sendable (Violation.Kind, String, [String]) -> Void
}
