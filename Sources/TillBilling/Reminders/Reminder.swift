/// When something that a customer may use ends by itself (C10).
public struct ServiceEnd: Hashable, Sendable {
    /// What ends, the same for all reminders of it: `plan:basic_monthly`, `subscription:` and the original transaction.
    public let subject: String
    public let entitlement: String
    public let productID: ProductID
    /// The first moment without it.
    public let expiresAt: Instant
    /// Apple is going to renew it, so nothing is said before the end.
    public let renews: Bool

    public init(subject: String, entitlement: String, productID: ProductID, expiresAt: Instant, renews: Bool) {
        self.subject = subject
        self.entitlement = entitlement
        self.productID = productID
        self.expiresAt = expiresAt
        self.renews = renews
    }
}

/// What a customer is to be told about an end, and when.
public struct Reminder: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// So long before the end: `P7D`.
        case before(PlanLength)
        case expired

        /// `before_P7D`, `expired`.
        public var name: String {
            switch self {
            case .before(let lead): "before_\(lead.text)"
            case .expired: "expired"
            }
        }

        public init?(name: String) {
            if name == "expired" {
                self = .expired
            } else if name.hasPrefix("before_"), let lead = PlanLength(String(name.dropFirst(7))) {
                self = .before(lead)
            } else {
                return nil
            }
        }

        /// The event that tells of it.
        public var event: String {
            switch self {
            case .before: "service.expiring"
            case .expired: "service.expired"
            }
        }
    }

    public let end: ServiceEnd
    public let kind: Kind
    public let dueAt: Instant

    public init(end: ServiceEnd, kind: Kind, dueAt: Instant) {
        self.end = end
        self.kind = kind
        self.dueAt = dueAt
    }
}

/// When customers are reminded: so long before the end, each once, and at the end.
public struct ReminderPolicy: Hashable, Sendable {
    /// The longest first, none twice.
    public let leads: [PlanLength]

    /// A week and a day before.
    public static let standard = ReminderPolicy(leads: ["P7D", "P1D"].compactMap { PlanLength($0) })

    public init(leads: [PlanLength]) {
        var known: Set<Int> = []
        self.leads = leads.sorted { $0.days > $1.days }.filter { known.insert($0.days).inserted }
    }

    /// Apple's word of a renewal may come after the period it follows; an end that may be none is told this much later.
    static let patience: Int64 = 3_600

    /// What is to be said about ends, from a moment on. A lead that is longer than what is left says nothing any more:
    /// who buys a plan of three days is not told a week before.
    public func reminders(of ends: [ServiceEnd], from now: Instant) -> [Reminder] {
        ends.filter { $0.expiresAt > now }.flatMap { end in
            let before =
                end.renews
                ? []
                : leads.map { lead in
                    Reminder(end: end, kind: .before(lead), dueAt: end.expiresAt.adding(seconds: -lead.seconds))
                }
            let over = Reminder(
                end: end, kind: .expired,
                dueAt: end.renews ? end.expiresAt.adding(seconds: Self.patience) : end.expiresAt)
            return before.filter { $0.dueAt > now } + [over]
        }
    }
}
