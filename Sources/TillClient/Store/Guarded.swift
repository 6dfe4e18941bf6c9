import Foundation

/// A value protected by a lock, on every system that apps support: `Synchronization.Mutex` requires iOS 18.
final class Guarded<Value>: @unchecked Sendable {
    // Guards `value`, which is accessed only inside `withLock`.
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    /// Runs `body` with exclusive access to the value. Keep it short, and never wait inside it.
    @discardableResult
    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}

extension Guarded<Void> {
    /// Guards several variables of its owner, which accesses them only inside `withLock`.
    convenience init() { self.init(()) }

    @discardableResult
    func withLock<Result>(_ body: () throws -> Result) rethrows -> Result { try withLock { _ in try body() } }
}
