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

/// What has to change among a customer's reminders so that they fit what ends now: an extension moves them, a refund
/// cancels them, and what was told is not told again as long as the end stays where it is (C10).
public struct ReminderChanges: Hashable, Sendable {
    /// A reminder that stands, with what the ledger knows it by.
    public struct Standing: Hashable, Sendable {
        public let sequence: Int64
        public let reminder: Reminder
        public let isSent: Bool

        public init(sequence: Int64, reminder: Reminder, isSent: Bool) {
            self.sequence = sequence
            self.reminder = reminder
            self.isSent = isSent
        }
    }

    public let set: [Reminder]
    public let removed: [Int64]

    /// - Parameter ends: of everything the customer may use at that moment.
    public init(from standing: [Standing], to ends: [ServiceEnd], policy: ReminderPolicy, at now: Instant) {
        let current = Dictionary(ends.map { ($0.subject, $0) }, uniquingKeysWith: { first, _ in first })
        func stays(_ one: Standing) -> Bool {
            let told = one.reminder.end
            // It ended by itself; or it was taken back, and there is nothing to be told.
            guard let end = current[told.subject] else { return told.expiresAt <= now && one.reminder.kind == .expired }
            return end.expiresAt == told.expiresAt && (one.isSent || end.renews == told.renews)
        }
        let kept = Set(standing.filter(stays).map { Key($0.reminder) })
        let set = policy.reminders(of: ends, from: now).filter { !kept.contains(Key($0)) }
        let replaced = Set(set.map(Key.init))
        self.set = set
        removed = standing.map { (Key($0.reminder), $0.sequence) }
            .filter { key, _ in !kept.contains(key) && !replaced.contains(key) }.map(\.1)
    }

    private struct Key: Hashable {
        let subject: String
        let kind: Reminder.Kind

        init(_ reminder: Reminder) {
            subject = reminder.end.subject
            kind = reminder.kind
        }
    }
}
