import Testing
import TillBilling
import TillCrypto
import TillJSON
import TillLedger
import TillSQL
import TillSQLite
import TillServer
import TillSimulation
import TillTestDatabases

/// Every source of purchases: a purchase that can't be stored is never answered as stored.
@Suite("503 instead of a lost purchase", .enabled(if: LedgerDatabase.isSQLite, "\(LedgerDatabase.sqliteOnly)"))
struct SourceFaultJourneys {
    private struct Source: Sendable {
        let name: String
        let target: String
        let body: JSONValue
        var party = Party.user("ann")

        func knock(_ shop: Shop) async throws -> Reply { try await shop.send(.post, target, body, as: party) }
    }

    private static func open(
        _ order: DeliveryTerms.Order = .grantThenFinish, _ journey: (Shop, CrashableDisk) async throws -> Void
    ) async throws {
        let disk = CrashableDisk(seed: 21)
        var options = SQLiteDatabase.Options(.ledger)
        options.vfs = disk.vfs
        try await Shop.open(
            environments: [.production], ledger: options, change: { $0.delivery.order = order }, line: AppleProxy(),
            store: .production
        ) { shop in try await journey(shop, disk) }
    }

    /// A purchase at each source.
    private static func sources(of shop: Shop) async throws -> [Source] {
        let notification = try await shop.notification(of: try await shop.openOrder(as: "ann"))
        let proof = try await shop.pay(token: try await shop.openOrder(as: "ann"))
        let receipt = try await shop.pay(token: try await shop.openOrder(as: "ann"), account: "r")
        let posted = try await shop.pay(token: try await shop.openOrder(as: "ann"), account: "p")
        let restored = try await shop.pay("com.example.learn.pro", token: nil)
        let (stray, numbered) = (try await shop.pay(token: nil), try await shop.pay(token: nil))
        _ = try await shop.submit(stray.signed, as: .user("ben"))
        let number = try await shop.ask(.get, "/emulator/transactions/\(numbered.id)")["orderId"]
        let product = JSONValue.string(Shop.points60)
        return [
            Source(name: "proof", target: "/v1/transactions", body: ["signedTransaction": .string(proof.signed)]),
            Source(
                name: "receipt", target: "/v1/transactions",
                body: [
                    "receipt": .string(receipt.receipt), "transactionId": .string(receipt.id), "productId": product,
                ]),
            Source(
                name: "postPay", target: "/postPay/ios",
                body: [
                    "token": .string(UserToken.hs256(subject: "ann", expires: shop.time.now.seconds + 600)),
                    "receipt-data": .string(posted.receipt), "product_id": product,
                    "transaction_id": .string(posted.id),
                ], party: .anonymous),
            Source(
                name: "notification", target: "/v1/notifications/apple",
                body: ["signedPayload": .string(notification)], party: .anonymous),
            Source(name: "restore", target: "/v1/restores", body: ["signedTransactions": [.string(restored.signed)]]),
            Source(name: "claim", target: "/v1/users/ann/claims", body: ["orderNumber": number]),
            Source(
                name: "operator", target: "/v1/quarantine/\(stray.id)/claims",
                body: ["userId": "ann", "reason": "r", "operator": "li"], party: .backend),
        ]
    }

    private static func expectUnavailable(_ reply: Reply, _ story: String) {
        #expect(reply.status == 503 && reply.code == "unavailable", "\(story): \(reply.body)")
        #expect(Int(reply.headers["Retry-After"] ?? "").map { $0 > 0 } == true, "\(story)")
    }

    @Test(
        "Full, read-only or failing: each source answers try again, and then everything is granted once (U1, P6)",
        arguments: DiskFaultJourneys.Trouble.allCases)
    func trouble(_ trouble: DiskFaultJourneys.Trouble) async throws {
        try await Self.open { shop, disk in
            let sources = try await Self.sources(of: shop)
            let grants = try await shop.grantCount()
            trouble.strike(disk)
            for source in sources { Self.expectUnavailable(try await source.knock(shop), source.name) }
            DiskFaultJourneys.Trouble.end(disk)
            #expect(try await shop.send(.get, "/readyz", as: .anonymous).status == 200)
            #expect(try await shop.grantCount() == grants)
            for source in sources + sources {
                let reply = try await source.knock(shop)
                #expect(reply.status == 200, "\(source.name): \(reply.body)")
            }
            #expect(try await shop.grantCount() == grants + Int64(sources.count))
            #expect(try await shop.points(of: "ann", environment: "production") == 360)
        }
    }

    @Test("With the saved-first delivery, a proof that was not saved is never reported as saved (G4)")
    func savedFirst() async throws {
        try await Self.open(.saveThenFinish) { shop, disk in
            let sources = try await Self.sources(of: shop).filter { $0.target == "/v1/transactions" }
            #expect(sources.count == 2)
            DiskFaultJourneys.Trouble.full.strike(disk)
            for source in sources { Self.expectUnavailable(try await source.knock(shop), source.name) }
            DiskFaultJourneys.Trouble.end(disk)
            _ = try await shop.send(.get, "/readyz", as: .anonymous)
            for source in sources {
                let reply = try await source.knock(shop)
                #expect(reply.status == 202 && reply["finish"] == true, "\(source.name): \(reply.body)")
            }
        }
    }

    @Test("A ledger that is closed, or accepts no more waiting calls, is 503 at each source too (U1)")
    func closedAndBusy() async throws {
        try await Self.open { shop, _ in
            let sources = try await Self.sources(of: shop)
            for kind in [DatabaseError.Kind.busy, .closed] {
                let server = try Server(
                    configuration: shop.server.configuration, database: RefusingDatabase(shop.ledger, kind),
                    clock: { shop.time.now }, entropy: RandomBytes.make)
                for source in sources where source.name != "claim" {
                    let reply = try await Reply(
                        server.respond(to: shop.made(.post, source.target, source.body, as: source.party)))
                    Self.expectUnavailable(reply, "\(source.name), \(kind)")
                }
            }
        }
    }
}

/// Reads normally, and refuses every write.
private struct RefusingDatabase: Database {
    let ledger: any Database
    let kind: DatabaseError.Kind

    init(_ ledger: any Database, _ kind: DatabaseError.Kind) {
        self.ledger = ledger
        self.kind = kind
    }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        throw DatabaseError(kind, "nothing is taken")
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        try await ledger.read(body)
    }

    func close() async {}
}
