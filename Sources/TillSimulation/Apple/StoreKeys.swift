import TillCrypto

/// The private keys of the emulated store. RSA keys are slow to generate, so all worlds of a process share them, and a
/// seeded process generates the same keys every time.
public struct StoreKeys: Sendable {
    let pem: [String: String]

    /// - Throws: if OpenSSL can't generate a key.
    public init() throws {
        SeededSignatures.begin(seed: 0x5469_6C6C)
        let kinds: [(String, PrivateKey.Kind)] = [
            ("root", .p384), ("intermediate", .p384), ("signer", .p256), ("receiptIntermediate", .rsa2048),
            ("receiptSigner", .rsa2048), ("purchaseSigner", .rsa1024), ("apiKey", .p256),
        ]
        var pem: [String: String] = [:]
        for (name, kind) in kinds { pem[name] = try PrivateKey.generate(kind).pem() }
        self.pem = pem
    }
}
