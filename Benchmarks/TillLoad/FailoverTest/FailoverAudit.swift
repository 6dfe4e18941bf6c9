import Foundation
import TillThreads

/// Compares the ledger, as psql reads it on the last leader, with what was answered and delivered.
struct FailoverAudit: Sendable {
    /// What the ledger contains.
    struct Ledger: Sendable {
        /// Grants and their points, by transaction.
        var grants: [String: (count: Int, points: Int)] = [:]
        var debits: [String: (count: Int, points: Int)] = [:]
        /// Ids of all events, and of those of grants.
        var events: [String: Int64] = [:]
        var grantEvents = 0
        var probes: Set<Int> = []
        /// What is wrong whatever was answered.
        var findings: [String] = []
    }

    let record: FailoverRecord.Contents
    let webhooks: WebhookLog.Contents
    let ledger: Ledger

    static func read(_ cluster: FailoverCluster) async throws -> Ledger {
        var ledger = Ledger()
        func number(_ text: String) -> Int { Int(text) ?? -1 }
        for row in try await cluster.rows(
            """
            SELECT t.id, count(*), coalesce(sum(p.amount), 0) FROM grants g JOIN transactions t \
            ON t.row_id = g.transaction_row_id LEFT JOIN (SELECT grant_row_id, sum(amount) AS amount FROM postings \
            GROUP BY grant_row_id) AS p ON p.grant_row_id = t.row_id GROUP BY t.id
            """)
        { ledger.grants[row[0]] = (number(row[1]), number(row[2])) }
        for row in try await cluster.rows(
            "SELECT reference, count(*), sum(amount) FROM postings WHERE kind = 'debit' GROUP BY reference"
        ) { ledger.debits[row[0]] = (number(row[1]), number(row[2])) }
        for row in try await cluster.rows(
            """
            SELECT encode(o.event_id, 'hex'), o.type, coalesce(p.position, -1) FROM outbox o \
            LEFT JOIN event_positions p ON p.event_row_id = o.row_id
            """)
        {
            ledger.events["evt_" + row[0]] = Int64(row[2]) ?? -1
            if row[1] == "grant.created" { ledger.grantEvents += 1 }
        }
        ledger.probes = Set(try await cluster.rows("SELECT number FROM failover_probe").map { number($0[0]) })
        let rules = [
            ("an order with two grants", "SELECT order_row_id FROM grants GROUP BY 1 HAVING count(*) > 1"),
            (
                "a gap in the event numbers of a user",
                """
                SELECT customer_id FROM outbox WHERE customer_id IS NOT NULL GROUP BY 1 \
                HAVING count(*) <> max(user_sequence)
                """
            ),
            (
                "a balance that is not the sum of its postings",
                """
                SELECT customer_id FROM (SELECT environment, customer_id, currency, amount FROM postings UNION ALL \
                SELECT environment, customer_id, currency, -amount FROM balances) AS entries \
                GROUP BY environment, customer_id, currency HAVING sum(amount) <> 0
                """
            ),
            ("a notification that is not processed", "SELECT uuid FROM notifications WHERE state <> 1"),
        ]
        for (what, sql) in rules {
            ledger.findings += try await cluster.rows(sql).map { "\(what): \($0.joined(separator: " "))" }
        }
        return ledger
    }

    // MARK: Findings

    /// By kind: lost, twice, missing event, order, feed, two writers, wrong.
    func findings() -> [String: [String]] {
        var findings: [String: [String]] = [:]
        func note(_ kind: String, _ what: String) { findings[kind, default: []].append(what) }
        for number in record.granted.sorted() where ledger.grants[LoadIssuer.transactionID(number)] == nil {
            note("lost", "the answered grant of purchase \(number)")
        }
        for number in record.debited.sorted() where ledger.debits[FailoverBuyers.reference(number)] == nil {
            note("lost", "the answered debit of purchase \(number)")
        }
        for (id, grant) in ledger.grants {
            if grant.count != 1 || grant.points > Int(LoadSet.pointsEach) {
                note("twice", "\(id): \(grant.count) grants, \(grant.points) points")
            }
            if grant.points < Int(LoadSet.pointsEach) { note("lost", "\(id): \(grant.points) points") }
        }
        for (reference, debit) in ledger.debits where debit.count != 1 || debit.points != -FailoverBuyers.debitEach {
            note("twice", "\(reference): \(debit.count) debits, \(debit.points) points")
        }
        for (number, count) in record.freshGrants where count > 1 { note("twice", "purchase \(number) was new twice") }
        for (number, count) in record.freshDebits where count > 1 { note("twice", "debit \(number) was new twice") }
        if ledger.grantEvents != ledger.grants.count {
            note("event missing", "\(ledger.grantEvents) events for \(ledger.grants.count) grants")
        }
        for (id, position) in ledger.events {
            if webhooks.byID[id] == nil { note("event missing", "\(id) never came to the webhook's receiver") }
            if position < 0 { note("event missing", "\(id) has no place in the feed") }
        }
        for id in webhooks.byID.keys where ledger.events[id] == nil { note("lost", "\(id) was delivered and is gone") }
        for what in orderFindings() { note("order", what) }
        for what in feedFindings() { note("feed", what) }
        for what in writerFindings() { note("two writers", what) }
        for what in record.wrong + webhooks.wrong { note("wrong answer", what) }
        for what in ledger.findings { note("ledger", what) }
        return findings
    }

    /// A user's events come first in the order of their numbers.
    private func orderFindings() -> [String] {
        var last: [String: Int64] = [:]
        return webhooks.firsts.compactMap { event in
            guard let user = event.user, let number = event.userSequence else { return nil }
            defer { last[user] = number }
            let due = (last[user] ?? 0) + 1
            return number == due ? nil : "\(user): event \(number) came where \(due) was due"
        }
    }

    /// The reader that followed the feed has every event once, in ascending order.
    private func feedFindings() -> [String] {
        var findings: [String] = []
        var last: Int64 = 0
        for event in record.feed {
            if event.sequence <= last { findings.append("\(event.sequence) came after \(last)") }
            last = event.sequence
        }
        let seen = Set(record.feed.map(\.id))
        findings += ledger.events.keys.filter { !seen.contains($0) }.map { "the reader never saw \($0)" }
        return findings
    }

    /// A confirmed write is kept, and nodes confirm writes one after the other: after a later timeline has confirmed
    /// one, no earlier timeline does.
    private func writerFindings() -> [String] {
        var findings = record.probes.filter { !ledger.probes.contains($0.number) }.map {
            "write \($0.number), confirmed by \($0.node) on timeline \($0.timeline), is gone"
        }
        let probes = record.probes.sorted { $0.ended < $1.ended }
        var newest: (timeline: String, node: String, ended: ContinuousClock.Instant)?
        for probe in probes {
            if let newest, probe.timeline < newest.timeline, probe.began > newest.ended {
                findings.append(
                    "\(probe.node) confirmed on timeline \(probe.timeline) after \(newest.node) on \(newest.timeline)")
            }
            if let known = newest, known.timeline == probe.timeline, known.node != probe.node {
                findings.append("\(known.node) and \(probe.node) both confirmed on timeline \(probe.timeline)")
            }
            if newest.map({ probe.timeline >= $0.timeline }) ?? true {
                newest = (probe.timeline, probe.node, probe.ended)
            }
        }
        return findings
    }
}
