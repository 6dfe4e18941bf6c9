import Foundation
import Testing
import TillBilling
import TillCrypto

@testable import till

@Suite("The settings of a server for Xcode's local tests") struct XcodeSettingsTests {
    private let directory: TemporaryDirectory
    private let certificate: [UInt8]

    init() throws {
        directory = try TemporaryDirectory()
        certificate = try Self.certificate(.p256)
        try directory.write("xcode.cer", certificate)
        try directory.write("xcode.pem", PEM.encode(certificate, label: "CERTIFICATE"))
    }

    private static func certificate(_ kind: PrivateKey.Kind) throws -> [UInt8] {
        try SigningIdentity.root(
            CertificateTemplate(
                subject: [("CN", "StoreKit Testing in Xcode")], serial: [1], validity: 1_585_763_555...2_216_483_555,
                role: .authority(pathLength: nil)), key: PrivateKey.generate(kind)
        ).chain[0]
    }

    private func load(_ apple: String) -> (Configuration?, [LocalizedText]) {
        do throws(ConfigurationError) {
            let file = try? directory.write(
                "till.json",
                """
                {"database": "sqlite:a.db", "catalog": \(sampleCatalog), "apple": {"bundleId": "a", \(apple)}}
                """)
            return (try Configuration.load(file: file), [])
        } catch {
            return (nil, error.failure.reasons)
        }
    }

    @Test("The exported certificate is read from DER and PEM, and the start says whose purchases count")
    func good() throws {
        for name in ["xcode.cer", "xcode.pem"] {
            let (loaded, problems) = load("\"environments\": [\"Xcode\"], \"xcodeCertificate\": \"\(name)\"")
            #expect(problems.isEmpty, "\(problems)")
            let configuration = try #require(loaded)
            #expect(configuration.server.apple.testCertificates == [certificate])
            #expect(configuration.server.apple.environments == [.xcode])
            #expect(configuration.server.usualEnvironment == .xcode)
            let warning = try #require(configuration.startWarnings.first)
            let fingerprint = hexadecimal(Digest.sha256.hash(certificate))
            #expect(warning.en.hasPrefix("DEVELOPMENT SERVER") && warning.en.contains(fingerprint))
            #expect(warning.zh.hasPrefix("开发服务器") && warning.zh.contains(fingerprint))
        }
    }

    @Test("The certificate stands beside no other environment, and Xcode not without it")
    func apart() {
        for environments in ["\"Production\"", "\"Sandbox\"", "\"Xcode\", \"Sandbox\"", "\"Production\", \"Xcode\""] {
            let (loaded, problems) = load(
                "\"appAppleId\": 1, \"environments\": [\(environments)], \"xcodeCertificate\": \"xcode.cer\"")
            #expect(loaded == nil && problems.count == 1, "\(environments): \(problems)")
            #expect(problems.first?.en.contains("apple.xcodeCertificate: can be used only where") == true)
            #expect(problems.first?.zh.contains("绝不与 Production 或 Sandbox 同时受信任") == true)
        }
        for environments in ["\"Xcode\"", "\"Xcode\", \"Sandbox\""] {
            let (loaded, problems) = load("\"environments\": [\(environments)]")
            #expect(loaded == nil && problems.count == 1)
            #expect(problems.first?.en.contains("apple.environments: Xcode needs apple.xcodeCertificate") == true)
        }
    }

    @Test("Apple's services, other roots, and files that are no P-256 certificate are refused beside Xcode")
    func others() throws {
        try directory.write("root.cer", foreignCertificate())
        try directory.write("text.cer", "not a certificate")
        try directory.write("p384.cer", try Self.certificate(.p384))
        let pair = PEM.encode(certificate, label: "CERTIFICATE")
        try directory.write("two.pem", pair + pair)
        let xcode = "\"environments\": [\"Xcode\"], \"xcodeCertificate\": "
        for more in [
            "\"roots\": [\"root.cer\"]", "\"sharedSecret\": \"abc\"", "\"emulator\": \"http://127.0.0.1:8788\"",
        ] {
            let (loaded, problems) = load(xcode + "\"xcode.cer\", " + more)
            #expect(loaded == nil && problems.count == 1, "\(more): \(problems)")
            #expect(problems.first?.en.contains("can't be combined with Xcode") == true)
        }
        for name in ["text.cer", "p384.cer", "two.pem"] {
            let (loaded, problems) = load(xcode + "\"\(name)\"")
            #expect(loaded == nil && problems.count == 1, "\(name): \(problems)")
            #expect(problems.first?.en.contains("is not one certificate in DER or PEM with a P-256 key") == true)
        }
        #expect(load(xcode + "\"missing.cer\"").0 == nil)
    }
}
