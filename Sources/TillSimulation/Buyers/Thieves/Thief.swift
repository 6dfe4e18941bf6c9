import TillBilling
import TillHTTP
import TillJSON

/// A user who wants another customer's purchases. Thieves are ordinary users with ordinary connections; only their
/// requests differ.
class Thief: @unchecked Sendable {
    /// The parts of the world that a thief uses.
    struct Resources: @unchecked Sendable {
        let parts: SimulationContext
        let apple: AppleHost
        let groundTruth: GroundTruth
        let backend: Backend
        let stolen: StolenData
        let thefts: TheftLog
        let process: SimulatedProcess
        let link: Link
        /// The shop's policy moves restored purchases.
        let moves: Bool
        /// Reports stolen data.
        let complain: @Sendable (Violation.Kind, String, [String]) -> Void
    }

    let kind: TheftKind
    /// All of the thief's user ids.
    let users: [String]
    let resources: Resources
    var random: SeededRandom
    /// The thief's own orders, with their products.
    private(set) var orders: [(id: String, product: String, user: String)] = []

    init(_ kind: TheftKind, users: [String]? = nil, _ resources: Resources) {
        self.kind = kind
        self.users = users ?? ["\(kind.rawValue)-thief"]
        self.resources = resources
        random = SeededRandom(seed: resources.parts.seed, stream: "thief \(kind.rawValue)")
    }

    var user: String { users[0] }
    var stolen: StolenData { resources.stolen }
    var scheduler: SimulatedScheduler { resources.parts.scheduler }

    /// Acts until the end of the fault phase.
    ///
    /// - Parameter pace: the most milliseconds between two attempts.
    func live(pace: Int64, while isRunning: @escaping @Sendable () -> Bool) async {
        await scheduler.pause(random.between(10_000, pace / 4))
        while isRunning() {
            await act()
            await scheduler.pause(random.between(pace / 10, pace))
        }
    }

    /// Makes one attempt.
    func act() async {}

    // MARK: Requests

    typealias Answer = (status: Int?, members: [String: JSONValue]?)

    /// A request that is an attempt to steal.
    @discardableResult
    func attempt(
        _ detail: String, _ path: String, _ body: JSONValue, as name: String? = nil, bearer: String? = nil,
        headers more: [(String, String)] = []
    ) async -> Answer {
        await attempt(detail, .post, path, body, as: name, bearer: bearer, headers: more)
    }

    @discardableResult
    func attempt(
        _ detail: String, _ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil, as name: String? = nil,
        bearer: String? = nil, headers more: [(String, String)] = []
    ) async -> Answer {
        resources.thefts.record(kind, "\(name ?? user): \(detail)")
        return await send(method, path, body, as: name, bearer: bearer, headers: more)
    }

    /// - Parameter bearer: the credential; nil: a valid token of the thief's own; empty: none.
    func send(
        _ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil, as name: String? = nil,
        bearer: String? = nil, headers more: [(String, String)] = []
    ) async -> Answer {
        await send(method, path, bytes: body.map { $0.encodedBytes() } ?? [], as: name, bearer, more)
    }

    func send(
        _ method: HTTPMethod, _ path: String, bytes: [UInt8], as name: String? = nil, _ bearer: String? = nil,
        _ more: [(String, String)] = []
    ) async -> Answer {
        var headers = HTTPHeaders([("Content-Type", "application/json")])
        let credential = bearer ?? SimulatedShop.token(of: name ?? user, at: scheduler.now)
        if !credential.isEmpty { headers.add("Authorization", "Bearer \(credential)") }
        for (name, value) in more { headers.add(name, value) }
        let request = HTTPRequest(method: method, path: path, headers: headers, body: bytes, peer: "203.0.113.66")
        guard let response = try? await resources.link.send(request, from: resources.process) else { return (nil, nil) }
        return (response.status, StolenData.members(response.body))
    }

    /// Reports that an answer contained another customer's data.
    func report(_ text: String, about: [String]) { resources.complain(.stolen, "\(kind.rawValue) \(text)", about) }

    // MARK: Own orders

    /// Creates an order in the ordinary way.
    @discardableResult
    func openOwnOrder(_ product: String, as name: String? = nil, device: String? = nil) async -> String? {
        let owner = name ?? user
        guard let nonce = OrderIDNonce(bytes: random.bytes(16)) else { return nil }
        let id = OrderIDCommitment(user: UserID(owner), nonce: nonce).id.description
        var body: [String: JSONValue] = [
            "id": .string(id), "idNonce": .string(nonce.text), "productId": .string(product),
        ]
        body["deviceId"] = device.map { .string($0) }
        let (status, answer) = await send(.post, "/v1/orders", .object(body), as: owner)
        guard status == 201 || status == 200, answer?["id"] != nil else { return nil }
        orders.append((id, product, owner))
        return id
    }

    /// An order of the thief's own for a product, earlier than any later purchase.
    func order(for product: String, as name: String? = nil) -> String? {
        orders.first { $0.product == product && $0.user == name ?? user }?.id
    }

    static let products = [
        SimulatedShop.points60, SimulatedShop.points300, SimulatedShop.pro, SimulatedShop.silver, SimulatedShop.basic,
    ]

    /// The same, and removes it.
    func take(orderFor product: String, as name: String? = nil) -> String? {
        guard let index = orders.firstIndex(where: { $0.product == product && $0.user == name ?? user }) else {
            return nil
        }
        return orders.remove(at: index).id
    }

    /// Creates an order for every product before others buy it.
    func stockUp(as name: String? = nil) async {
        for product in Self.products where order(for: product, as: name) == nil {
            await openOwnOrder(product, as: name)
        }
    }

    /// Another user's token, read from a phone.
    func steal(tokenOf victim: String, goodFor seconds: Int64) -> String {
        SimulatedShop.token(of: victim, at: scheduler.now, for: seconds)
    }

    func pick<Value>(_ values: [Value]) -> Value? { values.isEmpty ? nil : random.pick(values) }
}
