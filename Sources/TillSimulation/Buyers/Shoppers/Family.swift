import TillAppStore
import TillBilling

/// Several customers of the app who pay with one Apple Account and so share its one subscription of each group.
final class Family: @unchecked Sendable {
    let account: String
    /// Open orders, which another member may pay.
    private var orders: [(id: String, product: String, user: String)] = []

    init(account: String) { self.account = account }

    func note(order id: String, for product: String, of user: String) { orders.append((id, product, user)) }

    /// An open order of another member, to be paid as a present.
    func order(for product: String, notOf user: String) -> (id: String, user: String)? {
        guard let index = orders.lastIndex(where: { $0.product == product && $0.user != user }) else { return nil }
        let found = orders.remove(at: index)
        return (found.id, found.user)
    }

    /// Whether a purchase would only change the running subscription's next renewal.
    func wouldWait(for product: String, _ apple: AppleHost) async -> Bool {
        guard let level = SimulatedShop.level(of: product) else { return false }
        let page = await apple.act(.get, "/emulator/subscriptions", query: [("account", account)])
        guard case .object(let members)? = page, case .array(let found)? = members["data"] else { return false }
        return found.contains { subscription in
            guard case .object(let members) = subscription, case .string(let state)? = members["state"],
                case .string(let running)? = members["productId"]
            else { return false }
            return state != "expired" && state != "revoked" && SimulatedShop.level(of: running) ?? 0 <= level
        }
    }
}
