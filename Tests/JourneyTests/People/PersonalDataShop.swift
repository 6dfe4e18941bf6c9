import Testing
import TillBilling
import TillCrypto
import TillJSON
import TillLedger
import TillServer
import TillTestDatabases
import TillThreads

/// A shop whose server can erase customers, and a customer who leaves data in every place where the ledger keeps some.
struct PersonalDataShop {
    static let operatorToken = "op_people_0123456789abcdef"
    static let name = "zaphod-beeblebrox"
    static let guest = "guest-trillian"
    static let device = "heart-of-gold-7"
    static let note = "do not forget the towel"
    static let accountToken = "7c1d2b3a-0f4e-4a6b-8c9d-0e1f2a3b4c5d"

    let shop: Shop
    let log: LogRecorder
    /// The list beside the backups.
    let kept: KeptLines

    final class KeptLines: Sendable {
        private let state = Locked<[String]>([])
        var lines: [String] { state.withLock { $0 } }

        func add(_ new: [String]) {
            state.withLock { lines in lines += new.filter { !lines.contains($0) } }
        }
    }

    static func open(
        _ reach: Reach = .inProcess, change other: @escaping (inout ServerConfiguration) -> Void = { _ in },
        _ journey: (PersonalDataShop) async throws -> Void
    ) async throws {
        let (kept, log) = (KeptLines(), LogRecorder())
        let key = try #require(ErasureKey("an erasure key of at least thirty-two bytes"))
        let change = { (configuration: inout ServerConfiguration) in
            configuration.catalog = CloudShop.catalog
            configuration.operators = [SecretKey(id: "mei", sha256: Digest.sha256.hash(operatorToken.utf8))]
            configuration.erasure = ErasureTerms(key: key) { kept.add($0) }
            other(&configuration)
        }
        try await Shop.open(reach, change: change, log: log) { shop in
            try await CloudShop.stock(shop)
            try await journey(PersonalDataShop(shop: shop, log: log, kept: kept))
            // The books are right after every journey.
            let violations = try await shop.ledger.read { try LedgerAudit.violations($0) }
            #expect(violations.isEmpty, "\(violations)")
        }
    }

    // MARK: The customer's life

    /// Leaves data everywhere. Returns the transaction of 60 points, 20 of which are spent.
    func live() async throws -> String {
        let (name, guest) = (Self.name, Self.guest)
        let points = try await shop.buyPlan("points60", as: name, device: Self.device)
        try await shop.buyPlan("basic_monthly", as: name, device: Self.device)
        try await shop.buyPlan("pro", as: guest)
        #expect(try await shop.merge(guest, into: name).status == 201)
        _ = try await shop.send(
            .post, "/v1/users/\(name)/wallet/debits",
            ["currency": "points", "amount": 20, "reference": "chapter 1"])
        _ = try await shop.send(.put, "/v1/users/\(name)/consents/consumption", ["given": true], as: .user(name))
        _ = try await shop.submit("no proof at all", as: .user(name))
        _ = try await shop.send(.put, "/v1/users/\(name)/account-tokens/\(Self.accountToken)")
        // One request whose answer is kept for the person, and one for the backend.
        let order: JSONValue = [
            "productId": .string(Shop.points60), "deviceId": .string(Self.device),
            "metadata": ["note": .string(Self.note)],
        ]
        let opened = try await shop.send(
            .post, "/v1/orders", order, as: .user(name), headers: [("Idempotency-Key", "first")])
        #expect(opened.status == 201)
        guard case .object(var named) = order else { return points }
        named["userId"] = .string(name)
        let backends = try await shop.send(
            .post, "/v1/orders", .object(named), headers: [("Idempotency-Key", "second")])
        #expect(backends.status == 201)
        let failed = try await shop.send(
            .post, "/v1/orders/\(opened["id"].text)/fail", ["reason": "the card of Beeblebrox was refused"],
            as: .user(name))
        #expect(failed.status == 200, "\(failed.body)")
        return points
    }

    // MARK: Requests

    func erase(
        _ user: String = name, _ body: JSONValue? = ["forfeit": ["points": 40]], as party: Party = .backend
    ) async throws -> Reply {
        try await shop.send(.post, "/v1/users/\(user)/erasure", body, as: party)
    }

    /// The whole export, by list.
    func export(
        _ user: String = name, as party: Party = .backend, limit: Int = 100
    ) async throws -> [String: [JSONValue]] {
        var lists: [String: [JSONValue]] = [:]
        var cursor = ""
        while true {
            let page = try await shop.send(
                .get, "/v1/users/\(user)/export?limit=\(limit)" + cursor, as: party)
            try #require(page.status == 200, "\(page.body)")
            #expect(page["data"].list.count <= limit * 12)
            for entry in page["data"].list { lists[entry.at("list").text, default: []].append(entry.at("item")) }
            guard page["hasMore"] == true else { return lists }
            cursor = "&cursor=\(page["nextCursor"].text)"
        }
    }

    /// The tables of the ledger that contain a text.
    func tables(with text: String) async throws -> Set<String> { try await shop.ledger.tables(with: text) }
}
