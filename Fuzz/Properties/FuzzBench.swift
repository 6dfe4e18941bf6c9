import Foundation
import TillAppStore
import TillBilling
import TillCrypto

/// The shared fixtures of the properties, created once: a chain whose keys this process has, the roots of the seeds,
/// whose keys no longer exist, and verifiers for both.
struct FuzzBench: Sendable {
    /// Signs the inputs, so that the code behind the signature check is reached.
    let chain: TestChain
    /// Trusts `chain`.
    let verifier: SignedDataVerifier
    /// Trusts the seeds' roots.
    let seedVerifier: SignedDataVerifier
    let seedRoots: [[UInt8]]
    /// The SHA-256, in hexadecimal, of everything that was signed under the seeds' roots.
    let signed: Set<String>

    /// The device that the seeds' receipts were made for.
    static let device = [UInt8](0..<16)

    /// - Parameter folder: the package's folder `Fuzz`.
    init(folder: URL) throws {
        let authority = folder.appendingPathComponent("authority")
        func bytes(_ name: String) throws -> [UInt8] {
            try [UInt8](Data(contentsOf: authority.appendingPathComponent(name)))
        }
        let lines = String(decoding: try bytes("signed.txt"), as: UTF8.self).split(separator: "\n")
        try self.init(
            seedRoots: [bytes("tokens.cer"), bytes("receipts.cer")],
            signed: Set(lines.filter { !$0.hasPrefix("#") }.map { String($0.prefix(64)) }))
    }

    init(seedRoots: [[UInt8]], signed: Set<String>) throws {
        chain = try TestChain("Till fuzz")
        verifier = try SignedDataVerifier(policy: Self.trust(chain.roots))
        seedVerifier = try SignedDataVerifier(policy: Self.trust(seedRoots))
        self.seedRoots = seedRoots
        self.signed = signed
    }

    /// A moment within the validity of every chain; a fixed one makes runs reproducible.
    static let now = Instant(milliseconds: 1_748_736_000_000)

    static func trust(_ roots: [[UInt8]]) -> TrustPolicy {
        var policy = TrustPolicy(bundleID: nil, environments: nil) { now }
        policy.roots = roots
        return policy
    }

    static func inspection(_ roots: [[UInt8]]) -> InspectionPolicy {
        var policy = InspectionPolicy { now }
        policy.roots = roots
        policy.device = nil
        return policy
    }

    func wasSigned(_ bytes: some Collection<UInt8>) -> Bool { signed.contains(Self.hash(bytes)) }

    static func hash(_ bytes: some Collection<UInt8>) -> String {
        Digest.sha256.hash(bytes).map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }

    /// Whether a costly property is checked for this input: for one in `every`, always the same ones.
    static func isDrawn(_ input: [UInt8], oneIn every: UInt32) -> Bool {
        input.reduce(0x811C_9DC5 as UInt32) { ($0 ^ UInt32($1)) &* 0x0100_0193 } >> 8 % every == 0
    }
}
