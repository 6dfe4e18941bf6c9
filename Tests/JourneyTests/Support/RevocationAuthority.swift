import Foundation
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillServer
import TillThreads

/// An authority like Apple's whose certificates name an OCSP responder on this machine: a listener passes each request
/// to OpenSSL's command and returns its answer. OpenSSL always uses the machine's time, so a shop with this authority
/// uses it too.
final class RevocationAuthority: Sendable {
    /// The behavior of the responder.
    enum Conduct: Sendable {
        case honest
        case page(status: Int)
        case huge
        /// Never answers.
        case silent
    }

    private struct State {
        var conduct = Conduct.honest
        /// As the index of `openssl ocsp` writes it: revocation date and reason.
        var revocation: String?
        var questions: [String] = []
        var whenAsked: @Sendable () -> Void = {}
    }

    let folder: URL
    let time: TestClock
    let root: SigningIdentity
    private let intermediate: SigningIdentity
    let signer: SigningIdentity
    private let responders: [String: SigningIdentity]
    private let listener: Listener
    private let fetch: Fetch
    private let state = Locked(State())

    private init() throws {
        let now = Int64(Date().timeIntervalSince1970)
        time = TestClock(seconds: now)
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-ocsp-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        fetch = try Fetch()
        // The certificates contain the port, and the responder signs with their keys: so the listener comes first.
        let answering = Locked<(@Sendable (HTTPRequest) async -> HTTPResponse)?>(nil)
        listener = try Listener(
            configuration: ListenerConfiguration(), bodyLimit: { _, _ in 1 << 16 },
            handler: { request in await answering.withLock { $0 }?(request) ?? HTTPResponse(status: 503) })
        let url = "http://127.0.0.1:\(listener.port)"
        root = try .root(Self.template("Root", 1, now, .authority(pathLength: nil)), key: .generate(.p384))
        intermediate = try root.issue(
            Self.template(
                "Intermediate", 2, now, .authority(pathLength: 0), marker: "1.2.840.113635.100.6.2.1",
                url: url + "/intermediate"),
            key: .generate(.p384))
        signer = try intermediate.issue(
            Self.template("Signer", 3, now, .signer, marker: "1.2.840.113635.100.6.11.1", url: url + "/leaf"),
            key: .generate(.p256))
        responders = [
            "/leaf": try intermediate.issue(Self.template("Responder", 4, now, .responder), key: .generate(.p256)),
            "/intermediate": try root.issue(Self.template("Responder", 5, now, .responder), key: .generate(.p256)),
        ]
        try writeFiles()
        answering.withLock { [unowned self] in $0 = { await self.respond(to: $0) } }
    }

    private static func template(
        _ name: String, _ serial: UInt8, _ now: Int64, _ role: CertificateTemplate.Role, marker: String? = nil,
        url: String? = nil
    ) -> CertificateTemplate {
        CertificateTemplate(
            subject: [("CN", "Journey \(name)"), ("O", "Till")], serial: [0x7E, serial],
            validity: now - 30 * 86_400...now + 30 * 86_400, role: role, markers: marker.map { [$0] } ?? [],
            ocspURL: url)
    }

    /// Creates it, runs the journey, and removes it again.
    static func with(_ journey: (RevocationAuthority) async throws -> Void) async throws {
        let authority = try RevocationAuthority()
        do {
            try await journey(authority)
        } catch {
            await authority.close()
            throw error
        }
        await authority.close()
    }

    private func close() async {
        fetch.stop()
        await listener.stop(grace: 5)
        try? FileManager.default.removeItem(at: folder)
    }

    /// A shop that trusts it, and asks it.
    func shop(
        _ policy: RevocationPolicy, _ reach: Reach = .inProcess, _ journey: (Shop) async throws -> Void
    ) async throws {
        let exchange = appleExchange(over: fetch.send)
        let effects = AppleEffects(
            exchange: exchange, clock: { self.time.now }, entropy: RandomBytes.make,
            // Honest answers take about ten milliseconds; a silent responder must not delay the test.
            pause: { try? await Task.sleep(for: .milliseconds(self.isSilent ? 50 : $0)) })
        try await Shop.open(
            reach,
            change: { configuration in
                configuration.apple.roots = [self.root.chain[0]]
                configuration.apple.revocation = policy
            }, time: time, appleEffects: effects, journey)
    }

    // MARK: Signed data

    /// A transaction in Apple's format, with its own number.
    func transaction(_ number: Int, token: OrderID?, signedAt: Instant? = nil) throws -> String {
        let signed = (signedAt ?? time.now).milliseconds
        var members: [String: JSONValue] = [
            "transactionId": .string("90000\(number)"), "originalTransactionId": .string("90000\(number)"),
            "bundleId": .string(Shop.bundleID), "productId": .string(Shop.points60), "purchaseDate": .int(signed),
            "quantity": 1, "type": "Consumable", "signedDate": .int(signed), "environment": "Sandbox",
        ]
        members["appAccountToken"] = token.map { .string($0.description) }
        return try sign(Array(JSONValue.object(members).encoded().utf8))
    }

    func sign(_ payload: [UInt8]) throws -> String {
        let chain = signer.chain.map { JSONValue.string(Base64.encode($0)) }
        let header: JSONValue = ["alg": "ES256", "x5c": .array(chain)]
        let message = [Array(header.encoded().utf8), payload].map { Base64.encode($0, .url) }.joined(separator: ".")
        return message + "." + Base64.encode(try signer.key.signES256(Array(message.utf8)), .url)
    }

    // MARK: Answers

    func behave(_ conduct: Conduct) { state.withLock { $0.conduct = conduct } }

    /// Revokes the signer's certificate.
    func revoke(at date: Instant, reason: String?) {
        let digits = date.rfc3339.filter(\.isNumber).dropLast(3).dropFirst(2)
        state.withLock { $0.revocation = "\(digits)Z\(reason.map { ",\($0)" } ?? "")" }
    }

    /// Stops listening.
    func goAway() async { await listener.stop(grace: 1) }

    /// The requested paths since the last call.
    func takeQuestions() -> [String] {
        state.withLock { state in
            defer { state.questions = [] }
            return state.questions
        }
    }

    /// Runs `body` at each request, before it is answered.
    func whenAsked(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.whenAsked = body } }

    private var isSilent: Bool {
        if case .silent = state.withLock({ $0.conduct }) { true } else { false }
    }

    private func respond(to request: HTTPRequest) async -> HTTPResponse {
        let (conduct, revocation, whenAsked) = state.withLock { state in
            state.questions.append(request.path)
            return (state.conduct, state.revocation, state.whenAsked)
        }
        whenAsked()
        switch conduct {
        case .page(let status):
            return HTTPResponse(
                status: status, headers: HTTPHeaders([("Content-Type", "text/html")]),
                body: Array("<html>Service Unavailable</html>".utf8))
        case .huge: return HTTPResponse(status: 200, body: [UInt8](repeating: 0x30, count: 200_000))
        case .silent:
            try? await Task.sleep(for: .seconds(1))
            return HTTPResponse(status: 504)
        case .honest:
            guard let answer = try? openssl(request, revocation) else { return HTTPResponse(status: 500) }
            return HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/ocsp-response")]), body: answer)
        }
    }

    private func writeFiles() throws {
        for (path, name) in [("/leaf", "leaf"), ("/intermediate", "intermediate")] {
            guard let responder = responders[path] else { continue }
            let authority = path == "/leaf" ? intermediate : root
            try write("\(name)-ca.pem", PEM.encode(authority.chain[0], label: "CERTIFICATE"))
            try write("\(name).pem", PEM.encode(responder.chain[0], label: "CERTIFICATE"))
            try write("\(name).key", responder.key.pem())
        }
    }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: folder.appendingPathComponent(name))
    }

    private func openssl(_ request: HTTPRequest, _ revocation: String?) throws -> [UInt8] {
        let name = request.path == "/leaf" ? "leaf" : "intermediate"
        let own = UUID().uuidString
        // State, end, revocation, serial, file, subject: the format of `openssl ca`.
        let leaf = revocation.map { "R\t400101000000Z\t\($0)" } ?? "V\t400101000000Z\t"
        try write("\(own).txt", "\(leaf)\t7E03\tunknown\t/CN=x\nV\t400101000000Z\t\t7E02\tunknown\t/CN=y\n")
        try Data(request.body).write(to: folder.appendingPathComponent("\(own).req"))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = [
            "ocsp", "-index", "\(own).txt", "-CA", "\(name)-ca.pem", "-rsigner", "\(name).pem", "-rkey", "\(name).key",
            "-reqin", "\(own).req", "-respout", "\(own).res", "-nmin", "600",
        ]
        process.currentDirectoryURL = folder
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return Array(try Data(contentsOf: folder.appendingPathComponent("\(own).res")))
    }
}
