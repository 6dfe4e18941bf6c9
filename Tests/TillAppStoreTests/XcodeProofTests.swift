import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

@Suite("Proofs that Xcode signs in local tests") struct XcodeProofTests {
    /// A certificate as Xcode makes it: self-signed, P-256.
    private static func certificate(
        validity: ClosedRange<Int64> = TestAuthority.validity, key: TestAuthority.Key = .p256
    ) -> TestCertificate {
        TestCertificate(name: "StoreKit Testing in Xcode", key: key, validity: validity, isCA: true, issuer: nil)
    }

    private func verifier(
        _ certificates: [TestCertificate], environments: Set<TillBilling.StoreEnvironment>? = [.xcode],
        roots: [[UInt8]]? = nil, beside other: SignedDataVerifier? = nil
    ) throws -> SignedDataVerifier {
        var policy = TrustPolicy(bundleID: "com.example.learn", environments: environments) { TestAuthority.today }
        policy.testCertificates = certificates.map(\.der)
        if let roots { policy.roots = roots }
        return try SignedDataVerifier(policy: policy, rememberingWith: other)
    }

    /// As Xcode signs: the header names Xcode's key, and the chain is one certificate.
    private func sign(
        _ payload: JSONValue, by signer: TestCertificate, x5c: [[UInt8]]? = nil, alg: String = "ES256"
    ) -> String {
        let chain = (x5c ?? [signer.der]).map { JSONValue.string(Base64.encode($0)) }
        let header: JSONValue = [
            "alg": .string(alg), "kid": "Apple_Xcode_Key", "typ": "JWT", "x5c": .array(chain),
        ]
        let input =
            Base64.encode(Array(header.encoded().utf8), .url) + "."
            + Base64.encode(Array(payload.encoded().utf8), .url)
        return input + "." + Base64.encode(signer.signES256(Array(input.utf8)), .url)
    }

    private func purchase(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
        let usual: [String: JSONValue?] = [
            "transactionId": "0", "originalTransactionId": "0", "environment": "Xcode", "storefront": "USA",
        ]
        return TestPayloads.transaction(usual.merging(changes) { $1 })
    }

    @Test("A purchase signed by the named certificate is verified, and its environment is Xcode")
    func good() throws {
        let xcode = Self.certificate()
        let verifier = try verifier([xcode])
        let verified = try verifier.transaction(sign(purchase(), by: xcode))
        #expect(verified.environment == .xcode && verified.id.text == "0")
        // Also from the cache of signers.
        #expect(try verifier.transaction(sign(purchase(["transactionId": "1"]), by: xcode)).id.text == "1")
        #expect(verifier.cachedChainCount == 1)
    }

    @Test(
        "A real purchase from Xcode is verified by the certificate that signed it, and by no other",
        .enabled(if: SharedVectors.arePresent, SharedVectors.absence))
    func real() throws {
        let proof = ProofBytes.of("apple-xcode-signed-transaction")
        let header = try JSONValue(decoding: try #require(CompactToken(proof)?.header))
        let certificate = try #require(header["x5c"]?.array?.first?.string.flatMap { Base64.decode($0) })
        func verifier(
            _ certificate: [UInt8], _ environments: Set<TillBilling.StoreEnvironment> = [.xcode]
        ) throws -> SignedDataVerifier {
            var policy = TrustPolicy(
                bundleID: "com.example.naturelab.backyardbirds.example", environments: environments
            ) { TestAuthority.today }
            policy.testCertificates = [certificate]
            return try SignedDataVerifier(policy: policy)
        }
        let verified = try verifier(certificate).transaction(proof)
        #expect(verified.environment == .xcode && verified.id.text == "0" && verified.productID.text == "pass.premium")
        #expect(refusal { try verifier(Self.certificate().der).transaction(proof) } == .chainUntrusted)
        #expect(refusal { try verifier(certificate, [.sandbox]).transaction(proof) } == .chainLength)
    }

    @Test("Another certificate's, an altered, an unsigned and an expired one are refused (P9)")
    func forged() throws {
        let (xcode, other) = (Self.certificate(), Self.certificate())
        let verifier = try verifier([xcode])
        // Another developer's Xcode, with the same names in its certificate.
        #expect(refusal { try verifier.transaction(sign(purchase(), by: other)) } == .chainUntrusted)
        // The named certificate beside another key's signature.
        #expect(
            refusal { try verifier.transaction(sign(purchase(), by: other, x5c: [xcode.der])) } == .badSignature)
        let good = sign(purchase(), by: xcode)
        var parts = good.split(separator: ".").map(String.init)
        parts[1] = Base64.encode(Array(purchase(["quantity": 9]).encoded().utf8), .url)
        #expect(refusal { try verifier.transaction(parts.joined(separator: ".")) } == .badSignature)
        #expect(refusal { try verifier.transaction(sign(purchase(), by: xcode, alg: "none")) } == .malformed)
        #expect(refusal { try verifier.transaction(sign(purchase(), by: xcode, x5c: [])) } == .missingX5C)
        #expect(
            refusal { try verifier.transaction(sign(purchase(), by: xcode, x5c: [xcode.der, xcode.der])) }
                == .chainLength)
        #expect(refusal { try verifier.transaction(sign(purchase(["bundleId": "com.other"]), by: xcode)) } == .wrongApp)
        let today = TestAuthority.today.seconds
        for validity in [1_704_067_200...(today - 1), (today + 1)...1_767_225_600] {
            let outside = Self.certificate(validity: validity)
            #expect(
                refusal { try self.verifier([outside]).transaction(sign(purchase(), by: outside)) } == .chainExpired)
        }
        let wrongKey = Self.certificate(key: .p384)
        #expect(
            refusal { try self.verifier([wrongKey]).transaction(sign(purchase(), by: wrongKey)) } == .badSignature)
    }

    @Test("The certificate vouches for Xcode's environment alone: it signs no Production and no Sandbox (T7)")
    func otherEnvironments() throws {
        let xcode = Self.certificate()
        for named: JSONValue? in ["Production", "Sandbox", "LocalTesting", "xcode", nil] {
            let payload = purchase(["environment": named])
            #expect(
                refusal { try verifier([xcode]).transaction(sign(payload, by: xcode)) } == .wrongEnvironment,
                "\(String(describing: named))")
        }
    }

    @Test("A verifier for Xcode takes nothing that Apple's chain signed, also not a purchase that names Xcode")
    func applesChain() throws {
        let (apple, xcode) = (TestAuthority(), Self.certificate())
        let verifier = try verifier([xcode], roots: [apple.root.der])
        for environment in ["Production", "Sandbox", "Xcode"] {
            let signed = apple.sign(purchase(["environment": .string(environment)]))
            #expect(refusal { try verifier.transaction(signed) } == .chainLength, "\(environment)")
        }
        #expect(
            refusal { try verifier.transaction(apple.sign(purchase(), x5c: [apple.leaf.der])) } == .chainUntrusted)
    }

    @Test("A verifier for the App Store never takes a test certificate, wherever one is named (P9)")
    func productionNeverTrusts() throws {
        let (apple, xcode) = (TestAuthority(), Self.certificate())
        let signed = ["Production", "Sandbox", "Xcode"].map { sign(purchase(["environment": .string($0)]), by: xcode) }
        let all: [Set<TillBilling.StoreEnvironment>?] = [[.production], [.sandbox], [.production, .sandbox], nil]
        for environments in all {
            // Even if the certificate stands in the policy by mistake, or as a root.
            for roots in [[apple.root.der], [apple.root.der, xcode.der]] {
                let verifier = try verifier([xcode], environments: environments, roots: roots)
                for proof in signed { #expect(refusal { try verifier.transaction(proof) } == .chainLength) }
                #expect(
                    refusal { try verifier.transaction(apple.sign(purchase())) } == .wrongEnvironment)
            }
        }
    }

    @Test("A signer that a test verifier remembers is unknown to a verifier for the App Store")
    func cache() throws {
        let xcode = Self.certificate()
        let tests = try verifier([xcode])
        let proof = sign(purchase(["environment": "Xcode"]), by: xcode)
        _ = try tests.transaction(proof)
        #expect(tests.knowsSigner(of: Array(proof.utf8)))
        let store = try verifier([], environments: nil, roots: [TestAuthority().root.der], beside: tests)
        #expect(!store.knowsSigner(of: Array(proof.utf8)))
        // A header that is in the first cache, over a payload of production.
        let paid = sign(purchase(["environment": "Production"]), by: xcode)
        #expect(refusal { try store.transaction(paid) } == .chainLength)
    }

    @Test("No policy has Xcode beside the App Store's environments, or without a certificate")
    func policies() {
        let xcode = Self.certificate()
        for environments: Set<TillBilling.StoreEnvironment> in [[.xcode, .sandbox], [.xcode, .production]] {
            #expect(refusal { try verifier([xcode], environments: environments) } == .badRoot)
        }
        #expect(refusal { try verifier([]) } == .badRoot)
    }

    @Test("The record of a refused proof says which certificate it carried and why it does not count")
    func record() throws {
        let (xcode, other) = (Self.certificate(), Self.certificate())
        let record = try verifier([xcode]).explain(Array(sign(purchase(), by: other).utf8), as: .transaction)
        #expect(record.verdict == "chain_untrusted" && record.certificates.count == 1)
        let good = try verifier([xcode]).explain(Array(sign(purchase(), by: xcode).utf8), as: .transaction)
        #expect(good.verdict == "ok")
    }
}
