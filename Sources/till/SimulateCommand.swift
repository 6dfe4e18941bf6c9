import Foundation
import TillBilling
import TillSimulation

extension Command {
    static let simulate = Command(
        "simulate", summary: Text(en: "x", zh: "x"),
        flags: [
            Flag("seed", .integer("N", 0...Int64.max), summary: Text("x")), Flag("seeds", .integer("N", 1...10_000_000), summary: Text("x")),
            Flag("purchases", .integer("N", 1...100_000), summary: Text("x")),
        ]
    ) { call in
        let first = UInt64(call.integer(Flag("seed", .integer("N", 0...Int64.max), summary: Text("x"))) ?? 1)
        let count = UInt64(call.integer(Flag("seeds", .integer("N", 1...10_000_000), summary: Text("x"))) ?? 1)
        let purchases = Int(call.integer(Flag("purchases", .integer("N", 1...100_000), summary: Text("x"))) ?? 100)
        let thread = Thread {
            let simulation = try! Simulation(folder: URL(fileURLWithPath: NSTemporaryDirectory() + "/till-sim-\(getpid())"))
            for seed in first..<(first + count) {
                var plan = SimulationPlan(seed: seed)
                plan.purchases = purchases
                plan.isTold = ProcessInfo.processInfo.environment["TOLD"] != nil
                let began = Date()
                let report = simulation.run(plan)
                print("seed \(seed): \(report.purchases) purchases, \(report.paid) paid, \(report.steps) steps, \(report.virtualTime / 86_400_000) days, looks \(report.looks), \(Date().timeIntervalSince(began)) s, digest \(report.digest), fault \(report.fault ?? "-")")
                print("  faults:", report.faults.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key.rawValue) \($0.value)" }.joined(separator: ", "))
                for violation in report.violations { print("  \(violation.kind.rawValue): \(violation.text) [\(violation.about.joined(separator: ", "))] at \(violation.at.rfc3339)") }
                if plan.isTold { for line in report.story.lines { print("   \(line.at.rfc3339) \(line.who): \(line.text)") } }
            }
            exit(0)
        }
        thread.stackSize = 64 << 20
        thread.start()
        while true { try? await Task.sleep(for: .seconds(1000)) }
    }
}
