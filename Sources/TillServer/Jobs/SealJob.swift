import TillBilling
import TillLedger
import TillSQL
import TillThreads

/// Seals what was committed, and records checkpoints of the seals for the shop's receivers.
final class SealJob: Sendable {
    /// Milliseconds between two passes: a row is sealed within a second of its commit.
    static let interval: Int64 = 400
    /// Milliseconds between two checkpoints.
    private static let checkpointInterval: Int64 = 3_600_000

    private struct State {
        var hasRun = false
        var sealed: Int64 = 0
        var late: Int64 = 0
        var foreign: Int64 = 0
        var checkpoint: Checkpoint?
        var checkpointAt: Instant?
    }

    private let sealer = Sealer()
    fileprivate var waits: Bool { sealer.waits }
    fileprivate var hasRun: Bool { state.withLock { $0.hasRun } }
    private let state = Locked(State())

    func advance(_ server: Server) async throws {
        guard server.configuration.sealKey != nil else { return }
        let before = state.withLock { $0.hasRun } ? nil : try await sealer.newest(server.ledger)
        let pass = try await sealer.seal(server.ledger)
        let isFirst = state.withLock { state in
            state.sealed += pass.rows + pass.lateRows
            state.late += pass.lateRows
            state.foreign += Int64(pass.foreignRows.count)
            defer { state.hasRun = true }
            return !state.hasRun
        }
        for row in pass.foreignRows.prefix(10) { server.log.write(.foreignRow, ["row": .text(row)]) }
        if !isFirst, pass.foundRows > 0 { server.log.write(.unmarkedRows, ["rows": .integer(pass.foundRows)]) }
        if isFirst, pass.foundRows > 0 || before == nil && pass.rows > 0 {
            if let before {
                server.log.write(
                    .sealsResumed, ["rows": .integer(pass.foundRows), "last_seal_at": .text(before.rfc3339)])
            } else {
                server.log.write(.sealsBegun, ["rows": .integer(pass.rows)])
            }
        }
        try await recordCheckpoint(server)
        if let first = pass.stopped.first { throw DatabaseError(.other, first) }
    }

    /// Only if something besides events was sealed since: a checkpoint is an event itself.
    private func recordCheckpoint(_ server: Server) async throws {
        let now = server.clock()
        let (last, at) = state.withLock { ($0.checkpoint, $0.checkpointAt) }
        if let at, now.milliseconds - at.milliseconds < Self.checkpointInterval { return }
        let next = try await server.ledger.recordCheckpoint(unless: last)
        state.withLock { state in
            state.checkpoint = next ?? state.checkpoint
            state.checkpointAt = now
        }
    }

    var metrics: [Metric] {
        let state = state.withLock { $0 }
        return [
            Metric(.rowsSealed, Double(state.sealed)), Metric(.rowsSealedLate, Double(state.late)),
            Metric(.foreignRows, Double(state.foreign)),
        ]
    }
}

extension Server {
    /// Whether this server has sealed rows of the ledger: where several share it, one of them does.
    package var hasSealed: Bool { sealing.hasRun }

    /// Seals what was committed so far. A fault is logged as one of the job's.
    package func sealNow() async {
        do {
            try await sealing.advance(self)
        } catch {
            log.write(.jobFailed, ["job": "seals", "cause": .cause(error)])
        }
    }

    /// Seals everything that was committed before the call, also the checkpoint that this records, and rows behind ids
    /// that no row uses: these need a second look.
    ///
    /// - Parameter looks: how often it pauses and looks again for such rows.
    package func sealEverything(looks: Int, pause: () async -> Void) async {
        await sealNow()
        // The first pass may have recorded a checkpoint, which is an event itself.
        await sealNow()
        for _ in 0..<looks where sealing.waits {
            await pause()
            await sealNow()
        }
    }
}
