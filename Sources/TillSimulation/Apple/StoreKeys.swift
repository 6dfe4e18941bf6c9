import Foundation
import TillCrypto

/// The private keys of the emulated store. RSA keys are slow to generate, so all worlds of a run share them, and a
/// seeded process generates the same keys every time.
public struct StoreKeys: Sendable {
    let pem: [String: String]

    private static let kinds: [(name: String, kind: PrivateKey.Kind)] = [
        ("root", .p384), ("intermediate", .p384), ("signer", .p256), ("receiptIntermediate", .rsa2048),
        ("receiptSigner", .rsa2048), ("purchaseSigner", .rsa1024), ("apiKey", .p256),
    ]

    /// The keys in a folder that the workers of one run share; the first worker generates and saves them.
    ///
    /// - Throws: if OpenSSL can't generate a key, or the folder's file can't be read or written.
    init(sharedIn folder: URL) throws {
        let file = folder.appendingPathComponent("store-keys.json")
        if let saved = try? Data(contentsOf: file) {
            pem = try JSONDecoder().decode([String: String].self, from: saved)
            return
        }
        SeededSignatures.begin(seed: 0x5469_6C6C)
        var pem: [String: String] = [:]
        for (name, kind) in Self.kinds { pem[name] = try PrivateKey.generate(kind).pem() }
        self.pem = pem
        // Two workers may generate the same keys at once; a reader sees a whole file or none.
        try JSONEncoder().encode(pem).write(to: file, options: .atomic)
    }
}
