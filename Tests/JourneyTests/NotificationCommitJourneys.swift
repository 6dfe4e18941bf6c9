import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillSQL
import TillServer
import TillThreads

@Suite("A notification and its purchase are one commit") struct NotificationCommitJourneys {
    @Test("It is stored and processed by one write, and a repetition changes nothing")
    func oneWrite() async throws {
        try await World.open { world in
            let before = world.database.writes
            try await world.post(expecting: 200..<201)
            #expect(world.database.writes == before + 1)
            #expect(try await world.states() == [.processed])
            #expect(try await world.shop.points(of: "u1") == 60)
            try await world.post(expecting: 200..<201)
            #expect(try await world.states() == [.processed])
            #expect(try await world.shop.grantCount() == 1)
        }
    }

    @Test("If its purchase can't be recorded it is stored all the same, answered 200, and processed later")
    func storedAlone() async throws {
        try await World.open { world in
            world.database.fail(with: DatabaseError(.other, "planted"))
            try await world.post(expecting: 200..<201)
            #expect(try await world.states() == [.pending])
            #expect(try await world.shop.grantCount() == 0)
            world.database.fail(with: nil)
            #expect(try await PendingNotifications(world.server.ledger).processAll() == 1)
            #expect(try await world.states() == [.processed])
            #expect(try await world.shop.points(of: "u1") == 60)
        }
    }

    @Test("If the commit's outcome is unknown Apple has to send it again, and then it counts once")
    func inDoubt() async throws {
        try await World.open { world in
            world.database.fail(with: DatabaseError(.other, "planted", mayHaveCommitted: true))
            try await world.post(expecting: 500..<600)
            world.database.fail(with: nil)
            try await world.post(expecting: 200..<201)
            #expect(try await world.states() == [.processed])
            #expect(try await world.shop.grantCount() == 1)
        }
    }

    private struct World {
        let shop: Shop
        let server: Server
        let database: FailingDatabase
        let payload: String

        static func open(_ use: (World) async throws -> Void) async throws {
            try await Shop.open { shop in
                let payload = try await NotificationJourneys.notification(shop, RequestRecorder())
                let database = FailingDatabase(shop.ledger)
                let server = try Server(
                    configuration: shop.server.configuration, database: database,
                    clock: { [time = shop.time] in time.now }, entropy: RandomBytes.make)
                // The first purchase would record the catalogue in a commit of its own.
                try await server.ledger.recordCatalog()
                try await use(World(shop: shop, server: server, database: database, payload: payload))
            }
        }

        func post(expecting statuses: Range<Int>) async throws {
            let body: JSONValue = ["signedPayload": .string(payload)]
            let request = HTTPRequest(
                method: .post, path: "/v1/notifications/apple",
                headers: HTTPHeaders([(name: "Content-Type", value: "application/json")]),
                body: Array(body.encoded().utf8))
            let response = await server.respond(to: request)
            #expect(statuses.contains(response.status))
        }

        func states() async throws -> [NotificationTable.State?] {
            try await shop.ledger.read { connection in
                try connection.query("SELECT state FROM notifications ORDER BY row_id", []) {
                    NotificationTable.State(rawValue: $0.integer("state"))
                }
            }
        }
    }
}

/// A database that counts its writes, and whose writes that begin with queries, as a purchase's do, fail on demand.
private struct FailingDatabase: Database {
    private struct State {
        var writes = 0
        var error: DatabaseError?
    }

    let base: any Database
    private let state = Locked(State())

    init(_ base: any Database) { self.base = base }

    var isShared: Bool { base.isShared }
    var writes: Int { state.withLock { $0.writes } }

    func fail(with error: DatabaseError?) { state.withLock { $0.error = error } }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        state.withLock { $0.writes += 1 }
        return try await base.write(locking: keys(), body)
    }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], reading statements: @escaping @Sendable () throws -> [Statement],
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        let error = state.withLock { state in
            state.writes += 1
            return state.error
        }
        if let error {
            _ = try? await base.write(locking: keys(), reading: statements) { connection -> Value in
                _ = try body(connection)
                throw error
            }
            throw error
        }
        return try await base.write(locking: keys(), reading: statements, body)
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        try await base.read(body)
    }

    func close() async { await base.close() }
}
