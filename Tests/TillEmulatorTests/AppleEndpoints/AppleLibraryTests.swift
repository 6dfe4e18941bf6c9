import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP

@testable import TillAppStore
@testable import TillEmulator

/// Apple's own server library: developers' servers verify what this library verifies.
@Suite("Apple's server library", .enabled(if: AppleLibrary.isInstalled, AppleLibrary.isMissing))
struct AppleLibraryTests {
    @Test(
        "It decodes every field of our payloads, and verifies forgeries as our verifier does",
        arguments: [TillBilling.StoreEnvironment.sandbox, .production])
    func verifies(_ environment: TillBilling.StoreEnvironment) async throws {
        var configuration = EmulatorConfiguration()
        configuration.environment = environment
        let world = try await EmulatedWorld(configuration)
        let proofs = try await SignedProofs(world)
        try proofs.write(to: world.directory)
        let answer = try AppleLibrary.run("verify", [environment.rawValue], in: world.directory, as: [Verified].self)
        let verifier = try proofs.verifier(environment)
        #expect(answer.count == proofs.all.count && proofs.all.count > 35)
        for (proof, checked) in zip(proofs.all, answer) {
            #expect(checked.name == proof.name)
            #expect(checked.status == proof.expected.theirs, "\(proof.name): theirs")
            #expect(proof.verdict(by: verifier) == proof.expected.ours, "\(proof.name): ours")
            guard proof.expected.ours == .ok else { continue }
            #expect(checked.differing.isEmpty, "\(proof.name): \(checked.differing)")
            #expect(checked.fields >= 8, "\(proof.name)")
        }
        await world.remove()
    }

    private struct Verified: Decodable {
        let name: String
        /// A `VerificationStatus`.
        let status: String
        /// The number of decoded fields.
        let fields: Int
        /// Fields of our payload that its models lack or name differently.
        let differing: [String]
    }

    @Test("It finds the transaction id in our receipts and old-style receipts, both in base64")
    func receipts() async throws {
        let world = try await EmulatedWorld()
        let id = try #require(try await world.buy()["transactionId"]?.string)
        let receipt = try await world.emulator.receipt(bundleID: "com.example.learnpoints")
        let empty = try await world.emulator.receipt(bundleID: "com.example.anonymous")
        try Data(Base64.encode(receipt).utf8).write(to: world.directory.appendingPathComponent("receipt"))
        try Data(Base64.encode(empty).utf8).write(to: world.directory.appendingPathComponent("empty"))
        try Data(try await world.transactionReceipt(id).utf8).write(to: world.directory.appendingPathComponent("old"))
        let found = try AppleLibrary.run("receipts", in: world.directory, as: [String?].self)
        #expect(found == [id, nil, id])
        await world.remove()
    }

    // MARK: The App Store Server API

    @Test("Its API client is authorised and understood over a socket")
    func client() async throws {
        let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        let world = try await EmulatedWorld(start: now)
        let router = world.emulator.router
        let listener = try Listener(
            configuration: ListenerConfiguration(), bodyLimit: router.bodyLimit(method:path:),
            handler: router.respond(to:))
        let id = try #require(try await world.buy()["transactionId"]?.string)
        let key = await world.ask(.get, "/emulator/api-key").response.body
        try Data(key).write(to: world.directory.appendingPathComponent("key.json"))
        try Data(world.emulator.issuer.rootCertificate).write(to: world.directory.appendingPathComponent("root.cer"))
        let received = try AppleLibrary.run(
            "client", ["http://127.0.0.1:\(listener.port)", id], in: world.directory, as: [String].self)
        #expect(received == [id, "404 TRANSACTION_ID_NOT_FOUND", "404 SERVER_NOTIFICATION_URL_NOT_FOUND", "finished"])
        #expect(await world.ask(.get, "/emulator/transactions/\(id)").json["finished"] == true)
        await listener.stop(grace: 1)
        await world.remove()
    }

    @Test("PyJWT accepts our bearer token for Apple's API; its header and claims are those of Apple's client")
    func bearerTokens() async throws {
        struct Answer: Decodable {
            let header: [String: String]
            let theirHeader: [String: String]
            let lifetime: Int64
            let issued: Int64
            let differing: [String]
            let theirHeaders: [String]
            let refused: [String]
        }
        let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        let world = try await EmulatedWorld(start: now)
        let answered = await world.ask(.get, "/emulator/api-key")
        let issuer = try #require(answered.json["issuerId"]?.string)
        let keyID = try #require(answered.json["keyId"]?.string)
        let bundleID = try #require(answered.json["bundleId"]?.string)
        let key = try InAppPurchaseKey(
            issuerID: issuer, keyID: keyID, privateKey: PrivateKey(pem: answered.json["privateKey"]?.string ?? ""))
        let token = try BearerTokens(key: key, bundleID: bundleID).token(at: now)
        try Data(answered.response.body).write(to: world.directory.appendingPathComponent("key.json"))
        try Data(token.utf8).write(to: world.directory.appendingPathComponent("token"))
        let answer = try AppleLibrary.run("bearer", in: world.directory, as: Answer.self)
        #expect(answer.header == ["alg": "ES256", "kid": keyID, "typ": "JWT"])
        #expect(answer.header == answer.theirHeader)
        #expect((1...3_600).contains(answer.lifetime))
        #expect(answer.issued == now.seconds)
        // Apple's documentation requires iat; Apple's library omits it.
        #expect(answer.differing == ["iat"])
        #expect(answer.theirHeaders.contains("Authorization: Bearer "))
        #expect(answer.refused == ["altered", "another audience", "another issuer", "another key"])
        // The emulated service follows Apple's rules, and so accepts it as well.
        let asked = await world.ask(.get, "/inApps/v1/transactions/1", headers: [("Authorization", "Bearer \(token)")])
        #expect(asked.status == 404)
        #expect(asked.json["errorCode"] == 4_040_010)
        await world.remove()
    }
}
