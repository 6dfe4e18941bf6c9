import TillBilling
import TillHTTP
import TillJSON

/// The thieves' knowledge about others: requests observed on the way to the server, and data read from phones.
final class StolenData: @unchecked Sendable {
    /// Another customer's purchase.
    struct Purchase: Sendable {
        let owner: String
        let product: String
        let transaction: String
        var signed: String?
        var receipt: String?
        var device: String?
        /// Apple signed no order id, so any customer with an earlier order may submit the proof.
        var hasNoToken = false
        /// Granted to its owner already.
        var isGranted = false
    }

    private(set) var purchases: [Purchase] = []
    /// Account UUIDs of strangers, with their products.
    private(set) var accountTokens: [(token: String, product: String)] = []
    /// UUIDs on quarantined purchases.
    private(set) var quarantined: [(token: String, product: String)] = []
    /// Order ids observed on the way to the server, with their nonces if any.
    private(set) var orders: [(id: String, user: String, nonce: String?)] = []
    private(set) var devices: [(id: String, user: String)] = []
    /// Users of the app.
    private(set) var users: [String] = []
    /// Apple's order numbers of granted purchases.
    private(set) var orderNumbers: [String] = []
    /// Guests who merged into an account.
    private(set) var mergedGuests: [String] = []

    private static let memory = 80

    /// - Parameter users: the app's users, who are publicly known.
    func meet(_ users: [String]) { self.users += users }

    func note(accountToken token: String, for product: String) { accountTokens.append((token, product)) }
    func note(quarantined token: String, for product: String) { quarantined.append((token, product)) }
    func note(orderNumber number: String) { orderNumbers.append(number) }
    func note(mergedGuest guest: String) { mergedGuests.append(guest) }

    /// A purchase read from a phone; its app may not have submitted it yet.
    func note(_ purchase: Purchase) {
        if let known = purchases.firstIndex(where: { $0.transaction == purchase.transaction }) {
            purchases[known] = purchase
            return
        }
        purchases.append(purchase)
        if purchases.count > Self.memory { purchases.removeFirst() }
    }

    /// The purchase was granted to its owner.
    func note(granted transaction: String) {
        guard let known = purchases.firstIndex(where: { $0.transaction == transaction }) else { return }
        purchases[known].isGranted = true
    }

    func note(device: String, of user: String) {
        guard !devices.contains(where: { $0.id == device && $0.user == user }) else { return }
        devices.append((device, user))
    }

    // MARK: Observed requests

    func observe(_ request: HTTPRequest, _ proof: ObservedProof?) {
        guard request.method == .post, let user = SimulatedShop.user(of: request) else { return }
        switch request.path {
        case "/v1/orders": observeOrder(request, of: user)
        default: if let proof { observe(proof, of: user) }
        }
    }

    private func observeOrder(_ request: HTTPRequest, of user: String) {
        guard let members = Self.members(request.body) else { return }
        if case .string(let id)? = members["id"] {
            orders.append((id, user, Self.text(members["idNonce"])))
            if orders.count > Self.memory { orders.removeFirst() }
        }
        if let device = Self.text(members["phoneId"] ?? members["deviceId"]) { note(device: device, of: user) }
    }

    private func observe(_ proof: ObservedProof, of user: String) {
        let members = proof.members
        var known: Purchase
        if let signed = proof.signed, let payload = proof.payload, let id = Self.text(payload["transactionId"]),
            let product = Self.text(payload["productId"])
        {
            known = Purchase(owner: user, product: product, transaction: id, signed: signed)
            known.hasNoToken = !Mallory.hasToken(payload)
        } else if let receipt = Self.text(members["receipt"]), let id = Self.text(members["transactionId"]),
            let product = Self.text(members["productId"])
        {
            known = Purchase(owner: user, product: product, transaction: id, receipt: receipt)
        } else {
            return
        }
        known.device = Self.text(members["phoneId"] ?? members["deviceId"])
        // An earlier entry has more details.
        guard !purchases.contains(where: { $0.transaction == known.transaction }) else { return }
        note(known)
    }

    // MARK: JSON

    static func members(_ body: [UInt8]) -> [String: JSONValue]? {
        guard case .object(let members)? = try? JSONValue(decoding: body) else { return nil }
        return members
    }

    static func text(_ value: JSONValue?) -> String? {
        guard case .string(let text)? = value else { return nil }
        return text
    }
}

/// A proof on its way to the server, read once for all who read along.
struct ObservedProof {
    let members: [String: JSONValue]
    let signed: String?
    /// The payload of the signed transaction.
    let payload: [String: JSONValue]?

    /// Nil for a request that submits no proof.
    init?(_ request: HTTPRequest) {
        guard request.path == "/v1/transactions", let members = StolenData.members(request.body) else { return nil }
        self.members = members
        signed = StolenData.text(members["signedTransaction"])
        payload = signed.flatMap(Mallory.payload)
    }
}
