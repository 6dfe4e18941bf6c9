import TillSQL

/// The ledger with an await before and after each of its commits, as the driver's own threads have it: at each of them
/// others go first, and the server may be killed.
final class SteppedDatabase: Database {
    private let inner: any Database
    private let isWritten: @Sendable (any Database) async -> Void

    /// - Parameter isWritten: looks at the books after each commit, before anybody hears of it.
    init(_ inner: any Database, isWritten: @escaping @Sendable (any Database) async -> Void) {
        self.inner = inner
        self.isWritten = isWritten
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        await Task.yield()
        let result: Result<Value, any Error>
        do { result = .success(try await inner.write(body)) } catch { result = .failure(error) }
        await isWritten(inner)
        await Task.yield()
        return try result.get()
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        await Task.yield()
        return try await inner.read(body)
    }

    func close() async { await inner.close() }
}
