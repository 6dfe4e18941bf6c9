import TillServer

extension BackgroundJobs {
    /// Runs the jobs beside `body`, and returns when the last pass has ended: what it writes belongs to the journey.
    func whileRunning(_ body: () async throws -> Void) async throws {
        let run = Task { await self.run() }
        do {
            try await body()
        } catch {
            await Self.end(run)
            throw error
        }
        await Self.end(run)
    }

    private static func end(_ run: Task<Void, Never>) async {
        run.cancel()
        await run.value
    }
}
