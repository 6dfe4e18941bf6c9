import TillBilling
import TillCrypto
import TillEmulator
import TillJSON

/// Keeps the server busy with worthless requests: endless orders and keys, forged notifications, long bodies and wrong
/// credentials.
final class Flooder: Thief, @unchecked Sendable {
    private let pirate: Issuer?
    private var sent = 0

    init(_ resources: Resources, keys: StoreKeys) {
        pirate = try? keys.pirate.issuer()
        super.init(.flooder, resources)
    }

    override func act() async {
        let way = random.below(6)
        for _ in 0..<(4 + random.below(6)) {
            sent += 1
            switch way {
            case 0: await openOrder()
            case 1: await forgeNotification()
            case 2: await postLongBody()
            case 3: await guessKey()
            case 4: await submitInvalidData()
            default: await forgeProof()
            }
        }
    }

    private func openOrder() async {
        await attempt(
            "order \(sent)", "/v1/orders", ["productId": .string(random.pick(Self.products))],
            headers: [("Idempotency-Key", "flood-\(sent)")])
    }

    private func forgeNotification() async {
        let payload: JSONValue = [
            "notificationType": "REFUND", "notificationUUID": .string(UniqueID(random: random.bytes(16)).description),
            "version": "2.0", "signedDate": .int(scheduler.now.milliseconds),
            "data": ["bundleId": .string(SimulatedShop.bundleID), "environment": "Production"],
        ]
        let signed = (try? pirate?.sign(payload: payload.encodedBytes())) ?? ""
        await attempt(
            "a forged notification", "/v1/notifications/apple", ["signedPayload": .string(signed)], bearer: "")
    }

    /// Bounded, because a simulated world has one core.
    private func postLongBody() async {
        let path = random.pick(["/verifyReceipt", "/postPay/ios", "/v1/transactions", "/v1/notifications/apple"])
        let filler = String(repeating: "+", count: 4_096 << random.below(4))
        await attempt(
            "\(filler.utf8.count) bytes to \(path)", path,
            ["receipt-data": .string(filler), "receipt": .string(filler), "signedPayload": .string(filler)],
            bearer: "")
    }

    private func guessKey() async {
        let key = "sk_" + Base64.encode(random.bytes(24), .url)
        let (status, answer) = await attempt("a guessed key", .get, "/v1/quarantine", bearer: key)
        if status == 200, answer?["data"] != nil { report("guessed a key", about: ["key"]) }
    }

    private func submitInvalidData() async {
        await attempt("rubbish", "/v1/transactions", ["signedTransaction": "e30.e30.e30"])
    }

    private func forgeProof() async {
        let number = "9" + String(random.below(1_000_000_000))
        let payload: JSONValue = [
            "transactionId": .string(number), "originalTransactionId": .string(number),
            "bundleId": .string(SimulatedShop.bundleID), "productId": .string(SimulatedShop.points300),
            "environment": "Production", "quantity": 1, "type": "Consumable", "inAppOwnershipType": "PURCHASED",
            "purchaseDate": .int(scheduler.now.milliseconds), "signedDate": .int(scheduler.now.milliseconds),
        ]
        let signed = (try? pirate?.sign(payload: payload.encodedBytes())) ?? ""
        await attempt("a forged proof", "/v1/transactions", ["signedTransaction": .string(signed)])
    }
}
