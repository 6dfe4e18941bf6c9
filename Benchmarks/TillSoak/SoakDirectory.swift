import Foundation
import TillCrypto
import TillJSON
import TillTestDatabases

/// The directories of a soak: one for the server, one for the store, one for each phone. Nothing in them is deleted, so
/// that findings can be investigated.
struct SoakDirectory: Sendable {
    let root: URL
    let programs: URL

    init(_ path: String, programs: String) throws {
        root = URL(fileURLWithPath: path, isDirectory: true)
        self.programs = URL(fileURLWithPath: programs, isDirectory: true)
        guard !FileManager.default.fileExists(atPath: server.path) else {
            throw SoakError("\(path) holds an earlier soak; give another directory")
        }
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        for directory in [server, store, phones] {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
        for name in ["till", "learnpoints"]
        where !FileManager.default.isExecutableFile(atPath: self.programs.appendingPathComponent(name).path) {
            throw SoakError("\(programs) has no program \(name)")
        }
    }

    var server: URL { root.appendingPathComponent("server", isDirectory: true) }
    var store: URL { root.appendingPathComponent("store", isDirectory: true) }
    var phones: URL { root.appendingPathComponent("phones", isDirectory: true) }
    var till: String { programs.appendingPathComponent("till").path }
    var app: String { programs.appendingPathComponent("learnpoints").path }
    var configuration: URL { server.appendingPathComponent("till.json") }
    /// Contains the key of the app's backend, for commands that call the running server.
    var secretKey: URL { server.appendingPathComponent("secret.key") }

    /// The cluster on which the ledger is; nil for one in a file.
    func makeCluster(for database: LedgerDatabase) throws -> PostgresCluster? {
        guard database == .postgres else { return nil }
        // PostgreSQL runs as another user than root, and has to reach its own folder in here.
        try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: root.path)
        return try PostgresCluster(in: root.appendingPathComponent("database", isDirectory: true).path)
    }

    /// Where the server makes its ledger.
    func ledger(on cluster: PostgresCluster?) throws -> LedgerPlace {
        try cluster.map { try LedgerPlace(in: $0) } ?? LedgerPlace(.sqlite, in: server)
    }

    // MARK: The server's files

    struct Keys: Sendable {
        let secretKey: String
        let userTokenSecret: String

        /// An HS256 user token, as the app's backend would issue it.
        func token(of user: String, hours: Int64 = 24) -> String {
            let header = Base64.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8), .url)
            let expires = Int64(Date().timeIntervalSince1970) + hours * 3_600
            let claims: JSONValue = ["sub": .string(user), "exp": .int(expires)]
            let message = "\(header).\(Base64.encode(Array(claims.encoded().utf8), .url))"
            let code = HMACSHA256.code(for: message.utf8, key: userTokenSecret.utf8)
            return "\(message).\(Base64.encode(code, .url))"
        }
    }

    /// Runs `till init`, then configures the server for this ledger and this store: its root, its key, its address.
    func initialize(
        _ ledger: LedgerPlace, serverPort: UInt16, store url: String, root certificate: [UInt8], appleKey: JSONValue
    ) async throws -> Keys {
        let log = server.appendingPathComponent("init.log")
        let child = try Child(till, ["init", server.path, "--json"], log: log)
        guard await child.end() == .exit(0), let made = try? JSONValue(decoding: child.output),
            let key = made["secretKey"]?.string
        else { throw SoakError("till init failed: \(child.output)") }
        let secret = try String(contentsOf: server.appendingPathComponent("user-token.secret"), encoding: .utf8)
            .trimmingCharacters(in: .newlines)
        func write(_ name: String, _ bytes: [UInt8]) throws {
            try Data(bytes).write(to: server.appendingPathComponent(name))
        }
        try write(secretKey.lastPathComponent, Array(key.utf8))
        try write("root.cer", certificate)
        try write("apple.p8", Array((appleKey["privateKey"]?.string ?? "").utf8))
        try write("catalog.json", Array(SoakCatalog.catalog.encoded(pretty: true).utf8))
        var settings = try JSONValue(decoding: try Data(contentsOf: configuration)).object ?? [:]
        settings["database"] = .string(ledger.address)
        settings["listen"] = .string("127.0.0.1:\(serverPort)")
        settings["apple"] = [
            "bundleId": .string(SoakCatalog.bundleID), "environments": ["Sandbox"], "roots": ["root.cer"],
            "issuerId": appleKey["issuerId"] ?? .null, "keyId": appleKey["keyId"] ?? .null,
            "privateKeyFile": "apple.p8",
            "emulator": .string(url),
        ]
        try write("till.json", Array(JSONValue.object(settings).encoded(pretty: true).utf8))
        return Keys(secretKey: key, userTokenSecret: secret)
    }

    /// A free port below 32768, from where Linux assigns ports to clients.
    static func freePort(_ random: inout SeededRandom) throws -> UInt16 {
        for _ in 0..<200 {
            let port = UInt16.random(in: 20_000..<32_000, using: &random)
            let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            guard socket >= 0 else { throw SoakError("no socket: error \(errno)") }
            defer { close(socket) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if bound == 0 { return port }
        }
        throw SoakError("no free port")
    }
}
