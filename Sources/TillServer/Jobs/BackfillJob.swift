import TillLedger
import TillSQL

/// Fills the rows of a schema's backfills while the server serves requests.
enum BackfillJob {
    /// Rows in one write: it takes a few milliseconds, so that a purchase hardly waits for it.
    static let batch = 250
    /// Batches in one pass, which ends with a log line. A pass that went on to the last row would look frozen.
    private static let longestPass = 400

    static func job(of schema: DatabaseSchema) -> BackgroundJobs.Job {
        BackgroundJobs.Job(name: "backfill", interval: 1_000) { try await run(schema, $0) }
    }

    private static func run(_ schema: DatabaseSchema, _ server: Server) async throws {
        let backfills = Backfills(server.database, schema)
        var batches = 0
        while !Task.isCancelled,
            let progress = try await backfills.fillBatch(of: batch, at: server.clock().milliseconds)
        {
            batches += 1
            guard progress.isFinished || batches >= longestPass else { continue }
            server.log.write(
                .backfillProgress,
                [
                    "migration": .integer(progress.number), "rows": .integer(progress.rows),
                    "finished": .bool(progress.isFinished),
                ])
            if batches >= longestPass { return }
        }
    }
}
