import TillBilling
import TillHTTP
import TillJSON

/// A user with a seat of another customer's purchase: Apple signs a copy that says so, and the app submits it. The
/// server does not grant seats yet, so no user may get it.
final class SeatHolder: @unchecked Sendable {
    private let parts: WorldParts
    private let apple: AppleHost
    private let truth: Truth
    private let line: Link
    private let process: SimulatedProcess
    private let bought: @Sendable () -> [String]
    private var random: SeededRandom

    /// - Parameter bought: signed transactions that have seats.
    init(
        _ parts: WorldParts, _ apple: AppleHost, _ truth: Truth, _ line: Link,
        bought: @escaping @Sendable () -> [String]
    ) {
        self.parts = parts
        self.apple = apple
        self.truth = truth
        self.line = line
        self.bought = bought
        process = SimulatedProcess("seats", on: parts.clockwork)
        random = SeededRandom(seed: parts.seed, stream: "seats")
    }

    func live(while goesOn: @escaping @Sendable () -> Bool) async {
        for _ in 0..<(1 + random.below(3)) {
            await parts.clockwork.pause(random.between(3_600_000, 8 * 3_600_000))
            guard goesOn() else { return }
            await bring()
        }
    }

    private func bring() async {
        let proofs = bought()
        guard !proofs.isEmpty, var members = Mallory.payload(of: random.pick(proofs)) else { return }
        let number = "7" + String(1_000_000_000 + random.below(1_000_000_000))
        members["transactionId"] = .string(number)
        members["originalTransactionId"] = .string(number)
        members["inAppOwnershipType"] = .string(random.chance(0.6) ? "ASSIGNED" : "LEASED")
        if random.chance(0.3) { members["quantity"] = .int(random.between(11, 50)) }
        guard let signed = try? apple.emulator.issuer.sign(payload: Array(JSONValue.object(members).encoded().utf8))
        else { return }
        truth.note(seat: number)
        let body: JSONValue = ["signedTransaction": .string(signed)]
        let headers = HTTPHeaders([
            ("Content-Type", "application/json"),
            ("Authorization", "Bearer \(SimulatedShop.token(of: "seat-holder", at: parts.clockwork.now))"),
        ])
        let request = HTTPRequest(
            method: .post, path: "/v1/transactions", headers: headers, body: Array(body.encoded().utf8),
            peer: "198.51.100.8")
        parts.story.tell("apple", "signs a seat: \(number)", about: ["transaction \(number)"])
        _ = try? await line.send(request, from: process)
    }
}
