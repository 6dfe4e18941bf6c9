import TillBilling
import TillHTTP
import TillJSON

/// Who did what, as only the world itself knows it: what our server's books are held against.
final class Truth: @unchecked Sendable {
    /// Somebody tapped "buy", and their app asked the store.
    struct Tap: Sendable {
        let number: Int
        let user: String
        let phone: String
        let account: String
        let product: String
        /// The order id that the app gave along.
        let order: String
        /// Apple lost it (U1).
        let isTokenLost: Bool
        let at: Instant
    }

    private(set) var taps: [Int: Tap] = [:]
    /// Which order ids were made by whom.
    private(set) var orders: [String: Tap] = [:]
    /// Taps by the transactions that came of them.
    private(set) var transactions: [String: Tap] = [:]
    /// Transactions that nobody of the app bought there: Apple's own shop sold them.
    private(set) var strays: Set<String> = []
    /// Who showed that a stray is theirs.
    private var claims: [String: String] = [:]
    /// Users by what their payments carry, where no phone with our client kit made it.
    private var tokens: [String: String] = [:]
    /// Users by transactions, the same.
    private var sales: [String: String] = [:]
    /// The accounts that guests sign in to.
    private var guests: [String: String] = [:]
    /// Copies that Apple signed for who was given a seat, or in words that are new.
    private(set) var seats: Set<String> = []
    private struct Place: Hashable {
        let account: String
        let product: String
    }
    private var openers: [Place: Set<String>] = [:]
    private var restorers: [String: Set<String>] = [:]
    private let parts: WorldParts

    /// Tells Apple's end which tap a purchase came of.
    static let tapHeader = "X-Simulated-Tap"

    init(_ parts: WorldParts) { self.parts = parts }

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
        let isLost = !order.isEmpty && parts.faults.strikes(.tokenLost, at: phone.name, order)
        if isLost {
            members["appAccountToken"] = nil
            request.body = Array(JSONValue.object(members).encoded().utf8)
        }
        let tap = Tap(
            number: taps.count + 1, user: user, phone: phone.name, account: phone.account, product: product,
            order: order, isTokenLost: isLost, at: parts.clockwork.now)
        taps[tap.number] = tap
        orders[order] = tap
        request.headers.set(Self.tapHeader, String(tap.number))
        parts.story.tell(
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
        // A non-consumable that is owned already is another tap's.
        if transactions[id] == nil { transactions[id] = tap }
        var outcome = ""
        if case .string(let text)? = members["outcome"] { outcome = text }
        parts.story.tell(
            "apple", "transaction \(id): \(outcome)",
            about: ["order \(tap.order)", "transaction \(id)", "user \(tap.user)"])
    }

    /// What a phone asks our server, for whoever uses it.
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

    /// Somebody shows that a purchase of Apple's own shop is theirs.
    func note(claim id: String, by user: String) { claims[id] = user }

    /// Whether the app made the purchase and Apple did not lose its token. A receipt does not show that.
    func isFromApp(_ id: String) -> Bool {
        !strays.contains(id) && transactions[id].map { !$0.isTokenLost } ?? (sales[id] != nil)
    }

    /// Whose a transaction is by rights: who made the order that Apple signed; without one, who tapped.
    func owner(of sold: AppleHost.Sold, in all: [String: AppleHost.Sold]) -> String? {
        // One that our server set by itself (Set App Account Token) names no order of an app.
        if let token = sold.token, let tap = orders[token.lowercased()] { return tap.user }
        if let token = sold.token, let user = tokens[token.lowercased()] { return user }
        if let user = sales[sold.id] { return user }
        if let tap = transactions[sold.id] { return tap.user }
        if let user = claims[sold.originalID] { return user }
        return purchase(before: sold, in: all).flatMap { owner(of: $0, in: all) }
    }

    /// The purchase that a renewal renews, or that an upgrade in Apple's settings replaces: the newest before it.
    private func purchase(before sold: AppleHost.Sold, in all: [String: AppleHost.Sold]) -> AppleHost.Sold? {
        guard sold.originalID != sold.id else { return nil }
        func isNewer(_ one: AppleHost.Sold, than other: AppleHost.Sold) -> Bool {
            (one.purchasedAt, Int64(one.id) ?? 0) > (other.purchasedAt, Int64(other.id) ?? 0)
        }
        return all.values
            .filter { $0.originalID == sold.originalID && $0.isPaid && !$0.isRenewal && isNewer(sold, than: $0) }
            .max { isNewer($1, than: $0) }
    }

    /// Whether a user is the one, letter by letter, or the account that the one signed in to as a guest.
    func isSame(_ user: String, as owner: String) -> Bool {
        if user.utf8.elementsEqual(owner.utf8) { return true }
        return guests[owner].map { user.utf8.elementsEqual($0.utf8) } ?? false
    }

    /// Whom a guest signs in as.
    func account(of guest: String) -> String? { guests[guest] }

    /// Everybody whom our server may take for the owner, once Apple has lost the token: who opened an order for the
    /// product on a phone of that Apple Account, because Apple shows what nobody has finished to all of them (U1); and
    /// who restored there what outlives its purchase (*claimed* in docs/transfers.md).
    func candidates(for sold: AppleHost.Sold, in all: [String: AppleHost.Sold]) -> Set<String> {
        let first = all[sold.originalID] ?? sold
        let before = purchase(before: sold, in: all) ?? first
        var users = Set(
            [first, before, sold].flatMap { openers[Place(account: $0.account, product: $0.product)] ?? [] })
        if first.outlivesItsPurchase { users.formUnion(restorers[first.account] ?? []) }
        return users
    }

    /// Whether Apple signed for somebody of the app, and not only what our server told it (Set App Account Token).
    func isSigned(_ sold: AppleHost.Sold) -> Bool {
        guard let token = sold.token?.lowercased() else { return (sales[sold.id] ?? sales[sold.originalID]) != nil }
        return orders[token] != nil || tokens[token] != nil
    }
}
