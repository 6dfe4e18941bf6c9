import CTillOpenSSL

/// A value that threads take turns with.
///
/// The lock is libcrypto's (a pthread lock underneath): thread sanitizers understand it, where they report false
/// races for `Synchronization.Mutex`.
public final class Locked<Value>: @unchecked Sendable {
    private let lock: UnsafeMutableRawPointer
    private var value: Value

    public init(_ value: Value) {
        guard let lock = CRYPTO_THREAD_lock_new() else { fatalError("out of memory for a lock") }
        self.lock = lock
        self.value = value
    }

    deinit { CRYPTO_THREAD_lock_free(lock) }

    /// Runs `body` alone with the value. Keep it short, and never wait inside it.
    public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        CRYPTO_THREAD_write_lock(lock)
        defer { CRYPTO_THREAD_unlock(lock) }
        return try body(&value)
    }
}
