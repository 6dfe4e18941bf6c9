import Testing
import TillCrypto

@Suite("A private key is prepared once and signs many times")
struct PrivateKeyTests {
    @Test("Every signature of an elliptic-curve key is valid, from many threads")
    func ellipticCurve() async throws {
        let key = try PrivateKey.generate(.p256)
        let publicKey = try #require(PublicKey(der: key.publicKeyInfo()))
        let verifier = try #require(ES256Verifier(key: publicKey))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    for number in 0..<25 {
                        let message = Array("\(thread) \(number)".utf8)
                        #expect(publicKey.isValidECDSA(signature: try key.signSHA256(message), of: message))
                        let raw = try key.signES256(message)
                        #expect(verifier.isValid(signature: raw, message: message))
                        #expect(!verifier.isValid(signature: raw, message: message + [0]))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("An RSA key signs with both hashes in turn")
    func bothHashes() throws {
        for kind in [PrivateKey.Kind.rsa2048, .rsa1024] {
            let key = try PrivateKey.generate(kind)
            let publicKey = try #require(PublicKey(der: key.publicKeyInfo()))
            for number in 0..<6 {
                let message = Array("receipt \(number)".utf8)
                let (old, new) = (try key.signSHA1(message), try key.signSHA256(message))
                #expect(publicKey.isValidRSA(signature: old, of: message, digest: .sha1))
                #expect(publicKey.isValidRSA(signature: new, of: message, digest: .sha256))
                #expect(!publicKey.isValidRSA(signature: old, of: message, digest: .sha256))
            }
        }
    }
}
