import Foundation
import TillJSON

/// The faults between the processes, set at the store and on the network: bad for a while, then good for a while.
struct FaultSchedule: Sendable {
    let control: StoreControl
    let lines: [FaultyProxy]
    let tally: Tally
    let seed: UInt64
    /// Whether notifications may be lost permanently: only if reconciliation runs afterwards.
    let mayLoseNotifications: Bool
    let notificationURL: String

    func run(until deadline: ContinuousClock.Instant) async {
        var random = SeededRandom(seed: seed, player: "weather")
        while ContinuousClock.now < deadline, !Task.isCancelled {
            await count()
            await change(&random)
            let pause = min(random.duration(5...20), max(.zero, deadline - .now))
            try? await Task.sleep(for: pause)
        }
    }

    /// Removes all faults.
    func clear() async throws {
        await count()
        for line in lines { line.setRates(.smooth) }
        try await control.delete("/emulator/faults")
        try await control.put("/emulator/notifications", ["url": .string(notificationURL)])
    }

    private func change(_ random: inout SeededRandom) async {
        for line in lines {
            guard random.occurs(0.7) else {
                line.setRates(.smooth)
                continue
            }
            line.setRates(
                FaultyProxy.FaultRates(
                    cutBefore: chance(&random, 0.08), cutAfter: chance(&random, 0.12), delay: chance(&random, 0.3),
                    duplicate: chance(&random, 0.1), page: chance(&random, 0.05)))
        }
        guard random.occurs(0.75) else {
            try? await control.delete("/emulator/faults")
            return
        }
        var settings: [String: JSONValue] = ["seed": .int(Int64.random(in: 0..<1 << 40, using: &random))]
        for fault in ["drop", "delay", "duplicate", "reorder", "error5xx", "html", "rateLimit"]
        where random.occurs(0.5) { settings[fault] = .double(chance(&random, 0.25)) }
        settings["delayTo"] = 2_000
        var endpoints: [String: JSONValue] = [:]
        // No notification arrives for a while; Apple retries after an hour.
        if random.occurs(0.35) { endpoints["notifications"] = ["dropBefore": 1] }
        // The app's user name is lost before the transaction is signed.
        if random.occurs(0.2) { endpoints["purchases"] = ["lostApplicationUsername": 0.2] }
        settings["endpoints"] = .object(endpoints)
        do {
            try await control.put("/emulator/faults", .object(settings))
            let isLosing = mayLoseNotifications && random.occurs(0.15)
            if isLosing { tally.add(.faults, "no notifications at all") }
            try await control.put(
                "/emulator/notifications", ["url": isLosing ? .null : .string(notificationURL)])
        } catch {
            tally.add(.faults, "fault rates that could not be set")
        }
    }

    private func chance(_ random: inout SeededRandom, _ most: Double) -> Double {
        Double.random(in: 0...most, using: &random)
    }

    /// Counts the faults since the last settings. Faults before the store was killed are unknown.
    private func count() async {
        guard let report = try? await control.get("/emulator/faults") else { return }
        for (endpoint, number) in report["requests"]?.object ?? [:] {
            tally.add(.requests, "disturbable \(endpoint)", Int(number.int ?? 0))
        }
        for (endpoint, struck) in report["injected"]?.object ?? [:] {
            for (fault, number) in struck.object ?? [:] {
                tally.add(.faults, "\(endpoint): \(fault)", Int(number.int ?? 0))
            }
        }
    }
}
