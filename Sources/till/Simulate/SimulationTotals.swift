import TillBilling
import TillJSON
import TillSimulation

/// The results of all seeds of a run.
struct SimulationTotals: Sendable {
    struct Failure: Sendable {
        let violation: Violation?
        let fault: String?
        let plan: SimulationPlan
    }

    private(set) var seeds = 0
    private(set) var purchases = 0
    private(set) var paid = 0
    private(set) var steps = 0
    private(set) var looks = 0
    private(set) var rightsChecks = 0
    private(set) var virtualTime: Int64 = 0
    private(set) var faults: [FaultKind: Int] = [:]
    private(set) var thefts: [TheftKind: Int] = [:]
    private(set) var counts: [Violation.Kind: Int] = [:]
    /// The first thousand failures.
    private(set) var failures: [Failure] = []
    private(set) var failedSeeds = 0
    /// A digest of all final ledgers; the same for the same seeds, in any order.
    private(set) var digest: UInt64 = 0

    mutating func add(_ report: SeedReport, of plan: SimulationPlan) {
        seeds += 1
        purchases += report.purchases
        paid += report.paid
        steps += report.steps
        looks += report.looks
        rightsChecks += report.rightsChecks
        virtualTime += report.virtualTime
        faults.merge(report.faults, uniquingKeysWith: +)
        thefts.merge(report.thefts, uniquingKeysWith: +)
        for violation in report.violations {
            counts[violation.kind, default: 0] += 1
            if failures.count < 1_000 { failures.append(Failure(violation: violation, fault: nil, plan: plan)) }
        }
        if let fault = report.fault, failures.count < 1_000 {
            failures.append(Failure(violation: nil, fault: fault, plan: plan))
        }
        if report.isFailed { failedSeeds += 1 }
        digest &+= report.digest
    }

    var isClean: Bool { failedSeeds == 0 }

    // MARK: For programs

    func json(seconds: Double) -> JSONValue {
        [
            "seeds": .int(Int64(seeds)), "purchases": .int(Int64(purchases)), "paid": .int(Int64(paid)),
            "faults": .object(
                Dictionary(uniqueKeysWithValues: faults.map { ($0.key.rawValue, JSONValue.int(Int64($0.value))) })),
            "thefts": .object(
                Dictionary(uniqueKeysWithValues: thefts.map { ($0.key.rawValue, JSONValue.int(Int64($0.value))) })),
            "stolen": count(.stolen), "delayed_by_thief": count(.delayedByThief),
            "lost": count(.lost), "granted_twice": count(.grantedTwice), "misattributed": count(.misattributed),
            "forged_granted": count(.forgedGranted), "violations": .array(failures.map(\.json)),
            "digest": .string(String(digest, radix: 16)), "steps": .int(Int64(steps)), "audits": .int(Int64(looks)),
            "rightsChecks": .int(Int64(rightsChecks)),
            "virtualDays": .int(virtualTime / 86_400_000),
            "seconds": .double(seconds),
            "purchasesPerSecond": .double(seconds > 0 ? Double(purchases) / seconds : 0),
        ]
    }

    private func count(_ kind: Violation.Kind) -> JSONValue { .int(Int64(counts[kind] ?? 0)) }

    // MARK: For people

    func lines(seconds: Double, _ language: Language) -> [String] {
        func line(_ en: String, _ zh: String) -> String { LocalizedText(en: en, zh: zh)(language) }
        let rate = seconds > 0 ? Int(Double(purchases) / seconds) : 0
        let total = faults.values.reduce(0, +)
        var lines = [
            line(
                "\(seeds) seeds, \(purchases) purchases begun, \(paid) paid (renewals included), "
                    + "\(virtualTime / 86_400_000) days of virtual time",
                "\(seeds) 个种子，发起 \(purchases) 笔购买，付款 \(paid) 笔（含续订），虚拟时间 \(virtualTime / 86_400_000) 天"),
            line(
                "\(Int(seconds)) s, \(rate) purchases/s, \(looks) audits of the ledger, \(total) faults:",
                "用时 \(Int(seconds)) 秒，每秒 \(rate) 笔购买，核对账本 \(looks) 次，注入故障 \(total) 次："),
        ]
        for (kind, count) in faults.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            lines.append("  \(kind.rawValue) \(count)")
        }
        if rightsChecks > 0 {
            lines.append(
                line(
                    "\(rightsChecks) comparisons of a customer's entitlements with Apple's records",
                    "按 Apple 的记录核对客户的权益 \(rightsChecks) 次"))
        }
        if !thefts.isEmpty {
            let tries = thefts.values.reduce(0, +)
            lines.append(line("\(tries) attempts by thieves:", "盗取尝试 \(tries) 次："))
        }
        for (kind, count) in thefts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            lines.append("  \(kind.rawValue) \(count)")
        }
        lines.append(
            line(
                "lost \(counts[.lost] ?? 0), granted twice \(counts[.grantedTwice] ?? 0), misattributed "
                    + "\(counts[.misattributed] ?? 0), forged granted \(counts[.forgedGranted] ?? 0), "
                    + "stolen \(counts[.stolen] ?? 0), waited on thief \(counts[.delayedByThief] ?? 0)",
                "丢单 \(counts[.lost] ?? 0)，重复发放 \(counts[.grantedTwice] ?? 0)，错发 "
                    + "\(counts[.misattributed] ?? 0)，伪造得逞 \(counts[.forgedGranted] ?? 0)，被盗 \(counts[.stolen] ?? 0)，"
                    + "因盗取者而等待 \(counts[.delayedByThief] ?? 0)"))
        return lines
    }
}

extension SeedReport {
    var isFailed: Bool { !violations.isEmpty || fault != nil }
}

extension SimulationTotals.Failure {
    /// One line for people: the failure, and the command that repeats it.
    func line(_ language: Language) -> String {
        let what = violation.map { "\($0.kind.rawValue): \($0.text)" } ?? fault ?? ""
        return LocalizedText(
            en: "seed \(plan.seed): \(what)\n  replay: \(plan.commandLine)",
            zh: "种子 \(plan.seed)：\(what)\n  重放：\(plan.commandLine)")(language)
    }

    var json: JSONValue {
        [
            "seed": .int(Int64(bitPattern: plan.seed)), "kind": .string(violation?.kind.rawValue ?? "broken"),
            "text": .string(violation?.text ?? fault ?? ""),
            "about": .array((violation?.about ?? []).map { .string($0) }),
            "replay": .string(plan.commandLine),
        ]
    }
}
