import TillBilling
import TillCrypto
import TillThreads

/// The time and the fresh ids of one commit. Both are drawn before the commit's body runs, so that a body that the
/// database runs again writes the same values. Log lines of the commit, and the header that it stored, are used after
/// it.
package struct CommitInputs: Sendable {
    package let now: Instant
    private let ids: FreshIDs
    private let log: Log
    private let lines = Locked<[(event: LogEvent, fields: Log.Fields)]>([])
    private let header = Locked<(@Sendable () -> Void)?>(nil)

    /// - Parameter seed: unpredictable bytes, at least 16.
    package init(now: Instant, seed: [UInt8], log: Log = .none) {
        precondition(seed.count >= 16, "ids that can be guessed name orders of other customers")
        self.now = now
        self.log = log
        ids = FreshIDs(seed)
    }

    package func freshID() -> UniqueID { ids.next() }

    /// Call at the beginning of the body.
    package func begin() -> CommitInputs {
        ids.restart()
        lines.withLock { $0 = [] }
        header.withLock { $0 = nil }
        return self
    }

    /// Keeps a log line for the time after the commit.
    func note(_ event: LogEvent, _ fields: @autoclosure () -> Log.Fields) {
        guard log.isWritten(event.level) else { return }
        let fields = fields()
        lines.withLock { $0.append((event, fields)) }
    }

    /// Keeps what is known of a proof's header once it is committed.
    func remember(_ prepared: ProofTable.Prepared, in headers: KnownProofHeaders) {
        guard let seen = prepared.seen else { return }
        header.withLock { $0 = { headers.insert(seen) } }
    }

    /// Call after the commit.
    package func finish() {
        header.withLock { $0 }?()
        for line in lines.withLock({ $0 }) { log.write(line.event, line.fields) }
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
