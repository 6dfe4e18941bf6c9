import TillBilling

/// The faults of the server's machine and of Apple, hour by hour.
final class Weather: @unchecked Sendable {
    private let server: ServerHost
    private let apple: AppleHost
    private let parts: WorldParts
    private var random: SeededRandom

    init(_ server: ServerHost, _ apple: AppleHost, _ parts: WorldParts) {
        self.server = server
        self.apple = apple
        self.parts = parts
        random = SeededRandom(seed: parts.seed, stream: "weather")
    }

    /// Runs until the end of the fault phase.
    func blow(while goesOn: @escaping @Sendable () -> Bool) async {
        let faults = parts.faults
        while goesOn() {
            await parts.clockwork.pause(random.between(600_000, 3_600_000))
            guard goesOn() else { return }
            if faults.strikes(.serverKilled, at: "server") { server.kill(afterSteps: random.below(2_000)) }
            if faults.strikes(.powerCut, at: "server") { server.cutPower(afterOperations: random.below(200)) }
            if faults.strikes(.serverDown, at: "server") { server.stayDown(for: hours(1, 72)) }
            if faults.strikes(.appleDown, at: "apple") { apple.goDown(for: hours(1, 60)) }
            if faults.strikes(.serverDiskFull, at: "server") {
                server.fillDisk()
                mendDiskLater()
            }
            if faults.strikes(.serverDiskFails, at: "server") {
                server.makeDiskFail(random.chance(0.5) ? 0.005 : 0.05)
                mendDiskLater()
            }
            if faults.strikes(.clockJump, at: "server") {
                server.set(clockError: random.between(-7_200_000, 7_200_000))
                parts.clockwork.after(hours(1, 24)) { self.server.set(clockError: 0) }
            }
        }
    }

    private func mendDiskLater() { parts.clockwork.after(random.between(60_000, 7_200_000)) { self.server.mendDisk() } }

    private func hours(_ low: Int64, _ high: Int64) -> Int64 { random.between(low * 3_600_000, high * 3_600_000) }

    /// Ends all faults.
    func clear() {
        server.mendDisk()
        server.set(clockError: 0)
        apple.comeBack()
        server.comeBack()
    }
}
