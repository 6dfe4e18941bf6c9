import TillSQL

/// The ledger with a suspension point before and after each commit, as with the driver's own threads: other tasks run
/// there, and the server may be killed.
final class SteppedDatabase: Database {
    private let inner: any Database
    private let faults: FaultLedger
    private let isWritten: @Sendable (any Database) async -> Void

    /// - Parameters:
    ///   - faults: decide whether a body is run again, and whether a commit is in doubt.
    ///   - isWritten: checks the ledger after each commit, before the caller gets the result.
    init(
        _ inner: any Database, faults: FaultLedger, isWritten: @escaping @Sendable (any Database) async -> Void
    ) {
        self.inner = inner
        self.faults = faults
        self.isWritten = isWritten
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        await Task.yield()
        let result: Result<Value, any Error>
        if faults.strikes(.bodyRerun, at: "ledger") { await runInVain(body) }
        do { result = .success(try await inner.write(body)) } catch { result = .failure(error) }
        await isWritten(inner)
        await Task.yield()
        let value = try result.get()
        if faults.strikes(.commitInDoubt, at: "ledger") {
            throw DatabaseError(.inputOutput, "the connection was lost during COMMIT", mayHaveCommitted: true)
        }
        return value
    }

    private struct RolledBack: Error {}

    /// Runs a body and rolls it back: an effect outside of the database would then occur twice.
    private func runInVain<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async {
        do {
            try await inner.write { connection in
                _ = try body(connection)
                throw RolledBack()
            }
        } catch {
            // An error of the body itself occurs again in the second run.
        }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        await Task.yield()
        return try await inner.read(body)
    }

    func close() async { await inner.close() }
}
