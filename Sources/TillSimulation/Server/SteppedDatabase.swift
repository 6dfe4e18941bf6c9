import TillStorage

/// The ledger with an await before and after each of its commits, as the driver's own threads have it: at each of them
/// others go first, and the server may be killed.
final class SteppedDatabase: Database {
    private let inner: any Database

    init(_ inner: any Database) { self.inner = inner }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Session) throws -> Value
    ) async throws -> Value {
        await Task.yield()
        let result: Result<Value, any Error>
        do { result = .success(try await inner.write(body)) } catch { result = .failure(error) }
        await Task.yield()
        return try result.get()
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Session) throws -> Value
    ) async throws -> Value {
        await Task.yield()
        return try await inner.read(body)
    }

    func close() async { await inner.close() }
}
