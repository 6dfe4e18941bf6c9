import TillBilling
import TillHTTP
import TillJSON

/// Has another customer's token for seconds: requests during its validity must have no lasting effect, and later
/// requests must be refused.
final class ShortLivedToken: Thief, @unchecked Sendable {
    private let victims: [String]

    /// - Parameter victims: customers with an account at the app.
    init(of victims: [String], _ resources: Resources) {
        self.victims = victims
        super.init(.shortLivedToken, resources)
    }

    override func act() async {
        let victim = random.pick(victims)
        let seconds = random.between(2, 30)
        let token = steal(tokenOf: victim, goodFor: seconds)
        await use(token, of: victim)
        // Waits for hours, because a server's clock may be wrong by hours and then can't tell seconds apart.
        await scheduler.pause(seconds * 1_000 + random.between(3 * 3_600_000, 5 * 3_600_000))
        await useLate(token, of: victim)
    }

    private func use(_ token: String, of victim: String) async {
        let own = SimulatedShop.token(of: user, at: scheduler.now)
        // Tries to merge the victim into the thief's account, and the thief into the victim's.
        let (status, answer) = await attempt(
            "merges \(victim)", "/v1/users/\(user)/guests",
            ["guestId": .string(victim), "guestToken": .string(token)])
        if let status, status == 200 || status == 201, answer?["id"] != nil {
            report("merged \(victim)", about: ["user \(victim)"])
        }
        switch random.below(4) {
        case 0:
            await attempt(
                "becomes \(victim)'s guest", "/v1/users/\(victim)/guests",
                ["guestId": .string(user), "guestToken": .string(own)], as: victim, bearer: token)
        case 1:
            await attempt(
                "opens an order as \(victim)", "/v1/orders", ["productId": .string(random.pick(Self.products))],
                as: victim, bearer: token)
        case 2:
            guard let signed = pick(stolen.purchases.filter { !$0.hasNoToken }.compactMap(\.signed)) else { return }
            await attempt(
                "restores as \(victim)", "/v1/restores", ["signedTransactions": [.string(signed)]], as: victim,
                bearer: token)
        default:
            guard let order = pick(stolen.orders.filter { $0.user == victim }) else { return }
            await attempt("cancels as \(victim)", "/v1/orders/\(order.id)/cancel", [:], as: victim, bearer: token)
        }
    }

    private func useLate(_ token: String, of victim: String) async {
        let asked: [(HTTPMethod, String, JSONValue?)] = [
            (.get, "/v1/users/\(victim)/wallet", nil), (.get, "/v1/users/\(victim)/orders", nil),
            (.post, "/v1/orders", ["productId": .string(SimulatedShop.points60)]),
            (.put, "/v1/users/\(victim)/consents/consumption", ["given": true]),
        ]
        let (method, path, body) = random.pick(asked)
        let (status, answer) = await attempt("\(victim)'s token, too late", method, path, body, bearer: token)
        guard let status, (200..<300).contains(status), answer?.isEmpty == false else { return }
        report("was answered by \(path) to a token that had expired", about: ["user \(victim)", path])
    }
}
