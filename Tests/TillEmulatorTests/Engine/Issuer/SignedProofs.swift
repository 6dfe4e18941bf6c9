import Foundation
import Testing
import TillBilling
import TillCrypto
import TillJSON

@testable import TillAppStore
@testable import TillEmulator

/// Everything that the emulated store signs, with forgeries of it, and the expected verdicts of two verifiers: ours,
/// and Apple's server library, which has fewer verdicts.
struct SignedProofs {
    struct Proof {
        enum Kind: String {
            case transaction, renewal, notification
            case appTransaction = "apptransaction"
        }

        let name: String
        let kind: Kind
        let token: String
        /// Our verdict, and the name of Apple's `VerificationStatus`.
        let expected: (ours: Verdict, theirs: String)

        func verdict(by verifier: SignedDataVerifier) -> Verdict {
            do throws(VerificationError) {
                switch kind {
                case .transaction: _ = try verifier.transaction(token)
                case .renewal: _ = try verifier.renewalInfo(Array(token.utf8))
                case .notification: _ = try verifier.notification(token)
                case .appTransaction: _ = try verifier.appTransaction(token)
                }
                return .ok
            } catch {
                return error.verdict
            }
        }
    }

    private(set) var all: [Proof] = []
    private let issuer: Issuer
    private let now: Instant

    /// Buys one product of each kind in this world, refunds some, and forges the results.
    init(_ world: EmulatedWorld) async throws {
        issuer = world.emulator.issuer
        now = world.now
        try await addGenuine(world)
        try await addSubscriptions(world)
        let genuine = try #require(all.first { $0.kind == .transaction }?.token)
        try addForgedContent(genuine)
        try addForgedChains(genuine)
        try addForgedTexts(genuine)
        try addOddities(genuine)
    }

    mutating func add(
        _ name: String, _ token: String, _ kind: Proof.Kind = .transaction, _ ours: Verdict = .ok,
        _ theirs: String = "OK"
    ) {
        all.append(Proof(name: name, kind: kind, token: token, expected: (ours, theirs)))
    }

    // MARK: Genuine proofs

    private mutating func addGenuine(_ world: EmulatedWorld) async throws {
        _ = await world.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/hook"])
        let token: JSONValue = "3f2c1a00-1111-4222-8333-444455556666"
        for (product, more) in [
            ("points300", ["appAccountToken": token, "quantity": 3]), ("library", ["storefront": "USA"]),
            ("course", [:]), ("member.monthly", ["appAccountToken": token]),
        ] as [(String, [String: JSONValue])] {
            let bought = try await world.buy(product, more)
            add(product, try #require(bought["signedTransaction"]?.string))
            let id = try #require(bought["transactionId"]?.string)
            if product != "course" {
                let body: JSONValue? = product == "member.monthly" ? ["percentage": 67_932] : nil
                _ = await world.ask(.post, "/emulator/transactions/\(id)/refund", body)
            }
        }
        await world.emulator.sendDueNotifications()
        for notification in world.notifications {
            let content = try payload(of: notification.signedPayload)
            let name = "\(content["notificationType"]?.string ?? "") \(all.count)"
            add(name, notification.signedPayload, .notification)
            let data = content["data"]
            if let nested = data?["signedTransactionInfo"]?.string { add("\(name): transaction", nested) }
            if let nested = data?["signedRenewalInfo"]?.string { add("\(name): renewal info", nested, .renewal) }
        }
        add("app transaction", try issuer.sign(appTransaction(world)), .appTransaction)
        for kind in [Proof.Kind.transaction, .renewal, .notification] { #expect(all.contains { $0.kind == kind }) }
    }

    /// In Apple's form (facts/jws §6). The emulated store does not return them in this way.
    private func appTransaction(_ world: EmulatedWorld) throws -> [String: JSONValue] {
        let environment = world.emulator.configuration.environment
        var members: [String: JSONValue] = [
            "receiptType": .string(environment.rawValue), "bundleId": "com.example.learnpoints",
            "applicationVersion": "1.2", "originalApplicationVersion": "1.0", "versionExternalIdentifier": 7,
            "receiptCreationDate": .int(now.milliseconds), "originalPurchaseDate": .int(now.milliseconds - 1),
            "appTransactionId": "71134", "originalPlatform": "iOS",
        ]
        if environment == .production { members["appAppleId"] = 690_661_663 }
        return members
    }

    // MARK: Forged proofs

    private static let failed = "VERIFICATION_FAILURE"

    private func content(_ token: String, _ changes: [String: JSONValue?]) throws -> [String: JSONValue] {
        var members = try payload(of: token).object ?? [:]
        for (name, value) in changes { members[name] = value }
        return members
    }

    /// Signed by the right authority for another app or environment, or outside its certificates' validity.
    private mutating func addForgedContent(_ token: String) throws {
        let other: JSONValue = try payload(of: token)["environment"] == "Sandbox" ? "Production" : "Sandbox"
        let year: Int64 = 365 * 86_400_000
        for (name, changes, ours, theirs) in [
            ("another app", ["bundleId": "com.example.other"], .wrongApp, "INVALID_APP_IDENTIFIER"),
            // Without a required member the payload is malformed to our verifier, which stops there.
            ("an empty app", ["bundleId": ""], .malformed, "INVALID_APP_IDENTIFIER"),
            ("the other environment", ["environment": other], .wrongEnvironment, "INVALID_ENVIRONMENT"),
            ("no environment", ["environment": nil], .wrongEnvironment, "INVALID_ENVIRONMENT"),
            (
                "another app and environment", ["bundleId": "com.example.other", "environment": other], .wrongApp,
                "INVALID_APP_IDENTIFIER"
            ),
            ("signed too late", ["signedDate": .int(now.milliseconds + 160 * year)], .chainExpired, Self.failed),
            ("signed too early", ["signedDate": .int(now.milliseconds - 2 * year)], .chainExpired, Self.failed),
        ] as [(String, [String: JSONValue?], Verdict, String)] {
            add(name, try issuer.sign(try content(token, changes)), .transaction, ours, theirs)
        }
        let notification = try #require(all.first { $0.kind == .notification }?.token)
        var data = try payload(of: notification)["data"]?.object ?? [:]
        data["bundleId"] = "com.example.other"
        add(
            "another app's notification", try issuer.sign(try content(notification, ["data": .object(data)])),
            .notification, .wrongApp, "INVALID_APP_IDENTIFIER")
    }

    private mutating func addForgedChains(_ token: String) throws {
        let signer = try #require(issuer.identities[.signer])
        let intermediate = try #require(issuer.identities[.intermediate])
        let stranger = try Issuer.create(at: now, keys: EmulatedWorld.keys) { RandomBytes.make(16) }
        let payload = try payload(of: token)
        func forge(
            _ proofs: inout Self, _ name: String, _ chain: [[UInt8]], by key: PrivateKey = signer.key,
            _ ours: Verdict, _ theirs: String = Self.failed
        ) throws {
            let x5c = JSONValue.array(chain.map { .string(Base64.encode($0)) })
            let forged = try Self.token(["alg": "ES256", "x5c": x5c], payload, by: key)
            proofs.add(name, forged, .transaction, ours, theirs)
        }
        let chain = signer.chain
        let strange = try #require(stranger.identities[.signer])
        try forge(&self, "no certificate", [], .missingX5C)
        for (count, name) in [(1, "one certificate"), (2, "two certificates")] {
            try forge(&self, name, Array(chain.prefix(count)), .chainLength, "INVALID_CHAIN_LENGTH")
        }
        try forge(&self, "four certificates", chain + [chain[2]], .chainLength, "INVALID_CHAIN_LENGTH")
        try forge(&self, "a leaf of rubbish", [[1, 2, 3], chain[1], chain[2]], .badCertificate, "INVALID_CERTIFICATE")
        try forge(
            &self, "an intermediate of rubbish", [chain[0], Array(chain[1].dropLast(9)), chain[2]], .badCertificate,
            "INVALID_CERTIFICATE")
        try forge(&self, "a stranger's chain", strange.chain, by: strange.key, .chainUntrusted)
        try forge(
            &self, "a stranger's leaf under our chain", [strange.chain[0], chain[1], chain[2]], by: strange.key,
            .chainUntrusted)
        try forge(&self, "our chain, another's signature", chain, by: strange.key, .badSignature)
        try forge(&self, "the root as leaf", [chain[2], chain[1], chain[2]], .missingOID)
        func leaf(_ markers: [String], under authority: SigningIdentity) throws -> SigningIdentity {
            let template = CertificateTemplate(
                subject: [("CN", "Till Test Signer")], serial: [0x51, 2, 3],
                validity: now.seconds - 86_400...now.seconds + 86_400, role: .signer, markers: markers)
            return try authority.issue(template, key: try PrivateKey.generate(.p256))
        }
        let unmarked = try leaf([], under: intermediate)
        try forge(&self, "a leaf without Apple's marker", unmarked.chain, by: unmarked.key, .missingOID)
        let wrongly = try leaf([Issuer.intermediateMarker], under: intermediate)
        try forge(&self, "a leaf with the other marker", wrongly.chain, by: wrongly.key, .missingOID)
    }

    /// Changes of the signature, the header, or the text itself.
    private mutating func addForgedTexts(_ token: String) throws {
        let parts = token.split(separator: ".").map(String.init)
        let signature = try #require(Base64.decode(parts[2], .url))
        let header = try JSONValue(decoding: try #require(Base64.decode(parts[0], .url)))
        let key = try #require(issuer.identities[.signer]?.key)
        func text(_ header: JSONValue, _ signature: [UInt8]) -> String {
            let head = Base64.encode(Array(header.encoded().utf8), .url)
            return [head, parts[1], Base64.encode(signature, .url)].joined(separator: ".")
        }
        func claiming(_ algorithm: JSONValue?) -> JSONValue {
            var members = header.object ?? [:]
            members["alg"] = algorithm
            return .object(members)
        }
        var flipped = signature
        flipped[17] ^= 1
        var richer = try content(token, ["quantity": 9])
        richer["price"] = 0
        let swapped = Base64.encode(Array(JSONValue.object(richer).encoded().utf8), .url)
        // In 64 bytes, four bits of the last letter have no meaning.
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let last = try #require(letters.firstIndex { $0 == token.last })
        let der = try key.signSHA256(Array("\(parts[0]).\(parts[1])".utf8))
        for (name, forged, ours) in [
            ("a flipped bit", text(header, flipped), .badSignature),
            ("another payload", [parts[0], swapped, parts[2]].joined(separator: "."), .badSignature),
            ("no signature", text(header, []), .badSignature),
            ("a short signature", text(header, Array(signature.dropLast())), .badSignature),
            ("a signature of zeros", text(header, [UInt8](repeating: 0, count: 64)), .badSignature),
            ("a signature in DER", text(header, der), .badSignature),
            ("alg none", text(claiming("none"), []), .malformed),
            ("alg HS256", text(claiming("HS256"), signature), .malformed),
            ("alg ES384", text(claiming("ES384"), signature), .malformed),
            ("no alg", text(claiming(nil), signature), .malformed),
            ("stray bits", token.dropLast() + String(letters[last ^ 1]), .malformed),
            ("two parts", parts.prefix(2).joined(separator: "."), .malformed),
            ("rubbish", "rubbish", .malformed), ("nothing", "", .malformed),
        ] as [(String, String, Verdict)] {
            add(name, forged, .transaction, ours, Self.failed)
        }
    }

    private mutating func addOddities(_ token: String) throws {
        let signer = try #require(issuer.identities[.signer])
        let x5c = (signer.chain.prefix(2) + [[1, 2, 3]]).map { JSONValue.string(Base64.encode($0)) }
        let rootless = try Self.token(["alg": "ES256", "x5c": .array(x5c)], try payload(of: token), by: signer.key)
        // Both verifiers use the configured root and ignore the one in the header.
        add("rubbish in the root's place", rootless)
        // Apple's library accepts these two, which gains an attacker nothing. In our verifier a proof has one text and
        // one purpose.
        add("a transaction as renewal info", token, .renewal, .malformed)
        add("padding", token + "==", .transaction, .malformed)
    }

    private static func token(_ header: JSONValue, _ payload: JSONValue, by key: PrivateKey) throws -> String {
        let message = [header, payload].map { Base64.encode(Array($0.encoded().utf8), .url) }.joined(separator: ".")
        return message + "." + Base64.encode(try key.signES256(Array(message.utf8)), .url)
    }

    // MARK: Verifiers

    /// Our verifier, with the emulated store's root for the sample app.
    func verifier(_ environment: TillBilling.StoreEnvironment) throws -> SignedDataVerifier {
        var policy = TrustPolicy(bundleID: "com.example.learnpoints", environments: [environment]) { [now] in now }
        policy.roots = [issuer.rootCertificate]
        policy.appAppleID = environment == .production ? 690_661_663 : nil
        policy.isStrict = true
        return try SignedDataVerifier(policy: policy)
    }

    /// The input of Apple's: `proofs.json` and `root.cer`.
    func write(to directory: URL) throws {
        let proofs = all.map { proof -> JSONValue in
            ["name": .string(proof.name), "kind": .string(proof.kind.rawValue), "token": .string(proof.token)]
        }
        try Data(JSONValue.array(proofs).encoded().utf8).write(to: directory.appendingPathComponent("proofs.json"))
        try Data(issuer.rootCertificate).write(to: directory.appendingPathComponent("root.cer"))
    }
}
