/// In which order a purchase is delivered, and when the server finishes by itself what a phone did not (G4, U2).
public struct DeliveryTerms: Hashable, Sendable {
    /// The two orders of G4. Neither loses anything: in each, what Apple is told to forget is durable here first.
    public enum Order: String, Hashable, Sendable, CaseIterable {
        /// The transaction is granted, then the phone is told to finish it.
        case grantThenFinish = "grant-then-finish"
        /// The proof is stored, the phone is told to finish, and the server grants by itself (G5).
        case saveThenFinish = "save-then-finish"
    }

    public var order = Order.grantThenFinish
    /// Seconds that a phone has for finishing by itself, before the server asks Apple to.
    public var finishAfter: Int64 = 600

    public init() {}
}
