import TillSQL

/// The ledger with an await before and after each of its commits, as the driver's own threads have it: at each of them
/// others go first, and the server may be killed.
final class SteppedDatabase: Database {
    private let inner: any Database
    private let faults: FaultLedger
    private let isWritten: @Sendable (any Database) async -> Void

    /// - Parameters:
    ///   - faults: whether a body is run again, and whether a commit stays in doubt.
    ///   - isWritten: looks at the books after each commit, before anybody hears of it.
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

    /// Runs a body and undoes it: what it leaves behind outside of the database would count twice.
    private func runInVain<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async {
        do {
            try await inner.write { connection in
                _ = try body(connection)
                throw RolledBack()
            }
        } catch {
            // The second run meets the same fault, if it was the body's own.
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
