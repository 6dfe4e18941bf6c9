import TillBilling
import TillLedger
import TillThreads

/// Compresses stored proofs after their purchases were granted, a bounded number in one pass.
final class ProofCompressionJob: Sendable {
    /// Commits in one pass. With the pause between passes, some 40 million proofs a day.
    private static let batches = 50
    /// Milliseconds after which the rows that stayed are read again: refunds bring newer copies of old purchases.
    private static let roundInterval: Int64 = 86_400_000
    /// Milliseconds after this server's start, on a database that servers share: during an upgrade a server of the
    /// release before may run beside this one, and it finds no compressed proof.
    private static let upgradePause: Int64 = 3_600_000

    private struct State {
        /// The last row read.
        var position: Int64 = 0
        var begunAt: Instant?
        /// When this server could first have compressed something.
        var startedAt: Instant?
        var compressed: Int64 = 0
        var bytesSaved: Int64 = 0
    }

    private let state = Locked(State())

    func advance(_ server: Server) async throws {
        let now = server.clock()
        let startedAt = state.withLock { state in
            state.startedAt = state.startedAt ?? now
            return state.startedAt ?? now
        }
        let age = now.milliseconds - startedAt.milliseconds
        guard !server.database.isShared || age >= Self.upgradePause else { return }
        state.withLock { state in
            if let begun = state.begunAt, now.milliseconds - begun.milliseconds < Self.roundInterval { return }
            (state.position, state.begunAt) = (0, now)
        }
        var (compressed, bytesSaved): (Int64, Int64) = (0, 0)
        for _ in 0..<Self.batches where !Task.isCancelled {
            let batch = try await ProofCompression(server.database).compress(after: state.withLock { $0.position })
            state.withLock { state in
                state.position = batch.last ?? state.position
                state.compressed += batch.compressed
                state.bytesSaved += batch.bytesSaved
            }
            compressed += batch.compressed
            bytesSaved += batch.bytesSaved
            if batch.last == nil { break }
        }
        guard compressed > 0 else { return }
        server.log.write(.proofsCompressed, ["proofs": .integer(compressed), "bytes_saved": .integer(bytesSaved)])
    }

    var metrics: [Metric] {
        let state = state.withLock { $0 }
        return [
            Metric(.proofsCompressed, Double(state.compressed)), Metric(.proofBytesSaved, Double(state.bytesSaved)),
        ]
    }
}
