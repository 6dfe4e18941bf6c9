import TillJSON
import TillTestDatabases

/// The result of a soak, in figures.
struct SoakReport: Sendable {
    /// Where the server's ledger was.
    let database: LedgerDatabase
    let seed: UInt64
    let chaos: Duration
    var tally = Tally()
    var findings: [Audit.Finding] = []
    /// By transaction.
    var stories: [String: [String]] = [:]
    /// Errors that the soak did not cause.
    var faults: [String] = []
    var lies = (planted: 0, found: 0)
    /// In MiB.
    var peakMemory: [String: Double] = [:]
    private(set) var paid = 0
    private(set) var renewals = 0
    private(set) var revoked = 0
    private(set) var unattributed: [String] = []
    private var waits: [Int64] = []
    private var seconds: Int64 = 0

    init(database: LedgerDatabase, seed: UInt64, chaos: Duration) {
        self.database = database
        self.seed = seed
        self.chaos = chaos
    }

    mutating func take(_ result: Audit.Result, _ sales: [Sale]) {
        findings = result.findings
        unattributed = result.unattributed
        waits = result.waits.sorted()
        paid = sales.count
        renewals = sales.count(where: \.isRenewal)
        revoked = sales.count(where: \.isRevoked)
    }

    func lasting(_ time: Duration) -> SoakReport {
        var report = self
        report.seconds = time.components.seconds
        return report
    }

    func count(_ kind: Audit.Finding.Kind) -> Int { findings.count { $0.kind == kind } }

    /// Whether nothing was found, all planted errors were found, and the soak had enough events to check.
    var isGood: Bool {
        findings.isEmpty && faults.isEmpty && paid > 0 && tally.total(.kills) > 0 && lies.planted > 0
            && lies.planted == lies.found
    }

    private var longestWait: Int64 { waits.last ?? 0 }
    private func wait(_ share: Double) -> Int64 {
        waits.isEmpty ? 0 : waits[min(waits.count - 1, Int(Double(waits.count) * share))]
    }

    // MARK: For programs

    var json: JSONValue {
        var members = tally.json
        members["database"] = .string(database.rawValue)
        members["seed"] = .string(String(seed))
        members["chaosSeconds"] = .int(chaos.components.seconds)
        members["seconds"] = .int(seconds)
        members["purchases"] = [
            "paid": .int(Int64(paid)), "renewals": .int(Int64(renewals)), "refunded": .int(Int64(revoked)),
        ]
        // The names of `till simulate`.
        members["lost"] = .int(Int64(count(.lost)))
        members["granted_twice"] = .int(Int64(count(.grantedTwice)))
        members["misattributed"] = .int(Int64(count(.misattributed)))
        members["forged_granted"] = .int(Int64(count(.forgedGranted)))
        members["unattributed"] = .array(unattributed.map { .string($0) })
        members["violations"] = .array(findings.map { .string($0.description) })
        members["unexpected"] = .array(faults.map { .string($0) })
        members["plantedLies"] = ["planted": .int(Int64(lies.planted)), "found": .int(Int64(lies.found))]
        members["paidToGrantedMilliseconds"] = [
            "median": .int(wait(0.5)), "of99": .int(wait(0.99)), "longest": .int(longestWait),
        ]
        members["peakMiB"] = .object(peakMemory.mapValues { .double(($0 * 10).rounded() / 10) })
        members["good"] = .bool(isGood)
        return .object(members)
    }

    // MARK: For people

    var text: String {
        var lines: [String] = []
        for finding in findings {
            lines.append("\(finding)")
            lines += finding.transaction.flatMap { stories[$0] } ?? []
        }
        lines += faults.map { "unexpected: \($0)" }
        lines += unattributed.map { "in quarantine, because Apple signed no token: \($0)" }
        for column in Tally.Column.allCases {
            let counts = tally.all(column).sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            lines.append("\(column.rawValue): \(counts.isEmpty ? "none" : counts.joined(separator: ", "))")
        }
        lines.append("from paid to granted: median \(wait(0.5)) ms, 99 % \(wait(0.99)) ms, longest \(longestWait) ms")
        let memory = peakMemory.sorted { $0.key < $1.key }.map { "\($0.key) \(Int($0.value.rounded())) MiB" }
        lines.append("memory at most: \(memory.joined(separator: ", "))")
        lines.append("planted lies found: \(lies.found) of \(lies.planted)")
        lines.append(
            "\(database): \(paid) paid in \(seconds) s (\(renewals) of them renewals, \(revoked) taken back), "
                + "\(tally.total(.kills)) kills with signal 9, \(tally.total(.faults)) faults: \(count(.lost)) lost, "
                + "\(count(.grantedTwice)) granted twice, \(count(.misattributed)) misattributed, "
                + "\(count(.forgedGranted)) granted unpaid, \(findings.count) findings in all, "
                + "\(faults.count) surprises, \(unattributed.count) without a signed owner")
        return lines.joined(separator: "\n")
    }
}
