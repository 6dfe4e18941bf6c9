import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillSQLite
import TillThreads

@testable import TillEmulator

/// An emulator whose given clock a test advances, with a developer's server that may call the emulator while it handles
/// a notification.
final class TimedWorld: Sendable {
    /// One attempt, as recorded by the server.
    struct Attempt: Sendable, Hashable {
        var type: String
        var signedPayload: String
        /// The store's time at that moment.
        var at: Instant
    }

    /// The server's action for a notification, and the status it answers.
    typealias Handler = @Sendable (TimedWorld, _ payload: JSONValue) async throws(HTTPError) -> Int

    let directory: URL
    let database: SQLiteDatabase
    let time: Locked<Instant>
    private let running: Locked<Emulator?>
    private let received = Locked<[Attempt]>([])
    private let handler: Locked<Handler>

    init(
        _ configuration: EmulatorConfiguration = TimedWorld.production, directory: URL? = nil,
        start: Instant = EmulatedWorld.start, seed: UInt64? = nil, handler: @escaping Handler = { _, _ in 200 }
    ) async throws {
        let directory =
            directory
            ?? FileManager.default.temporaryDirectory.appendingPathComponent("till-time-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        var configuration = configuration
        configuration.keys.merge(EmulatedWorld.keys) { own, _ in own }
        self.directory = directory
        database = try Emulator.openDatabase(path: directory.appendingPathComponent("emulator.sqlite").path)
        time = Locked(start)
        running = Locked(nil)
        self.handler = Locked(handler)
        let time = time
        let chance = seed.map { SeededEntropy($0) }
        let emulator = try await Emulator(
            configuration: configuration, database: database, clock: { time.withLock { $0 } },
            entropy: { chance?.bytes($0) ?? RandomBytes.make($0) },
            send: { [weak self] (_, request) async throws(HTTPError) -> HTTPResponse in
                guard let self else { throw HTTPError(.stopped, "the world is over") }
                return HTTPResponse(status: try await self.take(request))
            })
        running.withLock { $0 = emulator }
    }

    /// With Apple's retries.
    static var production: EmulatorConfiguration {
        var configuration = EmulatorConfiguration()
        configuration.environment = .production
        return configuration
    }

    var emulator: Emulator {
        get throws { try #require(running.withLock { $0 }) }
    }

    var attempts: [Attempt] { received.withLock { $0 } }

    func answer(_ handler: @escaping Handler) { self.handler.withLock { $0 = handler } }

    private func take(_ request: HTTPRequest) async throws(HTTPError) -> Int {
        guard let emulator = running.withLock({ $0 }),
            let text = try? JSONValue(decoding: request.body)["signedPayload"]?.string,
            let payload = try? payload(of: text)
        else { throw HTTPError(.other, "no notification") }
        let attempt = Attempt(
            type: payload["notificationType"]?.string ?? "", signedPayload: text, at: emulator.store.now)
        received.withLock { $0.append(attempt) }
        return try await handler.withLock { $0 }(self, payload)
    }

    func passes(_ milliseconds: Int64) { time.withLock { $0 = $0.adding(milliseconds: milliseconds) } }

    func close() async { await database.close() }

    func remove() async {
        await close()
        try? FileManager.default.removeItem(at: directory)
    }

    // MARK: Requests

    func ask(
        _ method: HTTPMethod, _ path: String, query: [(name: String, value: String)] = [], _ body: JSONValue? = nil
    ) async -> (status: Int, json: JSONValue) {
        guard let emulator = running.withLock({ $0 }) else { return (0, .null) }
        let request = HTTPRequest(
            method: method, path: path, query: query, body: body.map { Array($0.encoded().utf8) } ?? [])
        let response = await emulator.respond(to: request)
        return (response.status, (try? JSONValue(decoding: response.body)) ?? .null)
    }

    func tellServer() async {
        #expect(await ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"]).status == 200)
    }

    func advance(_ span: String) async -> (status: Int, json: JSONValue) {
        await ask(.post, "/emulator/clock", ["advance": .string(span)])
    }

    @discardableResult
    func buy(_ product: String = "points60", account: String = "default") async throws -> JSONValue {
        let answer = await ask(
            .post, "/emulator/purchases",
            [
                "bundleId": "com.example.learnpoints", "account": .string(account), "receipt": false,
                "productId": .string("com.example.learnpoints.\(product)"),
            ])
        try #require(answer.status == 200, "\(answer.json.encoded())")
        return answer.json
    }

    /// Schedules dates without a subject: nothing happens at them.
    func plan(_ subjects: [Int64: Instant]) async throws {
        try await database.write { connection in
            for (subject, date) in subjects { try Schedule.set(.subscription, subject, at: date, connection) }
        }
    }

    func planned() async throws -> [Int64] {
        try await database.read { try Schedule.upcoming(limit: 1_000, $0).map(\.subject) }
    }
}
