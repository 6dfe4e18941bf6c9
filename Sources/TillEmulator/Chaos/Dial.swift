/// What can go wrong on purpose, each with a probability of its own. The names are those of the control API.
public enum Dial: String, Sendable, Hashable, Codable, CaseIterable, CodingKeyRepresentable {
    /// Nothing happens, and nobody answers.
    case dropBefore
    /// It happens, and nobody answers.
    case dropAfter
    /// It takes its time.
    case delay
    /// It happens twice: what is answered is the second time's answer, as to a client whose first was lost.
    case duplicate
    /// What came first is done after what came next.
    case reorder
    /// The service is in trouble, and nothing happens.
    case error5xx
    /// A page for people comes back in its place, and nothing happens.
    case html
    /// Too many requests, says the service, and nothing happens.
    case rateLimit
    /// verifyReceipt only: a status that asks for another attempt (facts/verify-receipt §3).
    case internalStatus
    /// Purchases only: what the app said of who buys is lost before anything is signed (U1).
    case lostApplicationUsername
    /// Notifications only: the signature is broken.
    case forgery
}
