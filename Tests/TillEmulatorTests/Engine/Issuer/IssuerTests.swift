import Foundation
import Testing
import TillBilling
import TillCrypto
import TillJSON

@testable import TillEmulator

@Suite("The emulator's own authority")
struct IssuerTests {
    private let now = EmulatedWorld.start

    private func directory() throws -> URL {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("till-issuer-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return directory
    }

    private func write(_ certificate: [UInt8], _ name: String, in directory: URL) throws {
        try Data(PEM.encode(certificate, label: "CERTIFICATE").utf8)
            .write(to: directory.appendingPathComponent(name))
    }

    @Test("The openssl command verifies both chains up to the one root, strictly")
    func chains() throws {
        let directory = try directory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let issuer = try Issuer.create(at: now, keys: EmulatedWorld.keys) { RandomBytes.make(16) }
        try write(issuer.rootCertificate, "root.pem", in: directory)
        for name in [Issuer.Name.signer, .receiptSigner] {
            let chain = try #require(issuer.identities[name]?.chain)
            #expect(chain.count == 3)
            try write(chain[0], "leaf.pem", in: directory)
            try write(chain[1], "intermediate.pem", in: directory)
            let verified = try run(
                [
                    "openssl", "verify", "-x509_strict", "-attime", String(now.seconds), "-CAfile", "root.pem",
                    "-untrusted", "intermediate.pem", "leaf.pem",
                ], in: directory)
            #expect(verified.status == 0, "\(verified.output)")
        }
    }

    @Test("An authority from keys and certificates issues none, and signs as the one that they are from")
    func known() throws {
        let issuer = try Issuer.create(at: now, keys: EmulatedWorld.keys) { RandomBytes.make(16) }
        let (keys, certificates) = (try issuer.keys(), issuer.certificates)
        let same = try Issuer.create(at: now, keys: keys, certificates: certificates) { fatalError("no serials") }
        #expect(same.certificates == certificates)
        let token = try #require(CompactToken(try same.sign(payload: Array("{}".utf8))))
        let key = try #require(issuer.identities[.signer]?.chain.first.flatMap { Certificate(der: $0)?.publicKey })
        #expect(token.isSigned(by: key))
        var fewer = certificates
        fewer["signer"] = nil
        let other = try Issuer.create(at: now, keys: keys, certificates: fewer) { RandomBytes.make(16) }
        #expect(other.rootCertificate != issuer.rootCertificate)
    }

    @Test("Key kinds, signature algorithms, markers and limits are Apple's")
    func certificates() throws {
        let directory = try directory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let issuer = try Issuer.create(at: now, keys: EmulatedWorld.keys) { RandomBytes.make(16) }
        let expected: [(Issuer.Name, [String])] = [
            (.root, ["secp384r1", "ecdsa-with-SHA384", "CA:TRUE", "CN = Till Emulator Root CA"]),
            (.intermediate, ["secp384r1", "ecdsa-with-SHA384", "CA:TRUE, pathlen:0", "1.2.840.113635.100.6.2.1"]),
            (.signer, ["prime256v1", "ecdsa-with-SHA384", "CA:FALSE", "1.2.840.113635.100.6.11.1"]),
            (.receiptIntermediate, ["2048 bit", "CA:TRUE, pathlen:0", "1.2.840.113635.100.6.2.1"]),
            (.receiptSigner, ["2048 bit", "sha256WithRSAEncryption", "CA:FALSE", "1.2.840.113635.100.6.11.1"]),
        ]
        for (name, texts) in expected {
            let certificate = try #require(issuer.identities[name]?.chain.first)
            try write(certificate, "it.pem", in: directory)
            let shown = try run(["openssl", "x509", "-in", "it.pem", "-noout", "-text"], in: directory).output
            for text in texts { #expect(shown.contains(text), "\(name) lacks \(text)") }
        }
    }

    @Test("openssl cms verifies a receipt at its creation date, with nothing but the root")
    func receipt() throws {
        let directory = try directory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let issuer = try Issuer.create(at: now, keys: EmulatedWorld.keys) { RandomBytes.make(16) }
        let content = Array("the content of a receipt".utf8)
        let message = try issuer.receipt(payload: content)
        try Data(message).write(to: directory.appendingPathComponent("receipt"))
        try write(issuer.rootCertificate, "root.pem", in: directory)
        let verified = try run(
            [
                "openssl", "cms", "-verify", "-inform", "DER", "-in", "receipt", "-CAfile", "root.pem", "-purpose",
                "any", "-attime", String(now.seconds), "-binary", "-out", "content",
            ], in: directory)
        #expect(verified.status == 0, "\(verified.output)")
        #expect(try Data(contentsOf: directory.appendingPathComponent("content")) == Data(content))
        let shown = try run(
            ["openssl", "cms", "-cmsout", "-print", "-inform", "DER", "-in", "receipt"], in: directory
        ).output
        #expect(shown.contains("signedAttrs:\n          <ABSENT>"))
        #expect(shown.contains("eContentType: pkcs7-data (1.2.840.113549.1.7.1)"))
    }

    @Test("A receipt contains leaf, intermediate and root in this order, as common readers expect")
    func order() throws {
        let issuer = try Issuer.create(at: now, keys: EmulatedWorld.keys) { RandomBytes.make(16) }
        let message = try SignedMessage(try issuer.receipt(payload: [1, 2, 3]))
        #expect(message.certificates.map(\.der) == issuer.identities[.receiptSigner]?.chain)
        #expect(message.isSignatureValid())
        #expect(!message.hasSignedAttributes)
        #expect(message.content == [1, 2, 3])
    }

    @Test("A signed payload verifies with the leaf's key, and a changed one does not")
    func signedPayload() throws {
        let issuer = try Issuer.create(at: now, keys: EmulatedWorld.keys) { RandomBytes.make(16) }
        let token = try issuer.sign(payload: Array("{\"a\":1}".utf8))
        let parsed = try #require(CompactToken(token))
        let header = try JSONValue(decoding: try #require(parsed.header))
        #expect(header["alg"] == "ES256")
        let chain = try #require(header["x5c"]?.array).map { Base64.decode($0.string ?? "") ?? [] }
        #expect(chain == issuer.identities[.signer]?.chain)
        let key = try #require(Certificate(der: chain[0])?.publicKey)
        #expect(parsed.isSigned(by: key))
        #expect(parsed.signature.count == 64)
        let parts = token.split(separator: ".").map(String.init)
        let other = Base64.encode(Array("{\"a\":2}".utf8), .url)
        #expect(CompactToken("\(parts[0]).\(other).\(parts[2])")?.isSigned(by: key) == false)
    }

    @Test("A forged token has the same content, and its chain leads to an unknown root")
    func forged() throws {
        let issuer = try Issuer.create(at: now, keys: EmulatedWorld.keys) { RandomBytes.make(16) }
        let token = try issuer.sign(payload: Array("{\"a\":1}".utf8))
        let forged = try #require(try Issuer.forged(token, at: now) { RandomBytes.make(16) })
        #expect(try payload(of: forged) == payload(of: token))
        let header = try JSONValue(decoding: try #require(CompactToken(forged)?.header))
        let chain = try #require(header["x5c"]?.array).compactMap {
            Certificate(der: Base64.decode($0.string ?? "") ?? [])
        }
        try #require(chain.count == 3)
        let trust = TrustStore(roots: [try #require(Certificate(der: issuer.rootCertificate))], strict: true)
        #expect(throws: CertificateChainError.self) {
            try trust.chain(leaf: chain[0], intermediates: [chain[1], chain[2]], at: now.seconds)
        }
        let own = try #require(issuer.identities[.signer]?.chain.compactMap { Certificate(der: $0) })
        #expect(try trust.chain(leaf: own[0], intermediates: [own[1]], at: now.seconds).count == 3)
    }

    @Test("Keys given as PEM are used, and one of the wrong kind is refused")
    func fixedKeys() throws {
        let root = try PrivateKey.generate(.p384)
        let pem = try root.pem()
        #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----"))
        let issuer = try Issuer.create(at: now, keys: ["root": pem]) { RandomBytes.make(16) }
        let certificate = try #require(Certificate(der: issuer.rootCertificate))
        #expect(try certificate.publicKey?.der == root.publicKeyInfo())
        #expect(throws: SigningError.self) {
            try Issuer.create(at: now, keys: ["signer": pem]) { RandomBytes.make(16) }
        }
        #expect(throws: SigningError.self) { try PrivateKey(pem: "not a key") }
    }
}
