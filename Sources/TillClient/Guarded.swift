import Foundation

/// A value that threads take turns with, on every system that apps run on: `Synchronization.Mutex` begins with iOS 18.
final class Guarded<Value>: @unchecked Sendable {
    // Guards `value`, which is touched inside `withLock` only.
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    /// Runs `body` alone with the value. Keep it short, and never wait inside it.
    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}

extension Guarded<Void> {
    /// Guards several variables of its owner, who touches them inside `withLock` only.
    convenience init() { self.init(()) }

    func withLock<Result>(_ body: () throws -> Result) rethrows -> Result { try withLock { _ in try body() } }
}
