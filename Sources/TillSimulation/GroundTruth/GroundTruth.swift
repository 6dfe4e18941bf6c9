import TillBilling
import TillHTTP
import TillJSON

/// The world's own record of who did what, with which the server's ledger is compared.
final class GroundTruth: @unchecked Sendable {
    /// A customer tapped "buy", and their app called the store.
    struct Tap: Sendable {
        let number: Int
        let user: String
        let phone: String
        let account: String
        let product: String
        /// The order id in the app's request.
        let order: String
        /// Apple lost it.
        let isTokenLost: Bool
        let at: Instant
    }

    private(set) var taps: [Int: Tap] = [:]
    /// The tap that created each order id.
    private(set) var orders: [String: Tap] = [:]
    /// Taps by their transactions.
    private(set) var transactions: [String: Tap] = [:]
    /// Transactions from Apple's own shop, without an app.
    private(set) var strays: Set<String> = []
    /// The users who proved that such a transaction is theirs.
    private var claims: [String: String] = [:]
    /// Users by the token in their payments, for customers without the client kit.
    private var tokens: [String: String] = [:]
    /// Users by transaction, for the same customers.
    private var sales: [String: String] = [:]
    /// The accounts that guests sign in to.
    private var guests: [String: String] = [:]
    /// Copies that Apple signed for seats, or with unknown kinds of ownership.
    private(set) var seats: Set<String> = []
    private struct Place: Hashable {
        let account: String
        let product: String
    }
    private var openers: [Place: Set<String>] = [:]
    private var restorers: [String: Set<String>] = [:]
    private let parts: SimulationContext

    /// Identifies a purchase's tap in requests to Apple.
    static let tapHeader = "X-Simulated-Tap"

    init(_ parts: SimulationContext) { self.parts = parts }

    /// A purchase leaves a phone. It may lose its token on the way.
    func note(_ request: HTTPRequest, from phone: PhoneHost) -> HTTPRequest {
        guard case .object(var members)? = try? JSONValue(decoding: request.body), let user = phone.buyer else {
            return request
        }
        var request = request
        var order = ""
        if case .string(let token)? = members["appAccountToken"] { order = token.lowercased() }
        var product = ""
        if case .string(let id)? = members["productId"] { product = id }
        let isLost = !order.isEmpty && parts.faults.occurs(.tokenLost, at: phone.name, order)
        if isLost {
            members["appAccountToken"] = nil
            request.body = JSONValue.object(members).encodedBytes()
        }
        let tap = Tap(
            number: taps.count + 1, user: user, phone: phone.name, account: phone.account, product: product,
            order: order, isTokenLost: isLost, at: parts.scheduler.now)
        taps[tap.number] = tap
        orders[order] = tap
        request.headers.set(Self.tapHeader, String(tap.number))
        parts.log.record(
            phone.name, "\(user) asks the store for \(product), order \(order)\(isLost ? ", which Apple loses" : "")",
            about: ["order \(order)", "user \(user)"])
        return request
    }

    /// The store has answered a purchase.
    func note(_ response: HTTPResponse, to request: HTTPRequest) {
        guard let tap = request.headers[Self.tapHeader].flatMap({ Int($0) }).flatMap({ taps[$0] }),
            case .object(let members)? = try? JSONValue(decoding: response.body),
            case .string(let id)? = members["transactionId"]
        else { return }
        // A non-consumable that is owned already keeps its first tap.
        if transactions[id] == nil { transactions[id] = tap }
        var outcome = ""
        if case .string(let text)? = members["outcome"] { outcome = text }
        parts.log.record(
            "apple", "transaction \(id): \(outcome)",
            about: ["order \(tap.order)", "transaction \(id)", "user \(tap.user)"])
    }

    /// A request of a phone's user to the server.
    func note(asked request: HTTPRequest, on phone: PhoneHost) {
        guard request.method == .post, let user = SimulatedShop.user(of: request) else { return }
        switch request.path {
        case "/v1/orders":
            guard case .object(let members)? = try? JSONValue(decoding: request.body),
                case .string(let product)? = members["productId"]
            else { return }
            openers[Place(account: phone.account, product: product), default: []].insert(user)
        case "/v1/restores": restorers[phone.account, default: []].insert(user)
        default: return
        }
    }

    func note(stray id: String) { strays.insert(id) }
    func note(token: String, of user: String) { tokens[token.lowercased()] = user }
    func note(sale id: String, of user: String) { sales[id] = sales[id] ?? user }
    func note(guest: String, of account: String) { guests[guest] = account }
    func note(seat id: String) { seats.insert(id) }

    /// A user proved that a purchase from Apple's own shop is theirs.
    func note(claim id: String, by user: String) { claims[id] = user }

    /// Whether the app made the purchase and Apple kept its token. A receipt does not show this.
    func isFromApp(_ id: String) -> Bool {
        !strays.contains(id) && transactions[id].map { !$0.isTokenLost } ?? (sales[id] != nil)
    }

    /// The rightful owner of a transaction: the creator of the order that Apple signed, or without one the user who
    /// tapped.
    func owner(of sold: AppleHost.StoreSale, in all: [String: AppleHost.StoreSale]) -> String? {
        // A token that the server set itself (Set App Account Token) names no order of an app.
        if let token = sold.token, let tap = orders[token.lowercased()] { return tap.user }
        if let token = sold.token, let user = tokens[token.lowercased()] { return user }
        if let user = sales[sold.id] { return user }
        if let tap = transactions[sold.id] { return tap.user }
        if let user = claims[sold.originalID] { return user }
        return purchase(before: sold, in: all).flatMap { owner(of: $0, in: all) }
    }

    /// The purchase that a renewal renews, or that an upgrade in Apple's settings replaces: the newest one before it.
    private func purchase(before sold: AppleHost.StoreSale, in all: [String: AppleHost.StoreSale]) -> AppleHost
        .StoreSale?
    {
        guard sold.originalID != sold.id else { return nil }
        func isNewer(_ one: AppleHost.StoreSale, than other: AppleHost.StoreSale) -> Bool {
            (one.purchasedAt, Int64(one.id) ?? 0) > (other.purchasedAt, Int64(other.id) ?? 0)
        }
        return all.values
            .filter { $0.originalID == sold.originalID && $0.isPaid && !$0.isRenewal && isNewer(sold, than: $0) }
            .max { isNewer($1, than: $0) }
    }

    /// Whether a user is the owner, compared bytewise, or the account that the owner signed in to from a guest.
    func isSame(_ user: String, as owner: String) -> Bool {
        if user.utf8.elementsEqual(owner.utf8) { return true }
        return guests[owner].map { user.utf8.elementsEqual($0.utf8) } ?? false
    }

    /// The account that a guest signs in to.
    func account(of guest: String) -> String? { guests[guest] }

    /// The users whom the server may take for the owner after Apple has lost the token: those who created an order for
    /// the product on a phone of that Apple Account, because Apple shows unfinished transactions to all of them; and
    /// those who restored lasting purchases there (*claimed* in docs/transfers.md).
    func candidates(for sold: AppleHost.StoreSale, in all: [String: AppleHost.StoreSale]) -> Set<String> {
        let first = all[sold.originalID] ?? sold
        let before = purchase(before: sold, in: all) ?? first
        var users = Set(
            [first, before, sold].flatMap { openers[Place(account: $0.account, product: $0.product)] ?? [] })
        if first.outlivesItsPurchase { users.formUnion(restorers[first.account] ?? []) }
        return users
    }

    /// Whether Apple signed a token of the app's users, and not only one that the server set (Set App Account Token).
    func isSigned(_ sold: AppleHost.StoreSale) -> Bool {
        guard let token = sold.token?.lowercased() else { return (sales[sold.id] ?? sales[sold.originalID]) != nil }
        return orders[token] != nil || tokens[token] != nil
    }
}
