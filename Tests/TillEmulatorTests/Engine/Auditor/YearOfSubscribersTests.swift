import Foundation
import Testing
import TillBilling
import TillJSON

@testable import TillEmulator

@Suite("A year of subscribers")
struct YearOfSubscribersTests {
    private static func number(_ name: String, _ standard: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? standard
    }

    /// The notifications about the subscriptions and transactions named in a text.
    private static func lives(in text: String, _ record: AuditRecord) -> String {
        let ids = Set(text.split { !$0.isNumber }.filter { $0.count >= 12 }.map(String.init)).sorted().prefix(6)
        return ids.map { id in
            let original = record.notified.first { $0.id == id }?.original ?? id
            let notified = record.notified.filter { $0.original == original }.map { notified in
                let day = (notified.signed - YearWorld.start.milliseconds) / 86_400_000
                let expires = notified.transaction?.expires.map { ($0 - YearWorld.start.milliseconds) / 86_400_000 }
                return "\(day) \(notified.word) \(notified.id ?? "") \(notified.transaction?.product ?? "")"
                    + " to \(expires ?? 0), status \(notified.status ?? 0)"
                    + (notified.transaction?.isShared == true ? ", shared" : "")
            }
            let customer = record.customers.first { $0.history.contains { $0.id == id } }
            return "\(id) of \(customer?.account ?? "?"), day, what, until:\n  " + notified.joined(separator: "\n  ")
        }.joined(separator: "\n")
    }

    /// All notifications except those of external purchases and of the Advanced Commerce API (facts/notifications §4).
    private static var words: Set<String> {
        let others: Set = ["EXTERNAL_PURCHASE_TOKEN", "METADATA_UPDATE", "MIGRATION", "PRICE_CHANGE"]
        return Set(
            NotificationChecks.subtypesByType.filter { !others.contains($0.key) }.flatMap { type, subtypes in
                subtypes.map { subtype in subtype.map { "\(type)/\($0)" } ?? type }
            })
    }

    @Test("Histories, statuses, receipts and notifications of a year agree with each other")
    func year() async throws { try await audit(subscribers: 12) }

    @Test("They also agree for a hundred subscribers, who cover every story", .slow)
    func yearOfMany() async throws { try await audit(subscribers: Self.number("TILL_YEAR_SUBSCRIBERS", 100)) }

    private func audit(subscribers: Int) async throws {
        let audited = try await AuditedYear(
            subscribers: subscribers, seed: UInt64(Self.number("TILL_YEAR_SEED", 1)),
            isWild: Self.number("TILL_YEAR_WILD", 0) == 1)
        let year = audited.year
        var notified: [AuditRecord.Notification] = []
        var histories: [JSONValue] = []
        for quarter in [0..<91, 91..<182, 182..<273, 273..<365] as [Range<Int64>] {
            try await year.live(quarter)
            let record = try await audited.record()
            let violations = Auditor(record: record).violations()
            let shown = violations.prefix(40).joined(separator: "\n")
            #expect(
                violations.isEmpty,
                "by day \(quarter.upperBound), \(violations.count):\n\(shown)\n\(Self.lives(in: shown, record))")
            (notified, histories) = (record.notified, record.customers.flatMap(\.history))
        }
        #expect(year.tallied.refusals == [])

        let post = try YearPost(attempts: year.world.attempts).check(reading: audited.read)
        #expect(post.violations == [])
        // The only lost notifications failed six times, and the history still had them.
        let uuids = { (texts: [String]) in try Set(texts.map { try AuditRecord.Notification(signedPayload: $0).uuid }) }
        #expect(try uuids(post.lost) == uuids(year.fetched))
        #expect(try await year.world.store.summary().pendingNotifications == 0)

        let counts = Dictionary(grouping: notified, by: \.word).mapValues(\.count)
        let renewals = histories.count { $0.isRenewal && !$0.isShared }
        let sizes = [histories.count, notified.count, renewals, post.retried, post.lost.count, year.tallied.walks]
        // Fewer subscribers do not cover all stories.
        if subscribers >= 100 {
            #expect(Self.words.subtracting(counts.keys).sorted() == [], "never told")
            #expect(zip(sizes, Self.leastSizes).allSatisfy { $0 >= $1 }, "\(sizes)")
        }
        print("A year of \(subscribers) subscribers:", sizes)
        for (word, count) in counts.sorted(by: { $0.key < $1.key }) { print(String(count).leftPadded(to: 6), word) }
        await year.world.remove()
    }

    /// For a hundred subscribers: transactions, notifications, renewals, retried notifications, failed ones, and random
    /// actions.
    private static let leastSizes = [1_200, 1_650, 850, 90, 10, 650]

    /// All results of a year.
    private struct Traces: Equatable {
        var transactions: [StoreTransaction]
        var subscriptions: [StoreSubscription]
        var attempts: [Instant]
        var notified: [AuditRecord.Notification]

        init(_ year: Year) async throws {
            transactions = []
            for customer in year.customers { transactions += try await year.world.transactions(of: customer.name) }
            subscriptions = try await year.world.store.subscriptions(limit: 10_000)
            attempts = year.world.attempts.map(\.at)
            notified = try year.world.attempts.map { try AuditRecord.Notification(signedPayload: $0.signedPayload) }
        }
    }

    @Test("The same seed makes the same year, even with a restart in the middle")
    func repeated() async throws {
        func traces(restart: Bool) async throws -> Traces {
            let year = try await AuditedYear(subscribers: 60, seed: 7).year
            try await year.live(0..<70)
            if restart { try await year.restart() }
            try await year.live(70..<140)
            let traces = try await Traces(year)
            await year.world.remove()
            return traces
        }
        let first = try await traces(restart: false)
        let again = try await traces(restart: false)
        let restarted = try await traces(restart: true)
        #expect(first.transactions.count > 200 && first.notified.count > 300)
        for other in [again, restarted] {
            #expect(other.transactions.elementsEqual(first.transactions))
            #expect(other.subscriptions.elementsEqual(first.subscriptions))
            #expect(other.attempts.elementsEqual(first.attempts))
            #expect(other.notified.elementsEqual(first.notified))
        }
    }
}

extension String {
    fileprivate func leftPadded(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
