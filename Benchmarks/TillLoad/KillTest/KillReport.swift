import Foundation

/// `till-load kill`: prints a line for each round and the totals, and exits with 1 after any loss.
struct KillReport {
    func run(_ test: KillTest) async throws {
        let result = try await test.run { round, result in
            print(
                "round \(round) of \(test.rounds): \(result.kills) kills, \(result.answered) answered,",
                "\(result.inDoubt) in doubt, \(result.lost.count) lost, \(result.twice.count) made twice,",
                "\(result.faults.count) faults")
            // Without a flush, a pipe would deliver all lines at the end.
            fflush(nil)
        }
        for (what, findings) in [("lost", result.lost), ("made twice", result.twice), ("fault", result.faults)] {
            for finding in findings.prefix(20) { print("\(what): \(finding)") }
        }
        print(
            "\(result.kills) kills with signal 9, \(result.killsAtStart) of them at start-up;",
            "\(result.answered) answered purchases, \(result.inDoubt) in doubt:",
            "\(result.lost.count) lost, \(result.twice.count) made twice, \(result.faults.count) faults")
        guard test.isPlanted else {
            if !result.isGood { exit(1) }
            return
        }
        // One loss and one double were planted; nothing else may be found.
        guard result.lost.count == 1, result.twice.count == 1, result.faults.isEmpty else {
            throw LoadError("a loss and a double were planted, and the checker didn't find just these")
        }
        print("The checker finds a planted loss and a planted double.")
    }
}
