/// What the developer said about a purchase whose refund was asked for (facts/server-api §5), checked and in one form
/// for both versions of the endpoint.
struct ConsumptionAnswer: Sendable, Hashable {
    enum Preference: String, Sendable, Hashable {
        case none
        case decline
        case grantFull
        case grantProrated
    }

    var preference: Preference
    /// Thousandths of a percent that the customer used up; nil if it was not said.
    var consumed: Int64?
    var wasDelivered: Bool
    /// The body as it came.
    var text: String
}

/// What becomes of an answer to CONSUMPTION_REQUEST.
enum ConsumptionOutcome: Sendable, Hashable {
    case taken
    /// Nobody asked about this transaction.
    case notRequested
    /// Twelve hours have passed: the App Store has decided.
    case tooLate
}
