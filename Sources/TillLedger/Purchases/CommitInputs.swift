import TillBilling
import TillCrypto
import TillThreads

/// The time and the fresh ids of one commit. Both are drawn before the commit's body runs, so that a body that the
/// database runs again writes the same values.
package struct CommitInputs: Sendable {
    package let now: Instant
    private let ids: FreshIDs

    /// - Parameter seed: unpredictable bytes, at least 16.
    package init(now: Instant, seed: [UInt8]) {
        precondition(seed.count >= 16, "ids that can be guessed name orders of other customers")
        self.now = now
        ids = FreshIDs(seed)
    }

    package func freshID() -> UniqueID { ids.next() }

    /// Call at the beginning of the body.
    package func begin() -> CommitInputs {
        ids.restart()
        return self
    }

    private final class FreshIDs: Sendable {
        private let seed: [UInt8]
        private let count = Locked<UInt32>(0)

        init(_ seed: [UInt8]) { self.seed = seed }

        func restart() { count.withLock { $0 = 0 } }

        func next() -> UniqueID {
            let number = count.withLock { count in
                count += 1
                return count
            }
            return UniqueID(random: Array(Digest.sha256.hash(seed + number.bytes).prefix(16)))
        }
    }
}

extension UInt32 {
    fileprivate var bytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
