import TillBilling

/// The faults of the server's machine and of Apple, hour by hour.
final class FaultSchedule: @unchecked Sendable {
    private let server: ServerHost
    private let apple: AppleHost
    private let parts: SimulationContext
    private var random: SeededRandom

    init(_ server: ServerHost, _ apple: AppleHost, _ parts: SimulationContext) {
        self.server = server
        self.apple = apple
        self.parts = parts
        random = SeededRandom(seed: parts.seed, stream: "weather")
    }

    /// Runs until the end of the fault phase.
    func run(while isRunning: @escaping @Sendable () -> Bool) async {
        let faults = parts.faults
        while isRunning() {
            await parts.scheduler.pause(random.between(600_000, 3_600_000))
            guard isRunning() else { return }
            if faults.occurs(.serverKilled, at: "server") { server.kill(afterSteps: random.below(2_000)) }
            if faults.occurs(.powerCut, at: "server") { server.cutPower(afterOperations: random.below(200)) }
            if faults.occurs(.serverDown, at: "server") { server.stayDown(for: hours(1, 72)) }
            if faults.occurs(.appleDown, at: "apple") { apple.goDown(for: hours(1, 60)) }
            if faults.occurs(.serverDiskFull, at: "server") {
                server.fillDisk()
                repairDiskLater()
            }
            if faults.occurs(.serverDiskFails, at: "server") {
                server.makeDiskFail(random.chance(0.5) ? 0.005 : 0.05)
                repairDiskLater()
            }
            if faults.occurs(.clockJump, at: "server") {
                server.set(clockError: random.between(-7_200_000, 7_200_000))
                parts.scheduler.after(hours(1, 24)) { self.server.set(clockError: 0) }
            }
        }
    }

    private func repairDiskLater() {
        parts.scheduler.after(random.between(60_000, 7_200_000)) { self.server.repairDisk() }
    }

    private func hours(_ low: Int64, _ high: Int64) -> Int64 { random.between(low * 3_600_000, high * 3_600_000) }

    /// Ends all faults.
    func clear() {
        server.repairDisk()
        server.set(clockError: 0)
        apple.comeBack()
        server.comeBack()
    }
}
