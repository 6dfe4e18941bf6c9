import Foundation
import TillAPI
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

/// An attacker with a user token of their own who can read the network traffic: submits other customers' proofs under
/// own orders, and altered proofs (刷单). The attacker never pays, so must never be granted anything.
struct Adversary: Sendable {
    static let user = "mallory"

    let url: String
    let send: HTTPSend
    let line: FaultyProxy
    let token: String
    let tally: Tally
    let seed: UInt64

    func run(until deadline: ContinuousClock.Instant) async {
        var random = SeededRandom(seed: seed, player: "adversary")
        while ContinuousClock.now < deadline, !Task.isCancelled {
            try? await Task.sleep(for: random.duration(0.3...2))
            guard let heard = random.pick(line.proofs), var proof = heard.object else { continue }
            // An order of the same whole second would leave it undecidable which one was first.
            try? await Task.sleep(for: .seconds(1.2))
            var trick = "borrowed"
            if random.occurs(0.5) {
                trick = "borrowed under an order"
                proof["orderId"] = await openOrder(like: proof, &random).map { .string($0.description) }
            } else if random.occurs(0.4) {
                trick = "changed"
                for part in ["signedTransaction", "receipt"] {
                    proof[part] = proof[part]?.string.map { .string(Self.changed($0, &random)) }
                }
            }
            let answer = await post(Paths.transactions, .object(proof))
            tally.add(.deeds, "adversary, \(trick): \(answer)")
        }
    }

    /// - Returns: the id, if the server accepted the order.
    private func openOrder(like proof: [String: JSONValue], _ random: inout SeededRandom) async -> OrderID? {
        let bytes = (0..<OrderIDNonce.count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        guard let nonce = OrderIDNonce(bytes: bytes) else { return nil }
        let id = OrderIDCommitment(user: UserID(Self.user), nonce: nonce).id
        let product = proof["productId"]?.string ?? Self.product(signed: proof["signedTransaction"]?.string) ?? ""
        let body: JSONValue = [
            "id": .string(id.description), "idNonce": .string(nonce.text), "productId": .string(product),
        ]
        return await post(Paths.orders, body) == "prepared" ? id : nil
    }

    private static func product(signed: String?) -> String? {
        let parts = signed?.split(separator: ".") ?? []
        guard parts.count == 3, let payload = Base64.decode(parts[1], .url) else { return nil }
        return (try? JSONValue(decoding: payload))?["productId"]?.string
    }

    /// Changes one character.
    private static func changed(_ text: String, _ random: inout SeededRandom) -> String {
        var letters = Array(text.utf8)
        guard let index = letters.indices.randomElement(using: &random) else { return text }
        letters[index] = letters[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return String(decoding: letters, as: UTF8.self)
    }

    /// The outcome in the answer.
    private func post(_ path: String, _ body: JSONValue) async -> String {
        let headers = HTTPHeaders([
            (name: "Authorization", value: "Bearer \(token)"), (name: "Content-Type", value: "application/json"),
        ])
        let request = HTTPRequest(method: .post, path: "", headers: headers, body: Array(body.encoded().utf8))
        guard let response = try? await send(url + path, request) else { return "no answer" }
        let answer = try? JSONValue(decoding: response.body)
        return (answer?["outcome"] ?? answer?["code"] ?? answer?["status"])?.string ?? "status \(response.status)"
    }
}
