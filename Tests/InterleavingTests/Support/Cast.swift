import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillServer

/// The users, orders and transactions of one race: no other race of the same ledger touches them.
struct Cast: Sendable {
    let world: SharedLedgerWorld
    let seed: UInt64
    let race: Int

    private var number: UInt64 { seed &* 10 &+ UInt64(race) }

    func user(_ name: String) -> String { "s\(seed)r\(race)-\(name)" }

    /// An order's id or an account token.
    func order(_ index: UInt64) -> UniqueID {
        UniqueID(high: 0x7111_0000_0000_4000, low: 1 << 63 | number &* 100 &+ index)
    }

    func transaction(_ index: UInt64) -> String { String(2_000_000_000_000_000 + number &* 100 + index) }

    func reference(_ index: Int) -> String { "s\(seed)r\(race)-\(index)" }

    // MARK: What Apple signs

    struct Paid: Sendable {
        var id: String
        var original: String?
        var product = SharedLedgerWorld.points60
        var token: UniqueID?
        /// Seconds since the first purchase of the race.
        var at: Int64 = 0
        var isRevoked = false
        var payer: String?
    }

    private static let types = [
        SharedLedgerWorld.points60: ProductType.consumable, SharedLedgerWorld.pro: .nonConsumable,
        SharedLedgerWorld.monthly: .autoRenewable, SharedLedgerWorld.course: .nonRenewing,
    ]

    func signed(_ paid: Paid) throws -> String {
        let first = world.now.milliseconds - 60_000
        let time = first + paid.at * 1_000
        let type = Self.types[paid.product] ?? .consumable
        var payload: [String: JSONValue] = [
            "transactionId": .string(paid.id), "originalTransactionId": .string(paid.original ?? paid.id),
            "bundleId": .string(SharedLedgerWorld.bundleID), "productId": .string(paid.product),
            "purchaseDate": .int(time), "originalPurchaseDate": .int(first), "quantity": 1,
            "type": .string(type.rawValue), "inAppOwnershipType": "PURCHASED",
            "signedDate": .int(time + 500 + (paid.isRevoked ? 30_000 : 0)), "environment": "Sandbox",
            "transactionReason": .string(paid.original == nil ? "PURCHASE" : "RENEWAL"), "storefront": "CHN",
            "storefrontId": "143465", "price": 6_000, "currency": "CNY",
            "appTransactionId": .string(paid.payer ?? "7\(number)\(paid.id.suffix(4))"),
        ]
        if let token = paid.token { payload["appAccountToken"] = .string(token.description) }
        if paid.isRevoked { (payload["revocationDate"], payload["revocationReason"]) = (.int(time + 20_000), 0) }
        if type == .autoRenewable {
            payload["expiresDate"] = .int(time + 30 * 86_400_000)
            payload["subscriptionGroupIdentifier"] = "20000001"
        }
        return try world.issuer.sign(payload: Array(JSONValue.object(payload).encoded().utf8))
    }

    // MARK: Requests

    func open(_ order: UInt64, for name: String, _ product: String = SharedLedgerWorld.points60) -> HTTPRequest {
        world.request(
            .post, "/v1/orders",
            [
                "id": .string(self.order(order).description), "userId": .string(user(name)),
                "productId": .string(product),
            ])
    }

    func submit(_ paid: Paid, as name: String) throws -> HTTPRequest {
        world.request(
            .post, "/v1/transactions", as: .user(user(name)), ["signedTransaction": .string(try signed(paid))])
    }

    func notify(_ paid: Paid, _ type: String = "ONE_TIME_CHARGE", index: UInt64 = 1) throws -> HTTPRequest {
        let id = UniqueID(high: 0x7222_0000_0000_4000, low: 1 << 63 | number &* 100 &+ index)
        let payload: JSONValue = [
            "notificationType": .string(type), "notificationUUID": .string(id.description), "version": "2.0",
            "signedDate": .int(world.now.milliseconds - 1_000),
            "data": [
                "bundleId": .string(SharedLedgerWorld.bundleID), "bundleVersion": "1", "environment": "Sandbox",
                "signedTransactionInfo": .string(try signed(paid)),
            ],
        ]
        let text = try world.issuer.sign(payload: Array(payload.encoded().utf8))
        return world.request(.post, "/v1/notifications/apple", as: .apple, ["signedPayload": .string(text)])
    }

    func debit(_ amount: Int64, of name: String, _ reference: Int, key: String? = nil) -> HTTPRequest {
        world.request(
            .post, "/v1/users/\(user(name))/wallet/debits", key: key,
            ["currency": "points", "amount": .int(amount), "reference": .string(self.reference(reference))])
    }

    func merge(_ guest: String, into account: String) -> HTTPRequest {
        world.request(.post, "/v1/users/\(user(account))/guests", ["guestId": .string(user(guest))])
    }

    func transfer(_ original: String, from: String, to: String) -> HTTPRequest {
        world.request(
            .post, "/v1/transfers",
            [
                "from": .string(user(from)), "to": .string(user(to)), "originalTransactionId": .string(original),
                "reason": "asked for it", "operator": "ann", "environment": "sandbox",
            ])
    }

    // MARK: What the ledger says

    func balance(of name: String) throws -> Int {
        try world.count(
            """
            SELECT coalesce(sum(b.amount), 0) FROM balances b JOIN customers c USING (customer_id) \
            WHERE c.user_id = '\(user(name))'
            """)
    }

    /// The events of one type about the users of this race.
    func events(_ type: String) throws -> Int {
        try world.count(
            """
            SELECT count(*) FROM outbox o JOIN customers c USING (customer_id) \
            WHERE c.user_id LIKE 's\(seed)r\(race)-%' AND o.type = '\(type)'
            """)
    }

    func postings(_ kind: String) throws -> Int {
        try world.count(
            """
            SELECT count(*) FROM postings p JOIN customers c USING (customer_id) \
            WHERE c.user_id LIKE 's\(seed)r\(race)-%' AND p.kind = '\(kind)'
            """)
    }

    func owner(of transaction: String) throws -> String? {
        try world.sql(
            """
            SELECT coalesce((SELECT c.user_id FROM grant_owners h JOIN customers c USING (customer_id) \
            WHERE h.grant_row_id = t.row_id), (SELECT c.user_id FROM orders o JOIN customers c USING (customer_id) \
            WHERE o.row_id = t.order_row_id)) FROM transactions t WHERE t.id = '\(transaction)'
            """
        ).first?[0]
    }
}

/// One request of a race, and the server that gets it.
struct Work: Sendable {
    let server: Int
    let name: String
    let body: @Sendable (Server) async -> Answer

    init(_ server: Int, _ name: String, _ request: HTTPRequest) {
        self.server = server
        self.name = name
        body = { server in await Answer.repeating { await server.respond(to: request) } }
    }

    init(_ server: Int, _ name: String, _ body: @escaping @Sendable (Server) async throws -> Void) {
        self.server = server
        self.name = name
        self.body = { server in
            do {
                try await body(server)
                return Answer(status: 200, body: [:])
            } catch {
                return Answer(status: 599, body: .string("\(error)"))
            }
        }
    }
}

struct Answer: Sendable, CustomStringConvertible {
    let status: Int
    let body: JSONValue

    var outcome: String { body["outcome"]?.string ?? body["code"]?.string ?? "" }
    var description: String { "\(status) \(body.encoded().prefix(300))" }

    /// A server that says 503 is asked again, as a client does.
    static func repeating(_ ask: () async -> HTTPResponse) async -> Answer {
        var last = await ask()
        for _ in 0..<5 where last.status == 503 { last = await ask() }
        return Answer(status: last.status, body: (try? JSONValue(decoding: last.body)) ?? .string("no JSON"))
    }
}

/// Requests that compete, and what has to be true afterwards.
struct Race: Sendable {
    let name: String
    /// Answered before the race begins, one after the other.
    var setup: [HTTPRequest] = []
    var work: [Work]
    /// What is wrong; empty if nothing.
    var check: @Sendable ([Answer]) throws -> [String]
}

/// Collects what is wrong.
struct Findings {
    private(set) var list: [String] = []

    mutating func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) { if !isTrue { list.append(text()) } }

    mutating func expect<Value: Equatable>(_ found: Value, is wanted: Value, _ what: String) {
        if found != wanted { list.append("\(what) is \(found), not \(wanted)") }
    }
}
