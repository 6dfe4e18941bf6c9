import Testing
import TillBilling

@Suite("Reminders of service that ends (C10)")
struct ReminderTests {
    private static let day: Int64 = 86_400
    private static let start = Instant(seconds: 1_767_225_600)

    private static func at(_ day: Double) -> Instant {
        start.adding(milliseconds: Int64(day * 86_400_000))
    }

    private static func end(_ subject: String, _ day: Double, renews: Bool = false) -> ServiceEnd {
        ServiceEnd(
            subject: subject, entitlement: "basic", productID: ProductID("p"), expiresAt: at(day), renews: renews)
    }

    /// A customer's reminders over a sequence of events: each line is a time, the services that end, and the reminders
    /// sent until the next line.
    private final class Customer {
        var scheduled: [ReminderChanges.ScheduledReminder] = []
        var rowID: Int64 = 0

        func see(_ ends: [ServiceEnd], at now: Instant) {
            let changes = ReminderChanges(from: scheduled, to: ends, policy: .standard, at: now)
            scheduled.removeAll { changes.removed.contains($0.rowID) }
            for reminder in changes.set {
                scheduled.removeAll {
                    $0.reminder.end.subject == reminder.end.subject && $0.reminder.kind == reminder.kind
                }
                rowID += 1
                scheduled.append(.init(rowID: rowID, reminder: reminder, isSent: false))
            }
        }

        /// Sends the reminders that are due by then.
        func tell(until now: Instant) -> [String] {
            let due = scheduled.filter { !$0.isSent && $0.reminder.dueAt <= now }
                .sorted { ($0.reminder.dueAt, $0.rowID) < ($1.reminder.dueAt, $1.rowID) }
            scheduled = scheduled.map { one in
                guard due.contains(one) else { return one }
                return .init(rowID: one.rowID, reminder: one.reminder, isSent: true)
            }
            return due.map { "\($0.reminder.end.subject) \($0.reminder.kind.name)" }
        }
    }

    struct Moment: Sendable {
        let day: Double
        let ends: [ServiceEnd]
        /// The reminders sent since the line before.
        let told: [String]
    }

    struct Story: Sendable, CustomTestStringConvertible {
        let name: String
        let moments: [Moment]
        var testDescription: String { name }
    }

    private static func story(_ name: String, _ moments: [(Double, [ServiceEnd], [String])]) -> Story {
        Story(name: name, moments: moments.map { Moment(day: $0.0, ends: $0.1, told: $0.2) })
    }

    static let stories: [Story] = [
        story(
            "A week before, a day before, and at the end",
            [
                (0, [end("a", 30)], []), (22, [end("a", 30)], []), (23.5, [end("a", 30)], ["a before_P7D"]),
                (29.5, [end("a", 30)], ["a before_P1D"]), (30.5, [], ["a expired"]), (40, [], []),
            ]),
        story(
            "An extension moves them, and what was told of the old end is told of the new one again",
            [
                (0, [end("a", 30)], []), (24, [end("a", 60)], ["a before_P7D"]), (50, [end("a", 60)], []),
                (53.5, [end("a", 60)], ["a before_P7D"]), (61, [], ["a before_P1D", "a expired"]),
            ]),
        story(
            "A refund cancels them",
            [(0, [end("a", 30)], []), (10, [], []), (31, [], [])]),
        story(
            "A plan of three days is not announced a week before",
            [(0, [end("a", 3)], []), (2.5, [end("a", 3)], ["a before_P1D"]), (4, [], ["a expired"])]),
        story(
            "Who asks again is not told again",
            [
                (0, [end("a", 30)], []), (23.5, [end("a", 30)], ["a before_P7D"]), (23.6, [end("a", 30)], []),
                (24, [end("a", 30)], []),
            ]),
        story(
            "What Apple renews is not announced, and its end is told when no renewal has come",
            [
                (0, [end("s", 30, renews: true)], []), (30.01, [], []), (30.5, [], ["s expired"]),
            ]),
        story(
            "A renewal in time moves the end",
            [
                (0, [end("s", 30, renews: true)], []), (29.5, [end("s", 60, renews: true)], []),
                (31, [end("s", 60, renews: true)], []),
            ]),
        story(
            "Switching the renewal off brings the announcements, switching it on takes them away",
            [
                (0, [end("s", 30, renews: true)], []), (10, [end("s", 30)], []),
                (23.5, [end("s", 30)], ["s before_P7D"]), (24, [end("s", 30, renews: true)], []),
                (29.9, [end("s", 30, renews: true)], []),
            ]),
        story(
            "Two plans are told of apart",
            [
                (0, [end("a", 30), end("b", 31)], []),
                (24.5, [end("a", 30), end("b", 31)], ["a before_P7D", "b before_P7D"]),
                (30, [end("b", 31)], ["a before_P1D", "a expired", "b before_P1D"]),
            ]),
        story(
            "Bought again after the end, it is told of again",
            [
                (0, [end("a", 2)], []), (3, [], ["a before_P1D", "a expired"]), (10, [end("a", 12)], []),
                (13, [], ["a before_P1D", "a expired"]),
            ]),
    ]

    @Test("Reminders before expiry and at expiry, cancelled or moved when the plan changes (C10)", arguments: stories)
    func told(_ story: Story) {
        let customer = Customer()
        for moment in story.moments {
            let now = Self.at(moment.day)
            #expect(customer.tell(until: now) == moment.told, "day \(moment.day)")
            customer.see(moment.ends, at: now)
        }
    }

    @Test("The longest lead comes first, and no lead twice")
    func leads() {
        let leads = ["P1D", "P2W", "P14D", "P7D"].compactMap { PlanLength($0) }
        #expect(ReminderPolicy(leads: leads).leads.map(\.days) == [14, 7, 1])
    }

    @Test("Each kind has a name, and the name gives the kind")
    func names() throws {
        for name in ["before_P7D", "before_P1M", "expired"] { #expect(Reminder.Kind(name: name)?.name == name) }
        for name in ["", "before_", "before_7D", "Expired"] { #expect(Reminder.Kind(name: name) == nil) }
    }
}
