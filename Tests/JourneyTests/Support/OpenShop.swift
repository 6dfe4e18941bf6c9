import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import till

/// The shop that a demo keeps open, as its announcement describes it, for processes that buy there.
struct OpenShop: Sendable {
    let server: String
    let store: String
    /// The folder for the files of these buyers' phones.
    let folder: URL
    let fetch: Fetch
    private let secretKey: String
    private let tokenSecret: [UInt8]

    /// Runs a demo, and a journey in the shop that it keeps open.
    static func open(_ journey: (OpenShop) async throws -> Void) async throws {
        let demo = try TillProcess.start(["demo", "--json", "--port", "0", "--lang", "en"])
        defer { demo.abandon() }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-phones-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let announcement = try await demo.document()
        let shop = OpenShop(
            server: announcement.at("server").at("url").text, store: announcement.at("store").at("url").text,
            folder: folder, fetch: try Fetch(), secretKey: announcement.at("server").at("secretKey").text,
            tokenSecret: Array(announcement.at("server").at("userTokenSecret").text.utf8))
        try await journey(shop)
        demo.send(SIGTERM)
        #expect(await demo.end() == 0)
    }

    private init(
        server: String, store: String, folder: URL, fetch: Fetch, secretKey: String, tokenSecret: [UInt8]
    ) {
        self.server = server
        self.store = store
        self.folder = folder
        self.fetch = fetch
        self.secretKey = secretKey
        self.tokenSecret = tokenSecret
    }

    func token(of user: String) -> String {
        UserToken.hs256(
            subject: user, expires: Int64(Date().timeIntervalSince1970) + 600, secret: tokenSecret,
            extra: UserToken.guestClaim(user))
    }

    /// - Parameter server: a line to it, if not the server itself.
    func learnPoints(_ user: String, generation: Int, server: String? = nil) throws -> BuyerApp {
        BuyerApp(
            executable: try BuyerApp.found(), user: UserID(user), token: token(of: user),
            server: server ?? self.server, store: store, generation: generation,
            directory: folder.appendingPathComponent(user).path, language: .english,
            inherited: ProcessInfo.processInfo.environment)
    }

    /// Another example app, in its form for people: lines in, lines out.
    func start(_ program: String, as user: String, generation: Int = 2, language: String = "en") throws -> TillProcess {
        let directory = folder.appendingPathComponent("\(program)-\(user)").path
        let executable = TillProcess.executable.deletingLastPathComponent().appendingPathComponent(program).path
        let app = try learnPoints(user, generation: generation)
        let arguments = [
            "--server", server, "--user", user, "--token", token(of: user), "--directory", directory, "--storekit",
            String(generation), "--lang", language,
        ]
        let device = app.environment.filter { $0.key.hasPrefix("TILL_STORE") || $0.key.lowercased() == "no_proxy" }
        return try TillProcess.start(
            device.map { "\($0.key)=\($0.value)" } + [executable] + arguments, executable: "/usr/bin/env")
    }

    func turnOffNotifications() async throws {
        let reply = try await ask(.put, store + "/emulator/notifications", [:])
        #expect(reply.status == 200)
    }

    /// The outcome of later purchases by that Apple Account: `purchased`, `deferred`, …
    func setPaymentSheet(of account: String, _ outcome: String) async throws {
        let reply = try await ask(
            .put, store + "/emulator/accounts/\(account)", ["paymentSheet": .string(outcome)])
        #expect(reply.status == 200)
    }

    func points(of user: String) async throws -> Int64 {
        try await ask(.get, server + "/v1/users/\(user)/wallet")["balances"].at("points").int ?? 0
    }

    func status(of order: String) async throws -> String {
        try await ask(.get, server + "/v1/orders/\(order)")["status"].text
    }

    func ask(_ method: HTTPMethod, _ url: String, _ body: JSONValue? = nil) async throws -> Reply {
        let headers = HTTPHeaders([("Authorization", "Bearer \(secretKey)"), ("Content-Type", "application/json")])
        return try await Reply(
            fetch.send(
                url,
                HTTPRequest(
                    method: method, path: "", headers: headers, body: body.map { Array($0.encoded().utf8) } ?? [])))
    }
}
