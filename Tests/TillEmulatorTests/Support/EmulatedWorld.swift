import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillSQLite
import TillThreads

@testable import TillEmulator

/// An emulator in process, on a store in a temporary directory, with a clock that a test advances and a server whose
/// answers a test sets.
final class EmulatedWorld: Sendable {
    struct Received: Sendable {
        var url: String
        var signedPayload: String
    }

    let directory: URL
    let database: SQLiteDatabase
    let emulator: Emulator
    private let time: Locked<Instant>
    private let received: Locked<[Received]>
    private let answer: Locked<@Sendable (Int) throws(HTTPError) -> Int>

    /// RSA keys are slow to generate, so all worlds of a run share them.
    static let keys: [String: String] = Dictionary(
        uniqueKeysWithValues: ["receiptIntermediate", "receiptSigner"].compactMap { name in
            (try? PrivateKey.generate(.rsa2048).pem()).map { (name, $0) }
        })

    /// 2026-03-01T08:30:00.123Z.
    static let start = Instant(milliseconds: 1_772_353_800_123)

    init(
        _ configuration: EmulatorConfiguration = EmulatorConfiguration(), directory: URL? = nil,
        start: Instant = EmulatedWorld.start
    ) async throws {
        let directory =
            directory
            ?? FileManager.default.temporaryDirectory
            .appendingPathComponent("till-emulator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        var configuration = configuration
        configuration.keys.merge(Self.keys) { own, _ in own }
        let time = Locked(start)
        let received = Locked<[Received]>([])
        let answer = Locked<@Sendable (Int) throws(HTTPError) -> Int>({ _ in 200 })
        self.directory = directory
        database = try Emulator.openDatabase(path: directory.appendingPathComponent("emulator.sqlite").path)
        emulator = try await Emulator(
            configuration: configuration, database: database, clock: { time.withLock { $0 } },
            entropy: { RandomBytes.make($0) },
            send: { url, request throws(HTTPError) in
                let payload = try? JSONValue(decoding: request.body)["signedPayload"]?.string
                let count = received.withLock { list in
                    list.append(Received(url: url, signedPayload: payload ?? ""))
                    return list.count
                }
                return HTTPResponse(status: try answer.withLock { $0 }(count))
            })
        self.time = time
        self.received = received
        self.answer = answer
    }

    var now: Instant { time.withLock { $0 } }
    var notifications: [Received] { received.withLock { $0 } }
    func advance(seconds: Int64) { time.withLock { $0 = $0.adding(seconds: seconds) } }

    /// Sets the answer of the developer's server to its n-th notification, counted from 1.
    func answerNotifications(_ status: @escaping @Sendable (Int) throws(HTTPError) -> Int) {
        answer.withLock { $0 = status }
    }

    /// Closes the database, so that another emulator can open the same directory.
    func close() async { await database.close() }

    func remove() async {
        await close()
        try? FileManager.default.removeItem(at: directory)
    }

    // MARK: Requests

    func ask(
        _ method: HTTPMethod, _ path: String, query: [(name: String, value: String)] = [], _ body: JSONValue? = nil,
        headers: [(name: String, value: String)] = []
    ) async -> (status: Int, json: JSONValue, response: HTTPResponse) {
        let request = HTTPRequest(
            method: method, path: path, query: query, headers: HTTPHeaders(headers),
            body: body.map { Array($0.encoded().utf8) } ?? [])
        let response = await emulator.respond(to: request)
        return (response.status, (try? JSONValue(decoding: response.body)) ?? .null, response)
    }

    /// Buys in the sample app, and expects success.
    func buy(_ product: String = "points60", _ more: [String: JSONValue] = [:]) async throws -> JSONValue {
        var body: [String: JSONValue] = [
            "bundleId": "com.example.learnpoints", "productId": .string("com.example.learnpoints.\(product)"),
        ]
        body.merge(more) { _, new in new }
        let answer = await ask(.post, "/emulator/purchases", .object(body))
        try #require(answer.status == 200, "\(answer.json.encoded())")
        return answer.json
    }
}

/// The payload of a compact token, unverified.
func payload(of token: String?) throws -> JSONValue {
    let parsed = try #require(CompactToken(token ?? ""))
    return try JSONValue(decoding: parsed.payload)
}

/// Runs a command and waits for it.
func run(_ arguments: [String], in directory: URL? = nil) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    if let directory { process.currentDirectoryURL = directory }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
}
