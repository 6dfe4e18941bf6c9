import TillBilling
import TillHTTP
import TillJSON

/// The app's own backend and its support staff: it sells for points, and helps customers whose paid purchase was not
/// granted.
final class Backend: @unchecked Sendable {
    private let parts: SimulationContext
    private let link: Link
    private let process: SimulatedProcess
    private let users: [String]
    /// The server has no key to look up order numbers at Apple.
    private let isKeyless: Bool
    private var random: SeededRandom
    private var debits = 0
    /// Requested debits by reference, with user and amount; and the answered ones.
    private(set) var asked: [String: (user: String, amount: Int64)] = [:]
    private(set) var answered: Set<String> = []

    init(_ parts: SimulationContext, _ link: Link, users: [String], isKeyless: Bool = false) {
        self.isKeyless = isKeyless
        self.parts = parts
        self.link = link
        self.users = users
        process = SimulatedProcess("backend", on: parts.scheduler)
        random = SeededRandom(seed: parts.seed, stream: "backend")
    }

    // MARK: Debits

    /// Users spend points until the end of the fault phase. An unanswered debit is sent again with the same reference.
    func live(while isRunning: @escaping @Sendable () -> Bool) async {
        while isRunning() {
            await parts.scheduler.pause(random.between(600_000, 7_200_000))
            let user = random.pick(users)
            debits += 1
            await debit(user, random.between(1, 80), reference: "sale-\(debits)")
        }
    }

    private func debit(_ user: String, _ amount: Int64, reference: String) async {
        asked[reference] = (user, amount)
        for _ in 0..<4 {
            let (status, answer) = await send(
                .post, "/v1/users/\(user)/wallet/debits",
                ["currency": "points", "amount": .int(amount), "reference": .string(reference)])
            // A proxy may answer 200 as well, without a body.
            if status == 201 || status == 200, answer != nil { answered.insert(reference) }
            if let status, status < 500, status != 429 { break }
            await parts.scheduler.pause(random.between(1_000, 60_000))
        }
        parts.log.record("backend", "\(user) spends \(amount): \(reference)", about: ["user \(user)"])
    }

    // MARK: Customers and their accounts

    /// The account tokens that the server has registered.
    private(set) var registered: Set<String> = []

    /// Registers a customer's account token for this user.
    ///
    /// - Returns: the answer's status.
    func register(_ token: String, of user: String) async -> Int? {
        let (status, answer) = await send(.put, "/v1/users/\(user)/account-tokens/\(token)")
        if status == 200 || status == 201, answer != nil { registered.insert(token) }
        return status
    }

    /// Forwards an app's order under the backend's own key.
    ///
    /// - Returns: whether a new order was created.
    func forward(orderID id: String, of user: String, for product: String) async -> Bool {
        let (status, answer) = await send(
            .post, "/v1/orders", ["id": .string(id), "userId": .string(user), "productId": .string(product)])
        return status == 201 && answer != nil
    }

    /// Whether a user may use an entitlement now, and its source transactions; nil without an answer.
    func mayUse(_ entitlement: String, _ user: String) async -> (allowed: Bool, sources: [String])? {
        let path = "/v1/users/\(user)/entitlements/\(entitlement)"
        guard case (200?, .object(let answer)?) = await send(.get, path), case .bool(let allowed)? = answer["allowed"]
        else { return nil }
        guard case .array(let sources)? = answer["sources"] else { return (allowed, []) }
        return (
            allowed,
            sources.compactMap { source in
                guard case .object(let members) = source, case .string(let id)? = members["transactionId"] else {
                    return nil
                }
                return id
            }
        )
    }

    // MARK: Thieves

    /// Points paid and points spent by thieves, by the group of their ids.
    private var paid: [[String]: Int64] = [:]
    private var spent: [[String]: Int64] = [:]

    func note(paid points: Int64, by group: [String]) { paid[group, default: 0] += points }

    /// Sells for points at once.
    ///
    /// - Parameter group: all ids of the same person.
    /// - Returns: whether the sale succeeded.
    func sell(to user: String, for amount: Int64, group: [String]? = nil) async -> Bool {
        debits += 1
        let reference = "sale-\(debits)"
        await debit(user, amount, reference: reference)
        guard answered.contains(reference) else { return false }
        spent[group ?? [user], default: 0] += amount
        return true
    }

    /// The groups that spent more points than they paid for.
    var overspent: [(group: [String], spent: Int64, paid: Int64)] {
        spent.filter { $0.value > paid[$0.key, default: 0] }.map { ($0.key, $0.value, paid[$0.key, default: 0]) }
            .sorted { $0.group.joined() < $1.group.joined() }
    }

    // MARK: Support

    /// Assigns quarantined purchases to their owners: by Apple's order number from the customer's mail, or by a
    /// decision of support.
    ///
    /// - Parameter byPerson: support decides every case.
    func emptyQuarantine(_ groundTruth: GroundTruth, _ apple: AppleHost, byPerson: Bool = false) async {
        let sold = (try? await apple.transactions()) ?? []
        let bought = Dictionary(sold.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for id in await quarantined() {
            guard let sale = bought[id], SimulatedShop.catalog[ProductID(sale.product)] != nil else { continue }
            var owner = groundTruth.owner(of: sale, in: bought)
            if owner == nil, groundTruth.strays.contains(sale.originalID) {
                owner = random.pick(users)
                if let owner { groundTruth.note(claim: sale.originalID, by: owner) }
            }
            guard let owner else { continue }
            let isSelfService = !byPerson && random.chance(0.5) && !isKeyless
            parts.log.record(
                "support", "\(id) is \(owner)'s\(isSelfService ? ", who shows Apple's order number" : "")",
                about: ["transaction \(id)", "user \(owner)"])
            if isSelfService, let number = await orderNumber(of: id, apple) {
                let (status, answer) = await send(
                    .post, "/v1/users/\(owner)/claims", ["orderNumber": .string(number)],
                    token: SimulatedShop.token(of: owner, at: parts.scheduler.now))
                // Support decides a transaction of a subscription that another customer owns.
                guard let status, (400..<500).contains(status) || Self.isUndecided(answer), status != 429 else {
                    continue
                }
            }
            await decide(id, for: owner)
        }
    }

    /// Whether an answered claim left something in quarantine.
    private static func isUndecided(_ answer: JSONValue?) -> Bool {
        guard case .object(let reply)? = answer, case .array(let told)? = reply["data"] else { return false }
        return told.contains { $0["outcome"] == "quarantined" }
    }

    /// Retries without an answer: the server may still crash days after the last planned fault.
    private func decide(_ id: String, for owner: String) async {
        let body: JSONValue = [
            "userId": .string(owner), "reason": "the customer showed the mail", "operator": "support",
        ]
        for _ in 0..<3 {
            let (status, answer) = await send(.post, "/v1/quarantine/\(id)/claims", body)
            if let status, status == 200 || status < 500 && status != 429 { return }
            parts.log.record(
                "support", "receives \(status.map(String.init) ?? lastFault): \(answer?.encoded() ?? "")",
                about: ["transaction \(id)"])
            await parts.scheduler.pause(60_000)
        }
    }

    private func quarantined() async -> [String] {
        var found: [String] = []
        var cursor: String?
        repeat {
            let query = [("limit", "100")] + (cursor.map { [("cursor", $0)] } ?? [])
            let (_, answer) = await send(.get, "/v1/quarantine", query: query)
            guard case .object(let page)? = answer, case .array(let rows)? = page["data"] else { break }
            for row in rows {
                if case .object(let members) = row, case .string(let id)? = members["transactionId"] {
                    found.append(id)
                }
            }
            cursor = nil
            if case .string(let next)? = page["nextCursor"] { cursor = next }
        } while cursor != nil
        return found
    }

    private func orderNumber(of id: String, _ apple: AppleHost) async -> String? {
        guard case .object(let members)? = await apple.act(.get, "/emulator/transactions/\(id)"),
            case .string(let number)? = members["orderId"]
        else { return nil }
        return number
    }

    // MARK: Sending

    /// Why a request got no answer.
    private var lastFault = ""

    private func send(
        _ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil, query: [(String, String)] = [],
        token: String = SimulatedShop.secretKey
    ) async -> (status: Int?, body: JSONValue?) {
        var headers = HTTPHeaders([("Authorization", "Bearer \(token)"), ("Accept", "application/json")])
        if body != nil { headers.add("Content-Type", "application/json") }
        let request = HTTPRequest(
            method: method, path: path, query: query.map { (name: $0.0, value: $0.1) }, headers: headers,
            body: body.map { $0.encodedBytes() } ?? [], peer: "127.0.0.1")
        let response: HTTPResponse
        do {
            response = try await link.send(request, from: process)
        } catch {
            lastFault = "\(error)"
            return (nil, nil)
        }
        return (response.status, try? JSONValue(decoding: response.body))
    }
}
