import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON

/// An attacker who wants purchases without paying. Mallory sees everything that phones send to the server, is a user of
/// the app with orders and a token, and has a certificate authority named like Apple's.
final class Mallory: @unchecked Sendable {
    static let user = "mallory"

    private let parts: SimulationContext
    private let link: Link
    private let process: SimulatedProcess
    private let apple: AppleHost
    private let pirate: Issuer
    private var random: SeededRandom
    /// Observed genuine proofs and notifications, as sent.
    private var proofs: [String] = []
    private var notifications: [[UInt8]] = []
    /// Mallory's own orders, never paid.
    private var orders: [(id: String, product: String)] = []

    private static let memory = 60

    init(_ parts: SimulationContext, _ link: Link, _ apple: AppleHost, keys: StoreKeys) throws {
        self.parts = parts
        self.link = link
        self.apple = apple
        process = SimulatedProcess("mallory", on: parts.scheduler)
        random = SeededRandom(seed: parts.seed, stream: "mallory")
        pirate = try keys.pirate.issuer()
    }

    // MARK: Observed requests

    func observe(_ request: HTTPRequest, _ proof: ObservedProof? = nil) {
        if let text = proof.flatMap(Self.signedTransaction) {
            if proofs.count < Self.memory { proofs.append(text) } else { proofs[random.below(Self.memory)] = text }
        } else if request.path == "/v1/notifications/apple" {
            if notifications.count < Self.memory {
                notifications.append(request.body)
            } else {
                notifications[random.below(Self.memory)] = request.body
            }
        }
    }

    private static func signedTransaction(in proof: ObservedProof) -> String? {
        // A proof without a token is granted to any customer who sends it with an earlier order for the same product,
        // and only TLS keeps it from Mallory. So proofs of this kind are not recorded.
        guard let payload = proof.payload, hasToken(payload) else { return nil }
        return proof.signed
    }

    // MARK: Attacks

    func live(while isRunning: @escaping @Sendable () -> Bool) async {
        while isRunning() {
            await parts.scheduler.pause(random.between(300_000, 5_400_000))
            guard isRunning() else { return }
            if orders.count < 5 { await openOrder() }
            if parts.faults.allows(.replayed), random.chance(0.5) { await replay() }
            if parts.faults.allows(.borrowed), random.chance(0.5) { await borrow() }
            if parts.faults.allows(.forged), random.chance(0.5) { await forge() }
        }
    }

    private func openOrder() async {
        let id = UniqueID(random: random.bytes(16)).description
        let product = random.pick([SimulatedShop.points60, SimulatedShop.points300, SimulatedShop.pro])
        let body: JSONValue = ["id": .string(id), "productId": .string(product), "deviceId": "mallorys-phone"]
        if await post("/v1/orders", body) == 201 { orders.append((id, product)) }
    }

    /// Sends an observed request again, unchanged.
    private func replay() async {
        if !notifications.isEmpty, random.chance(0.5) {
            parts.faults.record(.replayed, "notification")
            await send("/v1/notifications/apple", random.pick(notifications), token: nil)
        } else if !proofs.isEmpty {
            parts.faults.record(.replayed, "proof")
            for _ in 0..<(1 + random.below(5)) {
                _ = await post("/v1/transactions", ["signedTransaction": .string(random.pick(proofs))])
            }
        }
    }

    /// Another customer's proof together with Mallory's own order.
    private func borrow() async {
        guard !proofs.isEmpty, !orders.isEmpty else { return }
        parts.faults.record(.borrowed, "proof")
        _ = await post(
            "/v1/transactions",
            [
                "signedTransaction": .string(random.pick(proofs)), "orderId": .string(random.pick(orders).id),
                "userId": .string(Self.user),
            ])
    }

    /// A forged proof, or a genuine one for another server.
    private func forge() async {
        guard let proof = proofs.isEmpty ? nil : random.pick(proofs), let payload = Self.payload(of: proof) else {
            return
        }
        parts.faults.record(.forged, "proof")
        var members = payload
        if !orders.isEmpty {
            let order = random.pick(orders)
            members["appAccountToken"] = .string(order.id)
            members["productId"] = .string(order.product)
            members["quantity"] = 1
        }
        let number = "9" + String(random.below(1_000_000_000))
        var forged = ""
        switch random.below(7) {
        case 0:
            // Signed by another authority, with an unknown number.
            members["transactionId"] = .string(number)
            members["originalTransactionId"] = .string(number)
            forged = (try? pirate.sign(payload: Self.bytes(members))) ?? ""
        case 1:
            // Signed by another authority, with the number of a genuine proof.
            forged = (try? pirate.sign(payload: Self.bytes(members))) ?? ""
        case 2:
            // Apple's signature on another payload.
            forged = Self.spliced(proof, payload: Self.bytes(members))
        case 3:
            // Genuine, from Apple's sandbox.
            members["environment"] = "Sandbox"
            members["transactionId"] = .string(number)
            members["originalTransactionId"] = .string(number)
            forged = (try? apple.emulator.issuer.sign(payload: Self.bytes(members))) ?? ""
        case 4:
            // Genuine, for another app.
            members["bundleId"] = "com.example.other"
            members["transactionId"] = .string(number)
            members["originalTransactionId"] = .string(number)
            forged = (try? apple.emulator.issuer.sign(payload: Self.bytes(members))) ?? ""
        case 5:
            // Unsigned, with `alg` none.
            let header = Base64.encode(Array(#"{"alg":"none"}"#.utf8), .url)
            forged = "\(header).\(Base64.encode(Self.bytes(members), .url))."
        default:
            // One changed letter.
            var bytes = Array(proof.utf8)
            let index = random.below(bytes.count)
            bytes[index] = bytes[index] == 65 ? 66 : 65
            forged = String(decoding: bytes, as: UTF8.self)
        }
        if random.chance(0.25) {
            await send(
                "/v1/notifications/apple",
                JSONValue.object(["signedPayload": .string(forged)]).encodedBytes(), token: nil)
        } else {
            var body: [String: JSONValue] = ["signedTransaction": .string(forged)]
            if !orders.isEmpty, random.chance(0.5) { body["orderId"] = .string(random.pick(orders).id) }
            _ = await post("/v1/transactions", .object(body))
        }
    }

    // MARK: Proofs

    /// Whether the payload has a token that names an owner. The nil and the max UUID do not.
    static func hasToken(_ payload: [String: JSONValue]) -> Bool {
        guard case .string(let text)? = payload["appAccountToken"] else { return false }
        return UniqueID(text)?.isAbsent != true
    }

    /// The payload of a signed transaction.
    static func payload(of proof: String) -> [String: JSONValue]? {
        // A proof has some thousand characters: to look for a byte is much cheaper.
        let parts = proof.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64.decode(parts[1], .url),
            case .object(let members)? = try? JSONValue(decoding: bytes)
        else { return nil }
        return members
    }

    private static func bytes(_ members: [String: JSONValue]) -> [UInt8] {
        JSONValue.object(members).encodedBytes()
    }

    private static func spliced(_ proof: String, payload: [UInt8]) -> String {
        let parts = proof.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 ? "\(parts[0]).\(Base64.encode(payload, .url)).\(parts[2])" : ""
    }

    // MARK: Sending

    private func post(_ path: String, _ body: JSONValue) async -> Int? {
        await send(path, body.encodedBytes(), token: SimulatedShop.token(of: Self.user, at: parts.scheduler.now))
    }

    @discardableResult
    private func send(_ path: String, _ body: [UInt8], token: String?) async -> Int? {
        var headers = HTTPHeaders([("Content-Type", "application/json")])
        if let token { headers.add("Authorization", "Bearer \(token)") }
        let request = HTTPRequest(method: .post, path: path, headers: headers, body: body, peer: "127.0.0.1")
        return try? await link.send(request, from: process).status
    }
}
