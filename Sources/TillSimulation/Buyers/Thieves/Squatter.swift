import TillBilling
import TillJSON

/// Creates orders with ids that occur, or will occur, in strangers' payments: an order and a payment with the same UUID
/// are matched.
final class Squatter: Thief, @unchecked Sendable {
    init(_ resources: Resources) { super.init(.squatter, resources) }

    private static let absent = [
        UniqueID(high: 0, low: 0).description, UniqueID(high: .max, low: .max).description,
    ]

    /// Starts before any payment.
    override func live(pace: Int64, while isRunning: @escaping @Sendable () -> Bool) async {
        for token in Self.absent {
            resources.thefts.record(kind, "\(user): an order under \(token), by way of the backend")
            _ = await resources.backend.forward(orderID: token, of: user, for: SimulatedShop.points60)
        }
        await super.live(pace: pace, while: isRunning)
    }

    override func act() async {
        var targets = stolen.accountTokens + stolen.quarantined
        targets += Self.absent.map { ($0, random.pick(Self.products)) }
        // Ids of quarantined purchases are tried again.
        let target =
            random.chance(0.4) && !stolen.quarantined.isEmpty ? random.pick(stolen.quarantined) : random.pick(targets)
        let product = random.chance(0.6) ? target.product : random.pick(Self.products)
        var body: [String: JSONValue] = ["id": .string(target.token), "productId": .string(product)]
        switch random.below(6) {
        case 0, 1: await attempt("an order under \(target.token)", "/v1/orders", .object(body))
        case 2:
            body["idNonce"] = OrderIDNonce(bytes: random.bytes(16)).map { .string($0.text) }
            await attempt("an order under \(target.token) with a nonce of mine", "/v1/orders", .object(body))
        case 3: await useOverheard(product)
        case 4: await ask(theBackendFor: target, product)
        default: await submitNonce(target)
        }
    }

    /// Another user's order id, with the nonce that proves it for them.
    private func useOverheard(_ product: String) async {
        guard let known = pick(stolen.orders) else { return await commit(product) }
        var body: [String: JSONValue] = ["id": .string(known.id), "productId": .string(product)]
        body["idNonce"] = known.nonce.map { .string($0) }
        if random.chance(0.5) { body["idUserId"] = .string(known.user) }
        let (status, answer) = await attempt("\(known.user)'s order id", "/v1/orders", .object(body))
        if status == 200 || status == 201, answer?["id"] != nil {
            report("was given \(known.user)'s order \(known.id)", about: ["order \(known.id)", "user \(known.user)"])
        }
    }

    /// An ordinary order, open to every user.
    private func commit(_ product: String) async {
        resources.thefts.record(kind, "\(user): an order of mine")
        await openOwnOrder(product)
    }

    /// Uses a backend that forwards its app's requests under the secret key, against the rules. Even so, no earlier
    /// payment matches the order, no order is created under a registered token, and absent UUIDs match nothing.
    private func ask(theBackendFor target: (token: String, product: String), _ product: String) async {
        let isRegistered = resources.backend.registered.contains(target.token)
        let isKept = stolen.quarantined.contains { $0.token == target.token }
        guard isRegistered || isKept || Self.absent.contains(target.token) else { return await commit(product) }
        resources.thefts.record(kind, "\(user): an order under \(target.token), by way of the backend")
        let isOpened = await resources.backend.forward(orderID: target.token, of: user, for: product)
        guard isOpened, isRegistered else { return }
        report("opened an order under an account token", about: ["order \(target.token)"])
    }

    /// A proof with a stranger's token, together with the thief's nonce.
    private func submitNonce(_ target: (token: String, product: String)) async {
        guard let found = pick(stolen.purchases.filter { $0.signed != nil && !$0.hasNoToken }),
            let signed = found.signed, let nonce = OrderIDNonce(bytes: random.bytes(16))
        else { return await commit(target.product) }
        let body: JSONValue = ["signedTransaction": .string(signed), "idNonce": .string(nonce.text)]
        await attempt("\(found.owner)'s proof with a nonce of mine", "/v1/transactions", body)
    }
}
