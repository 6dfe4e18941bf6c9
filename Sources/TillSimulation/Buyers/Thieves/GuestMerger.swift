import TillAppStore
import TillBilling

/// Claims that a customer with an account is the thief's guest, with a token valid for seconds; and uses tokens of
/// guests who have merged into an account.
final class GuestMerger: Thief, @unchecked Sendable {
    private let victims: [String]

    /// - Parameter victims: customers with an account at the app.
    init(of victims: [String], _ resources: Resources) {
        self.victims = victims
        super.init(.guestMerger, resources)
    }

    override func act() async {
        if random.chance(0.4), let guest = pick(stolen.mergedGuests) { return await use(guest) }
        let victim = random.pick(victims)
        let token = steal(tokenOf: victim, goodFor: random.between(2, 60))
        let (status, answer) = await attempt(
            "calls \(victim) a guest", "/v1/users/\(user)/guests",
            ["guestId": .string(victim), "guestToken": .string(token)])
        guard let status, status == 200 || status == 201, answer?["id"] != nil else { return }
        report("merged \(victim)", about: ["user \(victim)"])
    }

    /// The guest's token is valid for the rest of its hour.
    private func use(_ guest: String) async {
        let token = SimulatedShop.token(of: guest, at: scheduler.now, isGuest: true)
        switch random.below(3) {
        case 0:
            let (status, answer) = await attempt(
                "merges \(guest) again", "/v1/users/\(user)/guests",
                ["guestId": .string(guest), "guestToken": .string(token)])
            if let status, status == 200 || status == 201, answer?["id"] != nil {
                report("merged \(guest), who has an account", about: ["user \(guest)"])
            }
        case 1:
            let (status, answer) = await attempt(
                "opens an order as \(guest)", "/v1/orders", ["productId": .string(random.pick(Self.products))],
                as: guest, bearer: token)
            if status == 201, answer?["id"] != nil {
                report("opened an order as \(guest), who has an account", about: ["user \(guest)"])
            }
        default:
            // The account is another user than the guest.
            let account = resources.groundTruth.account(of: guest) ?? guest
            let (status, answer) = await attempt(
                "reads \(account)'s wallet as \(guest)", .get, "/v1/users/\(account)/wallet", as: guest,
                bearer: token)
            if status == 200, answer?["balances"] != nil {
                report("read the wallet of \(account) as \(guest)", about: ["user \(account)"])
            }
        }
    }
}
