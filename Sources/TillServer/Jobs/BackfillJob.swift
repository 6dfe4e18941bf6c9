import TillLedger
import TillSQL

/// Fills the rows of a schema's backfills while the server serves requests.
enum BackfillJob {
    /// Rows in one write: it takes a few milliseconds, so that a purchase hardly waits for it.
    static let batch = 250
    /// Batches from one log line to the next.
    private static let reportInterval = 400

    static func job(of schema: DatabaseSchema) -> BackgroundJobs.Job {
        BackgroundJobs.Job(name: "backfill", interval: 10_000) { try await run(schema, $0) }
    }

    private static func run(_ schema: DatabaseSchema, _ server: Server) async throws {
        let backfills = Backfills(server.database, schema)
        var batches = 0
        while !Task.isCancelled,
            let progress = try await backfills.fillBatch(of: batch, at: server.clock().milliseconds)
        {
            batches += 1
            guard progress.isFinished || batches % reportInterval == 0 else { continue }
            server.log.write(
                .backfillProgress,
                [
                    "migration": .integer(progress.number), "rows": .integer(progress.rows),
                    "finished": .bool(progress.isFinished),
                ])
        }
    }
}
