import Foundation
import TillBilling
import TillCrypto
import TillEmulator

/// The keys and certificates of the emulated store, and of an attacker's authority that looks like it. They are slow to
/// make, so all worlds of a run share them, and a seeded process makes the same ones every time.
public struct StoreKeys: Sendable {
    /// The keys of an authority, PEM by name, and their certificates, DER by name.
    struct Authority: Codable, Sendable {
        var pem: [String: String]
        var certificates: [String: [UInt8]]
    }

    let apple: Authority
    /// An authority with Apple's names and extensions, and Apple's keys except the root's.
    let pirate: Authority

    private static let kinds: [(name: String, kind: PrivateKey.Kind)] = [
        ("root", .p384), ("intermediate", .p384), ("signer", .p256), ("receiptIntermediate", .rsa2048),
        ("receiptSigner", .rsa2048), ("purchaseSigner", .rsa1024), ("apiKey", .p256),
    ]

    /// One of the seeds for which the search for the primes of the RSA keys ends soon.
    private static let seed: UInt64 = 0x5469_6C9C

    /// What a folder has that the workers of one run share; the first worker makes and saves it.
    ///
    /// - Throws: if OpenSSL can't generate a key or sign, or the folder's file can't be read or written.
    init(sharedIn folder: URL) throws {
        let file = folder.appendingPathComponent("store-keys.json")
        if let saved = try? Data(contentsOf: file) {
            let saved = try JSONDecoder().decode([Authority].self, from: saved)
            guard saved.count == 2 else { throw SimulationError("\(file.path) does not hold two authorities") }
            (apple, pirate) = (saved[0], saved[1])
            return
        }
        SeededSignatures.begin(seed: Self.seed)
        var pem: [String: String] = [:]
        for (name, kind) in Self.kinds { pem[name] = try PrivateKey.generate(kind).pem() }
        apple = try Self.authority(with: pem, stream: "apple")
        pem["root"] = nil
        pirate = try Self.authority(with: pem, stream: "pirate")
        // Two workers may make the same ones at once; a reader sees a whole file or none.
        try JSONEncoder().encode([apple, pirate]).write(to: file, options: .atomic)
    }

    private static func authority(with pem: [String: String], stream: String) throws -> Authority {
        let entropy = Entropy(seed, stream)
        let issuer = try Issuer.create(at: SimulatedWorld.start, keys: pem) { entropy.bytes(16) }
        return Authority(
            pem: pem.merging(try issuer.keys()) { given, _ in given }, certificates: issuer.certificates)
    }
}

extension StoreKeys.Authority {
    /// Each world reads its own keys: OpenSSL keeps state with an RSA key, which would carry over to the next world.
    func issuer() throws -> Issuer {
        try Issuer.create(at: SimulatedWorld.start, keys: pem, certificates: certificates) { [] }
    }
}
