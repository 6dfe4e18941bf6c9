import Foundation
import TillAppStore
import TillBilling

/// Verifies proofs on one thread, as a server does: every proof another transaction, the signer's chain seen before.
struct VerifyLoop {
    let set: LoadSet

    /// - Returns: verified proofs a second.
    func run(seconds: Double) throws -> Int {
        let proofs = try set.proofs(0..<min(2_000, set.proofCount())).map { Array($0.utf8) }
        var policy = TrustPolicy(bundleID: LoadSet.bundleID, environments: [.sandbox]) {
            Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        }
        policy.roots = [try set.root]
        let verifier = try SignedDataVerifier(policy: policy)
        _ = try verifier.transaction(proofs[0])
        let clock = ContinuousClock()
        let start = clock.now
        var verified = 0
        while clock.now - start < .seconds(seconds) {
            for proof in proofs.prefix(500) where try verifier.transaction(proof).quantity == 1 { verified += 1 }
        }
        return Int(Double(verified) / ((clock.now - start) / .seconds(1)))
    }
}
