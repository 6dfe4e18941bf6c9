import TillBilling
import TillHTTP
import TillJSON

/// A user with a seat of another customer's purchase: Apple signs a copy that says so, and the app submits it. The
/// server does not grant seats yet, so no user may get it.
final class SeatUser: @unchecked Sendable {
    private let parts: SimulationContext
    private let apple: AppleHost
    private let groundTruth: GroundTruth
    private let link: Link
    private let process: SimulatedProcess
    private let bought: @Sendable () -> [String]
    private var random: SeededRandom

    /// - Parameter bought: signed transactions that have seats.
    init(
        _ parts: SimulationContext, _ apple: AppleHost, _ groundTruth: GroundTruth, _ link: Link,
        bought: @escaping @Sendable () -> [String]
    ) {
        self.parts = parts
        self.apple = apple
        self.groundTruth = groundTruth
        self.link = link
        self.bought = bought
        process = SimulatedProcess("seats", on: parts.scheduler)
        random = SeededRandom(seed: parts.seed, stream: "seats")
    }

    func live(while isRunning: @escaping @Sendable () -> Bool) async {
        for _ in 0..<(1 + random.below(3)) {
            await parts.scheduler.pause(random.between(3_600_000, 8 * 3_600_000))
            guard isRunning() else { return }
            await submit()
        }
    }

    private func submit() async {
        let proofs = bought()
        guard !proofs.isEmpty, var members = Mallory.payload(of: random.pick(proofs)) else { return }
        let number = "7" + String(1_000_000_000 + random.below(1_000_000_000))
        members["transactionId"] = .string(number)
        members["originalTransactionId"] = .string(number)
        members["inAppOwnershipType"] = .string(random.chance(0.6) ? "ASSIGNED" : "LEASED")
        if random.chance(0.3) { members["quantity"] = .int(random.between(11, 50)) }
        guard let signed = try? apple.emulator.issuer.sign(payload: JSONValue.object(members).encodedBytes())
        else { return }
        groundTruth.note(seat: number)
        let body: JSONValue = ["signedTransaction": .string(signed)]
        let headers = HTTPHeaders([
            ("Content-Type", "application/json"),
            ("Authorization", "Bearer \(SimulatedShop.token(of: "seat-user", at: parts.scheduler.now))"),
        ])
        let request = HTTPRequest(
            method: .post, path: "/v1/transactions", headers: headers, body: body.encodedBytes(),
            peer: "198.51.100.8")
        parts.log.record("apple", "signs a seat: \(number)", about: ["transaction \(number)"])
        _ = try? await link.send(request, from: process)
    }
}
