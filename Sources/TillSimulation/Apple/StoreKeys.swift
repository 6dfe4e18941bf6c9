import TillCrypto

/// The private keys of the emulated store: RSA keys take long to make, so all worlds of a process share theirs, and a
/// seeded process makes the same ones every time.
public struct StoreKeys: Sendable {
    let pem: [String: String]

    /// - Throws: if OpenSSL can't make a key.
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
