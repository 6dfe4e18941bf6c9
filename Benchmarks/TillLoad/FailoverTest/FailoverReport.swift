import Foundation

/// The result of a failover test, in figures.
struct FailoverReport {
    struct Strike: Sendable {
        let fault: FailoverFault
        /// Seconds until purchases are granted again, and the longest pause between two of them; nil if none was.
        let recovery: Double?
        let pause: Double?

        var text: String {
            guard let recovery, let pause else { return "no purchase since" }
            return String(format: "granted again after %.1f s, longest pause %.1f s", recovery, pause)
        }
    }

    let seed: UInt64
    let strikes: [Strike]
    let record: FailoverRecord.Contents
    let webhooks: WebhookLog.Contents
    var findings: [String: [String]] = [:]
    /// Faults that did not heal, purchases that did not end.
    var problems: [String] = []
    /// Planted errors that the audit did not find.
    var missed: [String] = []
    var grants = 0
    var events = 0

    var isGood: Bool {
        findings.values.allSatisfy(\.isEmpty) && problems.isEmpty && missed.isEmpty && !record.granted.isEmpty
            && strikes.allSatisfy { $0.recovery != nil }
    }

    func print() {
        let losses = strikes.filter { FailoverFault.leaderLosses.contains($0.fault) }
        line("\(strikes.count) faults, \(losses.count) of them lost leaders; seed \(seed)")
        for (name, some) in [("lost leaders", losses), ("all faults", strikes)] {
            let times = some.compactMap(\.recovery).sorted()
            guard !times.isEmpty else { continue }
            line(
                String(
                    format: "seconds until purchases are granted again, %@: p50 %.1f, p99 %.1f, longest %.1f", name,
                    quantile(times, 0.5), quantile(times, 0.99), times.last ?? 0))
        }
        let purchases = record.purchases.sorted()
        if let longest = purchases.last {
            line(
                String(
                    format: "seconds of a purchase with all repetitions: p50 %.2f, p99 %.1f, longest %.1f",
                    quantile(purchases, 0.5), quantile(purchases, 0.99), longest))
        }
        line("\(record.granted.count) answered purchases; in the ledger \(grants) grants and \(events) events")
        line("\(webhooks.firsts.count) events delivered, \(webhooks.repetitions) repetitions with the same webhook-id")
        line("\(record.probes.count) direct writes confirmed, on \(Set(record.probes.map(\.timeline)).count) timelines")
        for (answer, count) in record.answers.sorted(by: { $0.key < $1.key }) { line("answers: \(count) × \(answer)") }
        for (kind, some) in findings.sorted(by: { $0.key < $1.key }) where !some.isEmpty {
            for what in some.prefix(20) { line("\(kind): \(what)") }
            if some.count > 20 { line("\(kind): \(some.count - 20) more") }
        }
        for what in problems { line("problem: \(what)") }
        for what in missed { line("the audit did not find a planted error: \(what)") }
        let counts = [
            "lost", "twice", "event missing", "order", "feed", "two writers", "wrong answer", "ledger",
        ].map { "\(findings[$0]?.count ?? 0) \($0)" }
        line(counts.joined(separator: ", "))
    }

    private func line(_ text: String) {
        Swift.print("failover-test: \(text)")
        fflush(nil)
    }

    private func quantile(_ sorted: [Double], _ share: Double) -> Double {
        sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }
}
