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
