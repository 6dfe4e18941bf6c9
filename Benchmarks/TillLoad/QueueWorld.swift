import Foundation
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillThreads

/// A server with an In-App Purchase Key that saves before it finishes, and its emulated store, both on 127.0.0.1.
final class QueueWorld: Sendable {
    struct Payment: Sendable {
        let id: String
        let signed: String
        let receipt: String
    }

    let port: UInt16
    private let url: String
    private let server: Locked<ServerProcess>
    private let emulator: Emulator
    private let listener: Listener
    private let fetch: Fetch
    private let directory: URL
    private let asked: Locked<Int>

    private static let secret = "a secret of the load's own, long enough"
    /// Milliseconds until the store answers, similar to Apple.
    private static let pause = 100

    init(till: String) async throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("till-queue-\(getpid())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        var configuration = EmulatorConfiguration()
        configuration.app = EmulatedApp(bundleID: LoadSet.bundleID)
        let store = try await Emulator(
            configuration: configuration,
            database: try Emulator.openDatabase(path: directory.appendingPathComponent("store.db").path),
            clock: { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) },
            entropy: RandomBytes.make,
            send: { _, _ throws(HTTPError) in throw HTTPError(.stopped, "no server listens") })
        emulator = store
        let asked = Locked(0)
        self.asked = asked
        listener = try Listener(
            configuration: ListenerConfiguration(), bodyLimit: store.router.bodyLimit(method:path:),
            handler: { request in
                if request.method == .get, request.path.contains("/transactions/") { asked.withLock { $0 += 1 } }
                try? await Task.sleep(for: .milliseconds(Self.pause))
                return await store.respond(to: request)
            })
        fetch = try Fetch(configuration: FetchConfiguration())
        let set = LoadSet(directory.path)
        try Data(store.issuer.rootCertificate).write(to: directory.appendingPathComponent("root.cer"))
        try Data(Self.catalog.utf8).write(to: directory.appendingPathComponent("catalog.json"))
        let key = await store.respond(to: HTTPRequest(method: .get, path: "/emulator/api-key"))
        try Data(try Self.settings(key.body, store: listener.port).encoded().utf8)
            .write(to: URL(fileURLWithPath: set.configuration))
        let server = try ServerProcess(till: till, set: set)
        url = try server.listening()
        self.server = Locked(server)
        guard let port = url.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw LoadError("no port in \(url)")
        }
        self.port = port
    }

    func close() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try server.withLock { try $0.stop() }
        await listener.stop(grace: 1)
        fetch.stop()
    }

    /// The number of transaction requests from the server to the store.
    var questions: Int { asked.withLock { $0 } }

    private static func settings(_ key: [UInt8], store port: UInt16) throws -> JSONValue {
        let key = try JSONValue(decoding: key)
        guard let issuer = key["issuerId"], let id = key["keyId"], let pem = key["privateKey"] else {
            throw LoadError("the store has no key")
        }
        let hash = Digest.sha256.hash(LoadSet.secretKey.utf8).map {
            String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
        }
        return [
            "listen": "127.0.0.1:0", "database": "sqlite:till.db", "catalog": "catalog.json",
            "apple": [
                "bundleId": .string(LoadSet.bundleID), "environments": ["Sandbox"], "roots": ["root.cer"],
                "issuerId": issuer, "keyId": id, "privateKey": pem, "emulator": .string("http://127.0.0.1:\(port)"),
            ],
            "secretKeys": [["id": "load", "sha256": .string(hash.joined())]],
            "userTokens": [["id": "app", "algorithm": "HS256", "secret": .string(secret)]],
            "delivery": ["order": "save-then-finish"],
        ]
    }

    private static let catalog = """
        {"products":[{"id":"\(LoadSet.productID)","type":"Consumable","names":{"en":"60 points","zh":"60 学点"},\
        "price":{"amount":600,"currency":"CNY"},"points":{"points":60}}]}
        """

    // MARK: Requests

    func pay(token: String) async throws -> Payment {
        let body = """
            {"bundleId":"\(LoadSet.bundleID)","productId":"\(LoadSet.productID)","appAccountToken":"\(token)",\
            "account":"\(token)"}
            """
        let answer = await emulator.respond(
            to: HTTPRequest(method: .post, path: "/emulator/purchases", body: Array(body.utf8)))
        guard answer.status == 200, let json = try? JSONValue(decoding: answer.body),
            let id = json["transactionId"]?.string, let signed = json["signedTransaction"]?.string,
            let receipt = json["receipt"]?.string
        else { throw LoadError("a purchase was answered \(answer.status)") }
        return Payment(id: id, signed: signed, receipt: receipt)
    }

    /// The status, and the JSON of the body.
    @discardableResult
    func post(_ path: String, _ body: String, as user: String) async -> (status: Int, body: JSONValue?) {
        await exchange(HTTPRequest(method: .post, path: "", headers: Self.headers(user), body: Array(body.utf8)), path)
    }

    private func exchange(_ request: HTTPRequest, _ path: String) async -> (status: Int, body: JSONValue?) {
        guard let response = try? await fetch.send(url + path, request) else { return (0, nil) }
        return (response.status, try? JSONValue(decoding: response.body))
    }

    private static func headers(_ user: String) -> HTTPHeaders {
        let header = Base64.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8), .url)
        let expires = Int(Date().timeIntervalSince1970) + 3_600
        let claims = Base64.encode(Array(#"{"sub":"\#(user)","exp":\#(expires)}"#.utf8), .url)
        let code = HMACSHA256.code(for: "\(header).\(claims)".utf8, key: Array(secret.utf8))
        return HTTPHeaders([
            (name: "Authorization", value: "Bearer \(header).\(claims).\(Base64.encode(code, .url))"),
            (name: "Content-Type", value: "application/json"),
        ])
    }

    /// Makes a purchase; returns the milliseconds from its proof to its grant.
    func buy() async throws -> Double {
        let user = "ann"
        let opened = await post("/v1/orders", #"{"productId":"\#(LoadSet.productID)"}"#, as: user)
        guard opened.status == 201, let order = opened.body?["id"]?.string else {
            throw LoadError("an order was answered \(opened.status)")
        }
        let payment = try await pay(token: order)
        let clock = ContinuousClock()
        let start = clock.now
        let told = await post("/v1/transactions", #"{"signedTransaction":"\#(payment.signed)"}"#, as: user)
        guard (200...202).contains(told.status) else { throw LoadError("a proof was answered \(told.status)") }
        let read = HTTPRequest(method: .get, path: "", headers: Self.headers(user))
        while clock.now - start < .seconds(120) {
            let answer = await exchange(read, "/v1/orders/\(order)")
            if answer.body?["status"]?.string == "completed" { return (clock.now - start) / .milliseconds(1) }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw LoadError("a purchase was not granted in two minutes")
    }
}
