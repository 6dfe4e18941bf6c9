import Foundation
import Testing
import TillBilling
import TillJSON
import TillSQL
import TillSQLite
import TillTestDatabases

@testable import TillLedger

/// The tables on the real driver: the guarantees of the database itself.
@Suite("The ledger's tables") struct LedgerTests {
    private let at = Instant(milliseconds: 1_700_000_000_123)
    private let user = UserID("u1")

    private func order(_ low: UInt64, quantity: Int = 1) -> Order {
        Order(
            id: UniqueID(high: 1, low: low), userID: user, productID: ProductID("com.example.points60"),
            quantity: quantity, price: Money(amount: 600, currency: Currency("CNY")), deviceID: DeviceID("d1"),
            metadata: #"{"level":3}"#, createdAt: at, updatedAt: at)
    }

    private func posting(_ amount: Int64, kind: PostingKind, reference: String) -> Posting {
        Posting(
            environment: .production, userID: user, contra: .sold, currency: "points", amount: amount, kind: kind,
            reference: reference, at: at)
    }

    @Test("An order is read back as it was stored, with its history in order (L6)", arguments: LedgerDatabase.each)
    func orderRoundTrip(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let opened = order(1)
            let found = try await ledger.write { connection in
                let orders = OrderTable(connection)
                let stored = try orders.insert(opened, reason: "opened")
                let moved = try orders.move(
                    stored, along: [.ongoing, .completed], at: at.adding(seconds: 5), reason: "token",
                    transaction: TransactionID("2000000000000001"), environment: .sandbox)
                #expect(moved.order.status == .completed)
                return (try orders.find(opened.id), try orders.moves(of: moved))
            }
            let stored = try #require(found.0)
            #expect(stored.order.userID == user)
            #expect(stored.order.metadata == #"{"level":3}"#)
            #expect(stored.order.transactionID == TransactionID("2000000000000001"))
            #expect(stored.order.environment == .sandbox)
            #expect(found.1.map(\.status) == [.prepared, .ongoing, .completed])
            #expect(found.1.map(\.reason) == ["opened", "token", "token"])
        }
    }

    @Test(
        "A second grant for the same transaction is refused by the database itself (O8, invariant 1)",
        arguments: LedgerDatabase.each)
    func oneGrant(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let opened = order(2)
            let rowID = try await ledger.write { connection in
                let stored = try OrderTable(connection).insert(opened, reason: "opened")
                let rowID = try TransactionTable(connection).insert(
                    paid("7", product: opened.productID), state: .granted, quarantine: nil,
                    orderRowID: stored.rowID, at: at)
                try GrantTable(connection).insert(
                    grant("7", opened), transaction: rowID, orderRowID: stored.rowID)
                return rowID
            }
            await #expect(throws: DatabaseError.self) {
                try await ledger.write { connection in
                    try GrantTable(connection).insert(grant("7", opened), transaction: rowID, orderRowID: 1)
                }
            }
            // The same transaction can't be inserted as another row either.
            await #expect(throws: DatabaseError.self) {
                _ = try await ledger.write { connection in
                    try TransactionTable(connection).insert(
                        paid("7", product: opened.productID), state: .granted, quarantine: nil, orderRowID: 1, at: at
                    )
                }
            }
            #expect(try await ledger.read { try GrantTable($0).find(transaction: rowID) } == grant("7", opened))
        }
    }

    private func grant(_ id: String, _ order: Order, points: [GrantedPoints] = []) -> Grant {
        Grant(
            id: UniqueID(high: 9, low: 9), environment: .production, transactionID: TransactionID(id),
            orderID: order.id,
            userID: user, productID: order.productID, quantity: 1, points: points, entitlement: nil, at: at)
    }

    @Test(
        "A proof is read back byte for byte; the header that proofs of one signer share is stored once",
        arguments: LedgerDatabase.each)
    func proofs(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let bodies = ["header.one.s1", "header.two.s2", "other.three.s3", "no parts", ""].map { Array($0.utf8) }
            let found = try await ledger.write { connection in
                let table = ProofTable(connection)
                var rowIDs: [Int64] = []
                for (number, body) in bodies.enumerated() {
                    let rowID = try TransactionTable(connection).insert(
                        paid("\(number)", product: ProductID("p")), state: .revoked, quarantine: nil,
                        orderRowID: nil,
                        at: at)
                    try table.insert(transaction: rowID, kind: .signedTransaction, body: body)
                    rowIDs.append(rowID)
                }
                let headers = try connection.first("SELECT count(*) AS count FROM proof_headers", []) {
                    $0.integer("count")
                }
                return (try rowIDs.map { try table.find(transaction: $0)?.body }, headers)
            }
            #expect(found.0 == bodies)
            #expect(found.1 == 2)
        }
    }

    @Test("A new grant's event is the text of what its row says afterwards", arguments: LedgerDatabase.each)
    func eventData(_ database: LedgerDatabase) async throws {
        let prices = [nil, SignedPrice(milliunits: 6_000, currency: Currency("CNY"))]
        try await withLedger(on: database) { ledger in
            for (number, price) in prices.enumerated() {
                let transaction = paid("\(number + 7)", product: ProductID("com.example.\"60\""), price: price)
                let grant = Grant(
                    id: UniqueID(high: 1, low: 2), environment: .sandbox, transactionID: transaction.id,
                    orderID: UniqueID(high: 3, low: 4), userID: UserID("ann"), productID: transaction.productID,
                    quantity: 3,
                    points: [
                        GrantedPoints(currency: "gems", amount: .min), GrantedPoints(currency: "points", amount: 180),
                    ], entitlement: price == nil ? "pro" : nil, at: at)
                let read = try await ledger.write { connection in
                    let table = TransactionTable(connection)
                    let rowID = try table.insert(
                        transaction, state: .granted, quarantine: nil, orderRowID: nil, at: at)
                    return try table.find(rowID: rowID).map { EventBody.transaction($0) }
                }
                let tree = try #require(read).merging(EventBody.grant(grant, isNew: true)) { own, _ in own }
                #expect(EventBody.created(grant, by: transaction) == JSONValue.object(tree).encoded())
            }
        }
    }

    @Test(
        "The event of a grant is read as it was written, also after a newer copy has another price",
        arguments: LedgerDatabase.each)
    func grantEvents(_ database: LedgerDatabase) async throws {
        let prices = [nil, SignedPrice(milliunits: 6_000, currency: Currency("CNY"))]
        let newer = SignedPrice(milliunits: 1_000, currency: Currency("USD"))
        let points = [GrantedPoints(currency: "gems", amount: 3), GrantedPoints(currency: "points", amount: 180)]
        for (number, price) in prices.enumerated() {
            try await withLedger(on: database) { ledger in
                let opened = order(UInt64(number) + 5)
                let transaction = paid("\(number + 7)", product: ProductID("com.example.\"60\""), price: price)
                let grant = grant("\(number + 7)", opened, points: number == 0 ? points : [])
                let form = try await ledger.write { connection in
                    let stored = try OrderTable(connection).insert(opened, reason: "opened")
                    let rowID = try TransactionTable(connection).insert(
                        transaction, state: .granted, quarantine: nil, orderRowID: stored.rowID, at: at)
                    try GrantTable(connection).insert(grant, transaction: rowID, orderRowID: stored.rowID)
                    let customer = try CustomerTable(connection).id(of: user, at: at)
                    for posting in grant.postings(at: at) {
                        try LedgerTable(connection).post(posting, grant: rowID, customer: customer)
                    }
                    try EventRecorder(connection).record(
                        grant, of: transaction, rowID: rowID, customer: customer, at: at)
                    let later = paid("\(number + 7)", product: ProductID("com.example.\"60\""), price: newer)
                    try TransactionTable(connection).update(rowID, to: later)
                    _ = try OutboxTable(connection).place(limit: 10)
                    return try connection.first("SELECT version FROM outbox", []) { $0.integer("version") }
                }
                // Servers that share a database may be of different releases.
                #expect(form == (database == .sqlite ? 2 : 1))
                let whole = EventBody.created(grant, by: transaction)
                let found = try await ledger.read { connection in
                    let outbox = OutboxTable(connection)
                    return try outbox.list(after: 0, limit: 10) + outbox.list(of: user, after: 0, limit: 10)
                        + [outbox.find(1)].compactMap { $0 }
                }
                #expect(found.map(\.body) == [whole, whole, whole])
            }
        }
    }

    @Test(
        "A receipt never replaces a signed transaction as proof; a signed transaction replaces a receipt",
        arguments: LedgerDatabase.each)
    func proofRank(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let found = try await ledger.write { connection in
                let table = ProofTable(connection)
                let rowID = try TransactionTable(connection).insert(
                    paid("1", product: ProductID("p")), state: .revoked, quarantine: nil, orderRowID: nil, at: at)
                try table.insert(transaction: rowID, kind: .receipt, body: [1, 2])
                try table.replace(transaction: rowID, kind: .signedTransaction, body: Array("a.b.c".utf8))
                try table.replace(transaction: rowID, kind: .receipt, body: [3])
                return try table.find(transaction: rowID)
            }
            #expect(found?.kind == .signedTransaction)
            #expect(found?.body == Array("a.b.c".utf8))
        }
    }

    @Test(
        "Postings, grants and evidence can be neither edited nor deleted (invariant 4)",
        arguments: ["postings", "grants", "evidence"], LedgerDatabase.each)
    func neverEdited(table: String, _ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let opened = order(3)
            try await ledger.write { connection in
                let stored = try OrderTable(connection).insert(opened, reason: "opened")
                let transaction = try TransactionTable(connection).insert(
                    paid("8", product: opened.productID), state: .granted, quarantine: nil,
                    orderRowID: stored.rowID, at: at)
                try EvidenceTable(connection).insert(
                    transaction: transaction,
                    .init(at: at, decision: "granted", ground: "token", source: "app", caller: "user:u1"))
                let grant = grant("8", opened, points: [GrantedPoints(currency: "points", amount: 60)])
                try GrantTable(connection).insert(grant, transaction: transaction, orderRowID: stored.rowID)
                let rowID = transaction
                for posting in grant.postings(at: at) {
                    try LedgerTable(connection).post(posting, grant: rowID)
                }
            }
            let (update, delete): (SQL, SQL) =
                switch table {
                case "postings": ("UPDATE postings SET amount = 61", "DELETE FROM postings")
                case "grants": ("UPDATE grants SET customer_id = 1", "DELETE FROM grants")
                default: ("UPDATE evidence SET ground = 'x'", "DELETE FROM evidence")
                }
            for statement in [update, delete] {
                await #expect(throws: DatabaseError.self) {
                    try await ledger.write { connection in _ = try connection.execute(statement, []) }
                }
            }
            #expect(
                try await ledger.read { try LedgerTable($0).wallet(of: user, in: .production) }.balances == [
                    "points": 60
                ])
        }
    }

    @Test(
        "If there is more evidence than the list shows, it shows the newest entries, oldest first",
        arguments: LedgerDatabase.each)
    func newestEvidence(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let listed = try await ledger.write { connection in
                let transaction = try TransactionTable(connection).insert(
                    paid("8", product: ProductID("p")), state: .quarantined, quarantine: .noOwner,
                    orderRowID: nil, at: at)
                let table = EvidenceTable(connection)
                for number in 0..<210 {
                    try table.insert(
                        transaction: transaction,
                        .init(at: at, decision: "quarantined", ground: "\(number)", source: "app", caller: "user:u1"))
                }
                return try table.list(transaction: transaction)
            }
            #expect(listed.count == 200 && listed.first?.ground == "10" && listed.last?.ground == "209")
        }
    }

    @Test(
        "A balance is the sum of its postings, and each environment has its own (invariants 4 and 7)",
        arguments: LedgerDatabase.each)
    func balances(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.write { connection in
                let books = LedgerTable(connection)
                try books.post(posting(100, kind: .purchase, reference: "a"), grant: nil)
                try books.post(posting(-30, kind: .debit, reference: "b"), grant: nil)
            }
            let found = try await ledger.read { connection in
                let books = LedgerTable(connection)
                return (
                    try books.wallet(of: user, in: .production), try books.wallet(of: user, in: .sandbox),
                    try books.unbalanced()
                )
            }
            #expect(found.0.balances == ["points": 70])
            #expect(found.1.balances == [:])
            #expect(found.2.isEmpty)
        }
    }

    @Test("A balance that was tampered with is found (the check can fail)", arguments: LedgerDatabase.each)
    func tamperedBalance(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let unbalanced = try await ledger.write { connection in
                try LedgerTable(connection).post(posting(100, kind: .purchase, reference: "a"), grant: nil)
                try connection.execute("UPDATE balances SET amount = 99", [])
                return try LedgerTable(connection).unbalanced()
            }
            #expect(unbalanced == ["1 u1 points"])
        }
    }

    @Test("A debit's reference is used once, and found again", arguments: LedgerDatabase.each)
    func debitReference(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            _ = try await ledger.write { connection in
                try LedgerTable(connection).post(posting(-5, kind: .debit, reference: "order-1"), grant: nil)
            }
            let found = try await ledger.read { try LedgerTable($0).debit(reference: "order-1", in: .production) }
            #expect(found?.posting.amount == -5)
            await #expect(throws: DatabaseError.self) {
                try await ledger.write { connection in
                    try LedgerTable(connection).post(posting(-5, kind: .debit, reference: "order-1"), grant: nil)
                }
            }
        }
    }

    @Test("A notification of a known UUID is not stored twice (U4)", arguments: LedgerDatabase.each)
    func notifications(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let rowIDs = try await ledger.write { connection in
                try ["n1", "n1", "n2"].map { uuid in
                    try NotificationTable(connection).insert(
                        uuid: uuid, environment: .sandbox, type: "TEST", subtype: nil, signedAt: nil, at: at,
                        payload: Array("p".utf8))
                }
            }
            #expect(rowIDs.map { $0 == nil } == [false, true, false])
            let first = try #require(rowIDs[0])
            let pending = try await ledger.read { try NotificationTable($0).pending(after: first, limit: 10) }
            #expect(pending.map(\.uuid) == ["n2"])
        }
    }

    @Test(
        "An idempotency answer is found in its own scope only, and is deleted when it is old",
        arguments: LedgerDatabase.each)
    func idempotency(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            @Sendable func scope(_ credential: String, in environment: StoreEnvironment = .sandbox)
                -> IdempotencyTable.Scope
            {
                IdempotencyTable.Scope(
                    credential: credential, method: "POST", path: "/v1/orders", queryDigest: [],
                    environment: environment,
                    key: "k")
            }
            let (mine, other) = (scope("key:a"), scope("key:b"))
            let answer = IdempotencyTable.Answer(digest: [1, 2], status: 201, body: [3])
            let found = try await ledger.write { connection in
                let table = IdempotencyTable(connection)
                try table.insert(mine, answer, at: at)
                let fresh = (try table.find(mine), try table.find(other))
                #expect(try table.find(scope("key:a", in: .production)) == nil)
                let later = at.adding(milliseconds: IdempotencyTable.lifetimeMilliseconds + 1)
                try table.insert(other, answer, at: later)
                return (fresh.0, fresh.1, try table.find(mine))
            }
            #expect(found.0 == answer)
            #expect(found.1 == nil)
            #expect(found.2 == nil)
        }
    }

    private func paid(_ id: String, product: ProductID, price: SignedPrice? = nil) -> PaidTransaction {
        PaidTransaction(
            id: TransactionID(id), originalID: TransactionID(id), productID: product, quantity: 1,
            environment: .production, token: nil, purchasedAt: at, signedAt: at, revokedAt: nil, isRenewal: false,
            isFromReceipt: false, price: price)
    }
}
