/// The end of a service that ends without further action.
public struct ServiceEnd: Hashable, Sendable {
    /// The service that ends, the same in all its reminders: `plan:basic_monthly`, `subscription:` and the original
    /// transaction.
    public let subject: String
    public let entitlement: String
    public let productID: ProductID
    /// The first moment without the service.
    public let expiresAt: Instant
    /// Whether Apple is expected to renew it. Then there is no reminder before the end.
    public let renews: Bool

    public init(subject: String, entitlement: String, productID: ProductID, expiresAt: Instant, renews: Bool) {
        self.subject = subject
        self.entitlement = entitlement
        self.productID = productID
        self.expiresAt = expiresAt
        self.renews = renews
    }
}

/// One notice to a customer about an end of service, and its time.
public struct Reminder: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// A lead time before the end: `P7D`.
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

        /// The event that carries the reminder.
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

/// The times of reminders: each lead time before the end, once, and the end itself.
public struct ReminderPolicy: Hashable, Sendable {
    /// Longest first, without duplicates.
    public let leads: [PlanLength]

    /// A week and a day before the end.
    public static let standard = ReminderPolicy(leads: ["P7D", "P1D"].compactMap { PlanLength($0) })

    public init(leads: [PlanLength]) {
        var known: Set<Int> = []
        self.leads = leads.sorted { $0.days > $1.days }.filter { known.insert($0.days).inserted }
    }

    /// In seconds. Apple's update about a renewal may arrive after the end of the period, so an uncertain end is
    /// reported this much later.
    static let renewalAllowance: Int64 = 3_600

    /// The reminders for the given ends, from a moment on. Lead times that have already begun are skipped: a customer
    /// who buys a plan of three days is not reminded a week before.
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
                dueAt: end.renews ? end.expiresAt.adding(seconds: Self.renewalAllowance) : end.expiresAt)
            return before.filter { $0.dueAt > now } + [over]
        }
    }
}

/// The changes that adapt a customer's reminders to the current ends of service: an extension moves them, a refund
/// cancels them, and a sent reminder is not repeated while the end stays the same.
public struct ReminderChanges: Hashable, Sendable {
    /// An existing reminder, with its row id in the ledger.
    public struct ScheduledReminder: Hashable, Sendable {
        public let rowID: Int64
        public let reminder: Reminder
        public let isSent: Bool

        public init(rowID: Int64, reminder: Reminder, isSent: Bool) {
            self.rowID = rowID
            self.reminder = reminder
            self.isSent = isSent
        }
    }

    public let set: [Reminder]
    public let removed: [Int64]

    /// - Parameter ends: of all services that the customer may use at that moment.
    public init(from scheduled: [ScheduledReminder], to ends: [ServiceEnd], policy: ReminderPolicy, at now: Instant) {
        let current = Dictionary(ends.map { ($0.subject, $0) }, uniquingKeysWith: { first, _ in first })
        func stays(_ one: ScheduledReminder) -> Bool {
            let told = one.reminder.end
            // The service ended at its time, and the reminder stays; or it was revoked, and its reminders are removed.
            guard let end = current[told.subject] else { return told.expiresAt <= now && one.reminder.kind == .expired }
            return end.expiresAt == told.expiresAt && (one.isSent || end.renews == told.renews)
        }
        let kept = Set(scheduled.filter(stays).map { Key($0.reminder) })
        let set = policy.reminders(of: ends, from: now).filter { !kept.contains(Key($0)) }
        let replaced = Set(set.map(Key.init))
        self.set = set
        removed = scheduled.map { (Key($0.reminder), $0.rowID) }
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
