import Foundation
import Glibc
import Testing
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillSQLite
import TillThreads

/// `till serve` as its own process, on files made for one test, and an emulated App Store in the test's process whose
/// root it trusts.
final class ServerProcess: Sendable {
    let folder: URL
    let emulator: Emulator
    private let storeFile: SQLiteDatabase
    private let fetch: Fetch
    private let started = Locked<[TillProcess]>([])
    /// Processes to which others handed over.
    private let successors = Locked<[Int32]>([])

    var configurationFile: String { folder.appendingPathComponent("till.json").path }
    var ledgerFile: String { folder.appendingPathComponent("till.db").path }

    private init(folder: URL, emulator: Emulator, storeFile: SQLiteDatabase, fetch: Fetch) {
        self.folder = folder
        self.emulator = emulator
        self.storeFile = storeFile
        self.fetch = fetch
    }

    /// Creates the files and the store, runs the journey, and removes everything again. No process is started yet.
    static func withFiles(_ journey: (ServerProcess) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-serve-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var store = EmulatorConfiguration()
        store.app = EmulatedApp(bundleID: Shop.bundleID)
        store.products = Shop.sampleProducts
        store.keys = Shop.receiptKeys
        let storeFile = try Emulator.openDatabase(path: folder.appendingPathComponent("store.db").path)
        let emulator = try await Emulator(
            configuration: store, database: storeFile,
            clock: { Instant(seconds: Int64(Date().timeIntervalSince1970)) }, entropy: RandomBytes.make,
            send: { _, _ async throws(HTTPError) in throw HTTPError(.cannotConnect, "no server listens") })
        let server = ServerProcess(
            folder: folder, emulator: emulator, storeFile: storeFile, fetch: try Fetch())
        try server.writeFiles()
        do {
            try await journey(server)
        } catch {
            await server.close()
            throw error
        }
        await server.close()
    }

    private func close() async {
        // A journey that failed half-way leaves no server running.
        for process in started.withLock({ $0 }) { process.abandon() }
        for id in successors.withLock({ $0 }) where isServer(id) { kill(id, SIGKILL) }
        fetch.stop()
        await storeFile.close()
    }

    private func writeFiles() throws {
        func write(_ name: String, _ text: String) throws {
            try Data(text.utf8).write(to: folder.appendingPathComponent(name))
        }
        let hash = Digest.sha256.hash(Shop.secretKey.utf8).map { String(format: "%02x", $0) }.joined()
        try write("root.pem", Self.pem(emulator.issuer.rootCertificate))
        try write("user-token.secret", String(decoding: Shop.tokenSecret, as: UTF8.self))
        let secret = folder.appendingPathComponent("user-token.secret").path
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret)
        try write(
            "catalog.json",
            """
            {"products": [{"id": "\(Shop.points60)", "type": "Consumable", "names": {"en": "60 points", "zh": "60 学点"},
              "price": {"amount": 600, "currency": "CNY"}, "points": {"points": 60}}]}
            """)
        try write(
            "till.json",
            """
            {"listen": "127.0.0.1:0", "database": "sqlite:till.db", "catalog": "catalog.json",
              "apple": {"bundleId": "\(Shop.bundleID)", "environments": ["Sandbox"], "roots": ["root.pem"]},
              "drain": {"lameDuckMilliseconds": 1},
              "secretKeys": [{"id": "backend", "sha256": "\(hash)"}],
              "userTokens": [{"id": "app", "algorithm": "HS256", "secretFile": "user-token.secret"}]}
            """)
    }

    /// Adds a section to the configuration, before the server starts.
    func configure(_ section: String, _ value: JSONValue) throws {
        let file = URL(fileURLWithPath: configurationFile)
        var members = try JSONValue(decoding: Array(Data(contentsOf: file))).object ?? [:]
        members[section] = value
        try Data(JSONValue.object(members).encoded().utf8).write(to: file)
    }

    private static func pem(_ der: [UInt8]) -> String {
        "-----BEGIN CERTIFICATE-----\n\(Base64.encode(der))\n-----END CERTIFICATE-----\n"
    }

    // MARK: The process

    /// Starts `till serve` and waits until it listens.
    ///
    /// - Parameters:
    ///   - program: the path of a program that stands for `till`.
    ///   - readsErrors: false lets its stderr fill up.
    func start(
        _ more: [String] = [], program: String? = nil, readsErrors: Bool = true
    ) async throws -> (process: TillProcess, port: UInt16) {
        try await listening(
            TillProcess.start(
                ["serve", "--config", configurationFile, "--json"] + more, executable: program,
                readsErrors: readsErrors))
    }

    /// Starts `till serve` on a socket that the test holds, as a service manager does.
    func start(on socket: Int32) async throws -> (process: TillProcess, port: UInt16) {
        // The shell becomes the server, so its own id is the one that `LISTEN_PID` has to name.
        let launcher = #"LISTEN_FDS=1 LISTEN_FDNAMES=till.socket LISTEN_PID=$$ exec "$0" "$@""#
        return try await listening(
            TillProcess.start(
                ["-c", launcher, TillProcess.executable.path, "serve", "--config", configurationFile, "--json"],
                executable: "/bin/sh", socket: socket))
    }

    /// Waits until another process says that it listens in place of `process`.
    func nextProcess(of process: TillProcess) async throws -> (id: Int32, port: UInt16) {
        for await line in process.lines {
            let said = try JSONValue(decoding: line)
            let id = Int32(try #require(said["pid"]?.int))
            guard id != process.id else { continue }
            successors.withLock { $0.append(id) }
            return (id, try #require(UInt16(said.at("listening").text.split(separator: ":").last ?? "")))
        }
        throw Failed(complaint: process.complaints)
    }

    /// Whether a process id is still a server of this test's configuration.
    private func isServer(_ id: Int32) -> Bool {
        let arguments = (try? String(contentsOfFile: "/proc/\(id)/cmdline", encoding: .utf8)) ?? ""
        return arguments.contains(configurationFile)
    }

    private func listening(_ process: TillProcess) async throws -> (process: TillProcess, port: UInt16) {
        started.withLock { $0.append(process) }
        for await line in process.lines {
            let address = try JSONValue(decoding: line).at("listening").text
            let port = try #require(UInt16(address.split(separator: ":").last ?? ""), "\(line)")
            return (process, port)
        }
        throw Failed(complaint: process.complaints)
    }

    struct Failed: Error {
        let complaint: String
    }

    // MARK: Requests

    func send(
        _ port: UInt16, _ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil, as party: Party = .backend
    ) async throws -> Reply {
        var headers = HTTPHeaders(body == nil ? [] : [(name: "Content-Type", value: "application/json")])
        let now = Instant(seconds: Int64(Date().timeIntervalSince1970))
        if let authorization = party.authorization(now: now) { headers.add("Authorization", authorization) }
        return try Reply(
            await fetch.send(
                "http://127.0.0.1:\(port)\(path)",
                HTTPRequest(
                    method: method, path: "", headers: headers, body: body.map { Array($0.encoded().utf8) } ?? [])))
    }

    /// A payment in the emulated store.
    func pay(token: OrderID?) async throws -> Payment {
        var body: [String: JSONValue] = [
            "bundleId": .string(Shop.bundleID), "productId": .string(Shop.points60), "receipt": false,
        ]
        if let token { body["appAccountToken"] = .string(token.description) }
        let response = await emulator.respond(
            to: HTTPRequest(
                method: .post, path: "/emulator/purchases", body: Array(JSONValue.object(body).encoded().utf8)))
        let reply = try Reply(response)
        try #require(reply.status == 200)
        return Payment(id: reply["transactionId"].text, signed: reply["signedTransaction"].text, receipt: "")
    }

    /// One purchase from order to points, for a user without earlier purchases.
    func buy(_ port: UInt16, as user: String) async throws {
        let opened = try await send(port, .post, "/v1/orders", ["productId": .string(Shop.points60)], as: .user(user))
        #expect(opened.status == 201)
        let order = try #require(UniqueID(opened["id"].text))
        let proof = try await pay(token: order).signed
        let reply = try await send(
            port, .post, "/v1/transactions", ["signedTransaction": .string(proof)], as: .user(user))
        #expect(reply["outcome"].text == "granted")
        #expect(try await send(port, .get, "/v1/users/\(user)/wallet")["balances"].at("points").int == 60)
    }
}
