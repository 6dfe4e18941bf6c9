import Foundation
import Testing
import TillBilling
import TillLedger
import TillSQL
import TillTestDatabases

@testable import TillSoak

@Suite("The soak's audit")
struct AuditTests {
    private static let order = UniqueID(high: 1, low: 7)
    private static let product = "com.example.learn.points60"

    private static func sale(token: OrderID? = order, isRevoked: Bool = false, isFinished: Bool = true) -> Sale {
        Sale(
            id: "1", account: "a", product: product, token: token, isRevoked: isRevoked, isFinished: isFinished,
            purchased: Instant(milliseconds: 1_000))
    }

    /// A ledger that granted this sale correctly, except for the changes of `change`.
    private static func contents(
        user: String = "ann", points: Int64 = 60, status: OrderStatus = .completed, quantity: Int64 = 1,
        state: Int64 = 1,
        granted: Int = 1
    ) -> LedgerContents {
        var contents = LedgerContents()
        let grant = LedgerContents.Grant(
            transaction: "1", order: order, orderStatus: status, user: user, product: product, quantity: quantity,
            points: points, at: Instant(milliseconds: 1_250))
        contents.grants = Array(repeating: grant, count: granted)
        let quarantine = state == 2 ? "unknown_token" : nil
        contents.records = ["1": LedgerContents.Record(state: state, quarantine: quarantine)]
        contents.owners = [order: "ann"]
        return contents
    }

    private static func audit(_ sales: [Sale], _ contents: LedgerContents) -> Audit.Result {
        Audit(sales: sales, owners: [order: "ann"], strangers: ["mallory"], points: SoakCatalog.points).run(contents)
    }

    @Test("A purchase that was paid once and granted once to its owner has no finding, and its wait is measured")
    func clean() {
        let result = Self.audit([Self.sale()], Self.contents())
        #expect(result.findings.isEmpty, "\(result.findings)")
        #expect(result.waits == [250])
        #expect(
            Self.audit([Self.sale(isRevoked: true)], Self.contents(points: 0, status: .refunded, state: 3)).findings
                .isEmpty)
        // Refunded before it was granted.
        #expect(Self.audit([Self.sale(isRevoked: true)], LedgerContents()).findings.isEmpty)
    }

    /// The store's records, the ledger's records, and the contradiction between them.
    private static let cases: [(what: String, sale: Sale, contents: LedgerContents, kinds: [Audit.Finding.Kind])] = [
        ("never heard of", sale(), LedgerContents(), [.lost]),
        ("recorded and not granted", sale(), contents(granted: 0), [.lost]),
        ("signed for ann, in quarantine", sale(), contents(state: 2, granted: 0), [.lost]),
        ("half of it", sale(), contents(points: 30), [.lost]),
        ("two grants", sale(), contents(granted: 2), [.grantedTwice]),
        ("points twice", sale(), contents(points: 120), [.grantedTwice]),
        ("somebody else has it", sale(), contents(user: "ben"), [.misattributed]),
        ("somebody else's order, no token", sale(token: nil), contents(user: "ben"), [.misattributed]),
        ("who never paid has it", sale(token: nil), contents(user: "mallory"), [.misattributed]),
        ("refund not heard of", sale(isRevoked: true), contents(), [.refund]),
        ("taken back without a refund", sale(), contents(points: 0, state: 3), [.refund]),
        ("refunded, and the points still there", sale(isRevoked: true), contents(state: 3), [.grantedTwice]),
        ("another quantity", sale(), contents(quantity: 2), [.contents]),
        ("order still prepared", sale(), contents(status: .prepared), [.contents]),
        ("in the queue for ever", sale(isFinished: false), contents(), [.unprocessed]),
    ]

    @Test("Each kind of wrong ledger is found, with its own kind of finding", arguments: cases.indices)
    func wrong(_ index: Int) {
        let (what, sale, contents, kinds) = Self.cases[index]
        #expect(Self.audit([sale], contents).findings.map(\.kind) == kinds, "\(what)")
    }

    @Test("A grant without a sale, an order without a request and a broken ledger are found")
    func withoutSale() {
        #expect(Self.audit([], Self.contents()).findings.map(\.kind) == [.forgedGranted])
        let strangers = Self.audit([Self.sale(token: UniqueID(high: 9, low: 9))], Self.contents())
        #expect(strangers.findings.map(\.kind) == [.contents])
        var broken = Self.contents()
        broken.violations = ["2 ann points"]
        broken.damage = ["row 3 missing from index"]
        broken.waiting = ["notification n"]
        broken.moves = [Self.order: [.prepared, .completed, .failed]]
        #expect(
            Self.audit([Self.sale()], broken).findings.map(\.kind) == [.contents, .contents, .contents, .unprocessed])
    }

    @Test("A purchase that Apple signed without an owner may wait in quarantine, and is counted (U1)")
    func unattributed() {
        let result = Self.audit([Self.sale(token: nil)], Self.contents(state: 2, granted: 0))
        #expect(result.findings.isEmpty)
        #expect(result.unattributed == ["1"])

        func claimed(by user: String, token: OrderID? = nil) -> [Audit.Finding] {
            var audit = Audit(sales: [Self.sale(token: token)], owners: [:], strangers: [], points: SoakCatalog.points)
            audit.claims = ["1": "ann"]
            return audit.run(Self.contents(user: user)).findings
        }
        #expect(claimed(by: "ann").isEmpty)
        // The server set the owner's token at Apple, which then signs an order that does not exist.
        #expect(claimed(by: "ann", token: UniqueID(high: 9, low: 9)).isEmpty)
        #expect(claimed(by: "ben").map(\.kind) == [.misattributed])
    }

    // MARK: A ledger on the disk

    private static let count: Int64 = 6

    private static func sales() -> [Sale] {
        (1...count).map {
            Sale(
                id: "\($0)", account: "a", product: product, token: UniqueID(high: 1, low: UInt64($0)),
                purchased: Instant(milliseconds: 1_000))
        }
    }

    /// Purchases with all of their rows.
    private static func fill(_ connection: any Connection) throws {
        try connection.execute("INSERT INTO customers (user_id, first_seen) VALUES ('ann', 1)", [])
        for number in 1...count {
            let (id, key) = (SQLValue.text("\(number)"), SQLValue.integer(number))
            let order = SQLValue.blob(UniqueID(high: 1, low: UInt64(number)).bytes)
            try connection.execute(
                """
                INSERT INTO orders (row_id, id, customer_id, product, quantity, status, price, currency, \
                environment, transaction_id, created_at, updated_at, moves, id_source) VALUES (?1, ?2, 1, ?3, 1, 1, \
                600, 'CNY', 2, ?4, 1, 1, 2, 5)
                """, [key, order, .text(product), id])
            try connection.execute(
                "INSERT INTO order_moves VALUES (?1, 1, 0, 0, ''), (?1, 2, 1, 0, '')", [key])
            try connection.execute(
                """
                INSERT INTO transactions (row_id, environment, id, original_id, product, quantity, token, \
                purchased_at, signed_at, state, order_row_id, received_at, type) \
                VALUES (?1, 2, ?2, ?2, ?3, 1, ?4, 1000, 1000, 1, ?1, 1000, 1)
                """, [key, id, .text(product), order])
            try connection.execute(
                "INSERT INTO proofs (transaction_row_id, kind, body) VALUES (?1, 1, ?2)", [key, order])
            try connection.execute(
                """
                INSERT INTO evidence (row_id, transaction_row_id, at, decision, ground, source, caller_kind) \
                VALUES (?1, ?1, 2000, 'granted', 'token', 'app', 'apple')
                """, [key])
            try connection.execute(
                """
                INSERT INTO grants (transaction_row_id, id, order_row_id, customer_id, at) \
                VALUES (?1, ?2, ?1, 1, 2000)
                """, [key, order])
            try connection.execute(
                """
                INSERT INTO outbox (row_id, event_id, type, customer_id, user_sequence, transaction_row_id, at, \
                revision, version, body) VALUES (?1, ?2, 'grant.created', 1, ?1, ?1, 2000, 1, 1, '{}')
                """, [key, order])
            try connection.execute("INSERT INTO event_positions (position, event_row_id) VALUES (?1, ?1)", [key])
            let posting = Posting(
                environment: .sandbox, userID: UserID("ann"), contra: .sold, currency: "points", amount: 60,
                kind: .purchase, reference: "", at: Instant(milliseconds: 2_000))
            try LedgerTable(connection).post(posting, grant: number)
        }
    }

    @Test("In a ledger it finds nothing, and then every planted contradiction", arguments: LedgerDatabase.each)
    func planted(_ database: LedgerDatabase) async throws {
        try await withLedgerPlace(on: database) { place in
            try await place.opened { try await $0.write { try Self.fill($0) } }
            let owners = Dictionary(
                uniqueKeysWithValues: Self.sales().compactMap { sale in sale.token.map { ($0, "ann") } })
            let audit = Audit(sales: Self.sales(), owners: owners, strangers: [], points: SoakCatalog.points)
            let before = audit.run(try await LedgerContents.read(place))
            #expect(before.findings.isEmpty, "\(before.findings)")
            #expect(before.waits == Array(repeating: 1_000, count: Int(Self.count)))

            let log = try await place.opened(.operator) { ledger in
                try await ledger.read { try PurchaseLog.contents(of: "1", $0) }
            }
            #expect(log.map { $0.prefix { $0.isLetter } } == ["ledger", "evidence", "posting", "order", "order"])

            let copy = try place.copy(named: "planted")
            let lies = try await PlantedErrors(ledger: copy).plant()
            #expect(Set(lies.keys) == Set(PlantedErrors.kinds))
            let findings = audit.run(try await LedgerContents.read(copy)).findings
            for (kind, transaction) in lies {
                #expect(findings.contains { $0.kind == kind && $0.transaction == transaction }, "\(kind): \(findings)")
            }
            try copy.remove()
            #expect(audit.run(try await LedgerContents.read(place)).findings.isEmpty, "only the copy was damaged")
        }
    }

    @Test(
        "An order's last move is audited, whether its own row or `order_moves` says it", arguments: LedgerDatabase.each)
    func lastMove(_ database: LedgerDatabase) async throws {
        try await withLedgerPlace(on: database) { place in
            try await place.opened { ledger in
                try await ledger.write { connection in
                    try Self.fill(connection)
                    let change: SQL = "UPDATE orders SET status = 4, moves = 3, reason = ?2 WHERE row_id = ?1"
                    try connection.execute(change, [.integer(1), .text("wrong")])
                    try connection.execute(change, [.integer(2), .null])
                    try connection.execute("INSERT INTO order_moves VALUES (2, 3, 4, 0, 'wrong')", [])
                }
            }
            let audit = Audit(sales: Self.sales(), owners: [:], strangers: [], points: SoakCatalog.points)
            let contents = try await LedgerContents.read(place)
            let findings = audit.run(contents).findings.map(\.sentence)
            for low in [UInt64(1), 2] {
                let order = UniqueID(high: 1, low: low)
                #expect(contents.moves[order] == [.prepared, .completed, .failed])
                #expect(findings.contains("the order \(order) went from completed to failed"), "\(findings)")
            }
        }
    }

    @Test("The same seed draws the same numbers, and each player has its own")
    func random() {
        func throwsOf(_ seed: UInt64, _ player: String) -> [UInt64] {
            var random = SeededRandom(seed: seed, player: player)
            return (0..<8).map { _ in random.next() }
        }
        #expect(throwsOf(1, "a") == throwsOf(1, "a"))
        #expect(throwsOf(1, "a") != throwsOf(2, "a"))
        #expect(throwsOf(1, "a") != throwsOf(1, "b"))
    }
}
