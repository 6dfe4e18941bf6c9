import Foundation
import TillAppStore
import TillBilling

/// Verifies proofs on one thread as a server does: different transactions whose signer's chain is cached.
struct VerifyLoop {
    let set: LoadSet

    /// - Returns: verified proofs per second of the core's time, the unit of `openssl speed`, which other processes on
    ///   the machine hardly influence.
    func run(seconds: Double) throws -> Int {
        let proofs = try set.proofs(0..<min(2_000, set.proofCount())).map { Array($0.utf8) }
        var policy = TrustPolicy(bundleID: LoadSet.bundleID, environments: [.sandbox]) {
            Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        }
        policy.roots = [try set.root]
        let verifier = try SignedDataVerifier(policy: policy)
        _ = try verifier.transaction(proofs[0])
        let start = try coreTime()
        var (verified, elapsed) = (0, 0.0)
        while elapsed < seconds {
            for proof in proofs.prefix(500) where try verifier.transaction(proof).quantity == 1 { verified += 1 }
            elapsed = try coreTime() - start
        }
        return Int(Double(verified) / elapsed)
    }

    /// The processor time of this thread in seconds.
    private func coreTime() throws -> Double {
        var time = timespec()
        guard clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { throw LoadError("no clock of this thread") }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
