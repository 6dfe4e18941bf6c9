import Foundation
import Testing
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillServer

@testable import till

/// An installation on its own files: the emulated store with its API key, a server and a webhook receiver, each on a
/// socket, and a doctor that examines them.
final class DoctorShop {
    let folder: URL
    let store: RunningEmulator
    private(set) var server: RunningServer?
    private let receiver: Listener
    private let process: ProcessEffects
    private var jobs: [Task<Void, Never>] = []
    private let fetch: Fetch
    /// The members of the configuration file.
    var members: [String: JSONValue] = [:]

    var storeURL: String { "http://127.0.0.1:\(store.port)" }
    var serverURL: String { "http://127.0.0.1:\(server?.port ?? 1)" }
    var configurationFile: String { folder.appendingPathComponent("till.json").path }

    /// - Parameters:
    ///   - prepare: changes the configuration before the server starts.
    ///   - serves: whether a server runs.
    static func open(
        serves: Bool = true, _ prepare: (DoctorShop) -> Void = { _ in },
        _ journey: (DoctorShop) async throws -> Void
    ) async throws {
        let shop = try await DoctorShop()
        do {
            prepare(shop)
            try shop.write()
            if serves { try await shop.start() }
            try await journey(shop)
        } catch {
            await shop.close()
            throw error
        }
        await shop.close()
    }

    private init() async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-doctor-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        process = ProcessEffects(
            console: Console(out: { _ in }, error: { _ in }, input: { _ in [] }), environment: [:],
            clock: { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) }, entropy: RandomBytes.make,
            waitForStop: { {} })
        fetch = try Fetch()
        var selling = EmulatorConfiguration()
        selling.app = EmulatedApp(bundleID: Shop.bundleID)
        selling.products = Shop.sampleProducts
        store = try await RunningEmulator(selling, directory: folder.path, port: 0, process: process)
        receiver = try Listener(bodyLimit: { _, _ in 1 << 20 }) { request in
            HTTPResponse(status: request.path == "/broken" ? 503 : request.method == .post ? 204 : 405)
        }
        let running = store
        jobs.append(Task { await running.runJobs() })
        try await fill()
    }

    private func fill() async throws {
        let key = try await ask(.get, storeURL + "/emulator/api-key")
        func text(_ name: String) -> String { key[name]?.string ?? "" }
        try write("key.p8", text("privateKey"))
        try write("root.cer", store.emulator.issuer.rootCertificate)
        let hash = { (text: String) in hexadecimal(Digest.sha256.hash(text.utf8)) }
        try write(
            "catalog.json",
            Array(
                """
                {"products": [{"id": "\(Shop.points60)", "type": "Consumable", "names": {"en": "60", "zh": "60"},
                  "price": {"amount": 600, "currency": "CNY"}, "points": {"points": 60}}]}
                """.utf8))
        members = [
            "listen": "127.0.0.1:0", "database": "sqlite:till.db", "catalog": "catalog.json",
            "apple": [
                "bundleId": .string(Shop.bundleID), "environments": ["Sandbox"], "roots": ["root.cer"],
                "issuerId": .string(text("issuerId")), "keyId": .string(text("keyId")), "privateKeyFile": "key.p8",
                "emulator": .string(storeURL),
            ],
            "secretKeys": [["id": "backend", "sha256": .string(hash(Shop.secretKey))]],
            "operators": [["id": "mei", "sha256": .string(hash("op"))]],
            "userTokens": [
                [
                    "id": "app", "algorithm": "HS256", "maximumLifetime": 86_400,
                    "secret": .string("kX9mQ2vL7pR4tY8wZ3nB6jH1dF5gS0aC"),
                ]
            ],
            "webhooks": ["allowPrivate": true, "endpoints": [endpoint("backend", "/")]],
        ]
    }

    /// An endpoint at the receiver; `/broken` answers 503.
    func endpoint(_ id: String, _ path: String, port: UInt16? = nil, scheme: String = "http") -> JSONValue {
        [
            "id": .string(id), "url": .string("\(scheme)://127.0.0.1:\(port ?? receiver.port)\(path)"),
            "secret": .string("whsec_" + Base64.encode(Array(repeating: 7, count: 32))),
        ]
    }

    func setApple(_ name: String, _ value: JSONValue) {
        var apple = members["apple"]?.object ?? [:]
        apple[name] = value
        members["apple"] = .object(apple)
    }

    func setWebhooks(_ endpoints: [JSONValue], allowPrivate: Bool = true) {
        members["webhooks"] = ["allowPrivate": .bool(allowPrivate), "endpoints": .array(endpoints)]
    }

    // MARK: Files

    private func write(_ name: String, _ text: String) throws { try write(name, Array(text.utf8)) }

    private func write(_ name: String, _ content: [UInt8]) throws {
        let file = folder.appendingPathComponent(name)
        try Data(content).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }

    func write() throws { try write("till.json", JSONValue.object(members).encoded()) }

    /// - Parameter listen: nil: the running server's address.
    func configuration(listen: String? = nil) throws -> Configuration {
        let address = listen ?? server.map { "127.0.0.1:\($0.port)" } ?? "127.0.0.1:1"
        return try Configuration.load(file: configurationFile, flags: [.listen: address])
    }

    // MARK: Running

    func start() async throws {
        let running = try await RunningServer(try configuration(listen: "127.0.0.1:0"), process: process)
        server = running
        jobs.append(Task { await running.runJobs() })
        try await setNotificationURL(serverURL + "/v1/notifications/apple")
    }

    func stop() async {
        await server?.stop(.demo)
        server = nil
    }

    private func close() async {
        for job in jobs { job.cancel() }
        await stop()
        await store.stop()
        await receiver.stop(grace: 1)
        fetch.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    func setNotificationURL(_ url: String?) async throws {
        _ = try await ask(.put, storeURL + "/emulator/notifications", ["url": url.map { .string($0) } ?? .null])
    }

    func advanceClock(_ span: String) async throws {
        _ = try await ask(.post, storeURL + "/emulator/clock", ["advance": .string(span)])
    }

    @discardableResult
    func ask(_ method: HTTPMethod, _ url: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        var headers = HTTPHeaders([("Authorization", "Bearer \(Shop.secretKey)")])
        if body != nil { headers.add("Content-Type", "application/json") }
        let response = try await fetch.send(
            url,
            HTTPRequest(
                method: method, path: "", headers: headers, body: body.map { Array($0.encoded().utf8) } ?? []))
        try #require((200..<300).contains(response.status), "\(String(decoding: response.body, as: UTF8.self))")
        return try JSONValue(decoding: response.body)
    }

    // MARK: Examining

    func examine(
        _ configuration: Configuration? = nil, effects: Doctor.Effects = Doctor.Effects(),
        _ change: (inout Doctor) -> Void = { _ in }
    ) async throws -> Findings {
        var doctor = try Doctor(try configuration ?? self.configuration(), process: process, effects: effects)
        doctor.configurationFile = configurationFile
        doctor.effects.notificationPatience = 4_000
        change(&doctor)
        return Findings(checks: await doctor.run())
    }

    /// What a doctor found.
    struct Findings {
        let checks: [DoctorCheck]

        subscript(name: DoctorCheck.Name) -> [DoctorCheck] { checks.filter { $0.name == name } }

        /// Names with that status.
        func names(_ status: DoctorCheck.Status) -> Set<String> {
            Set(checks.filter { $0.status == status }.map(\.name.rawValue))
        }
    }
}

/// Expects a finding whose sentences contain these parts in both languages, with something to do unless it is well.
func expect(
    _ found: DoctorShop.Findings, _ name: DoctorCheck.Name, _ status: DoctorCheck.Status, en: String, zh: String,
    action: String = "", sourceLocation: SourceLocation = #_sourceLocation
) {
    let match = found[name].first {
        $0.status == status && $0.detail.en.contains(en) && $0.detail.zh.contains(zh)
    }
    let all = found[name].map { ($0.status, $0.detail, $0.action) }
    #expect(match != nil, "\(all)", sourceLocation: sourceLocation)
    guard let match else { return }
    #expect(match.action.en.isEmpty == (status == .ok), sourceLocation: sourceLocation)
    #expect(match.action.zh.isEmpty == (status == .ok), sourceLocation: sourceLocation)
    #expect(action.isEmpty || match.action.en.contains(action), "\(match.action)", sourceLocation: sourceLocation)
}
