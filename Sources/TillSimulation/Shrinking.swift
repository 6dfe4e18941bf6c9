/// Reduces a failing run step by step, as long as it still fails in the same way.
public struct Shrinking {
    public let kind: Violation.Kind
    private let run: (SimulationPlan) async throws -> SeedReport

    /// - Parameters:
    ///   - kind: the violation that must remain.
    ///   - run: runs a plan.
    public init(_ kind: Violation.Kind, run: @escaping (SimulationPlan) async throws -> SeedReport) {
        self.kind = kind
        self.run = run
    }

    /// - Parameter isSmaller: called with each smaller plan that still fails.
    public func shrink(
        _ plan: SimulationPlan, phones: Int, isSmaller: (SimulationPlan) -> Void
    ) async throws -> SimulationPlan {
        var best = plan
        func keep(_ plan: SimulationPlan) async throws -> Bool {
            guard try await fails(plan) else { return false }
            best = plan
            isSmaller(plan)
            return true
        }
        // Fewer phones.
        for number in 1...max(1, phones) {
            var plan = best
            let kept = plan.phones ?? Set(1...phones)
            guard kept.count > 1, kept.contains(number) else { continue }
            plan.phones = kept.subtracting([number])
            _ = try await keep(plan)
        }
        // Fewer kinds of faults.
        for kind in FaultKind.allCases where !best.without.contains(kind) {
            var plan = best
            plan.without.insert(kind)
            _ = try await keep(plan)
        }
        // Fewer thieves.
        for kind in Thieves.kinds(in: best) {
            var plan = best
            plan.withoutThefts.insert(kind)
            _ = try await keep(plan)
        }
        // Fewer purchases: the first ones stay the same.
        var step = best.purchases / 2
        while step >= 1 {
            var plan = best
            plan.purchases -= step
            let isKept = plan.purchases >= 1 ? try await keep(plan) : false
            if !isKept { step /= 2 }
        }
        // Fewer faults: the last ones are left out.
        var low = 0
        var high = try await run(best).faults.values.reduce(0, +)
        while low < high {
            let middle = (low + high) / 2
            var plan = best
            plan.faultLimit = middle
            if try await keep(plan) { high = middle } else { low = middle + 1 }
        }
        return best
    }

    private func fails(_ plan: SimulationPlan) async throws -> Bool {
        try await run(plan).violations.contains { $0.kind == kind }
    }
}
