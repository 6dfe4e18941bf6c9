import Foundation
import TillJSON

/// The faults between the processes, set at the store and on the network: bad for a while, then good for a while.
struct Weather: Sendable {
    let control: StoreControl
    let lines: [Line]
    let tally: Tally
    let seed: UInt64
    /// Whether notifications may be lost permanently: only if reconciliation runs afterwards.
    let mayLoseNotifications: Bool
    let notificationURL: String

    func run(until deadline: ContinuousClock.Instant) async {
        var dice = Dice(seed: seed, player: "weather")
        while ContinuousClock.now < deadline, !Task.isCancelled {
            await count()
            await change(&dice)
            let pause = min(dice.duration(5...20), max(.zero, deadline - .now))
            try? await Task.sleep(for: pause)
        }
    }

    /// Removes all faults.
    func clear() async throws {
        await count()
        for line in lines { line.become(.smooth) }
        try await control.delete("/emulator/faults")
        try await control.put("/emulator/notifications", ["url": .string(notificationURL)])
    }

    private func change(_ dice: inout Dice) async {
        for line in lines {
            guard dice.strikes(0.7) else {
                line.become(.smooth)
                continue
            }
            line.become(
                Line.Roughness(
                    cutBefore: chance(&dice, 0.08), cutAfter: chance(&dice, 0.12), delay: chance(&dice, 0.3),
                    duplicate: chance(&dice, 0.1), page: chance(&dice, 0.05)))
        }
        guard dice.strikes(0.75) else {
            try? await control.delete("/emulator/faults")
            return
        }
        var settings: [String: JSONValue] = ["seed": .int(Int64.random(in: 0..<1 << 40, using: &dice))]
        for dial in ["drop", "delay", "duplicate", "reorder", "error5xx", "html", "rateLimit"]
        where dice.strikes(0.5) { settings[dial] = .double(chance(&dice, 0.25)) }
        settings["delayTo"] = 2_000
        var endpoints: [String: JSONValue] = [:]
        // No notification arrives for a while; Apple retries after an hour.
        if dice.strikes(0.35) { endpoints["notifications"] = ["dropBefore": 1] }
        // The app's user name is lost before the transaction is signed.
        if dice.strikes(0.2) { endpoints["purchases"] = ["lostApplicationUsername": 0.2] }
        settings["endpoints"] = .object(endpoints)
        do {
            try await control.put("/emulator/faults", .object(settings))
            let isLosing = mayLoseNotifications && dice.strikes(0.15)
            if isLosing { tally.add(.faults, "no notifications at all") }
            try await control.put(
                "/emulator/notifications", ["url": isLosing ? .null : .string(notificationURL)])
        } catch {
            tally.add(.faults, "dials that could not be set")
        }
    }

    private func chance(_ dice: inout Dice, _ most: Double) -> Double { Double.random(in: 0...most, using: &dice) }

    /// Counts the faults since the last settings. Faults before the store was killed are unknown.
    private func count() async {
        guard let report = try? await control.get("/emulator/faults") else { return }
        for (endpoint, number) in report["requests"]?.object ?? [:] {
            tally.add(.requests, "disturbable \(endpoint)", Int(number.int ?? 0))
        }
        for (endpoint, struck) in report["struck"]?.object ?? [:] {
            for (dial, number) in struck.object ?? [:] {
                tally.add(.faults, "\(endpoint): \(dial)", Int(number.int ?? 0))
            }
        }
    }
}
