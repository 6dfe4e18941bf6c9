#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A value protected by a mutex.
///
/// The mutex is pthread's: on Linux, ThreadSanitizer does not see `Synchronization.Mutex` and reports false races
/// (docs/decisions/0059).
public final class Locked<Value>: @unchecked Sendable {
    @usableFromInline let mutex = PlatformMutex()
    @usableFromInline var value: Value

    public init(_ value: Value) { self.value = value }

    deinit { mutex.destroy() }

    /// Runs `body` with exclusive access to the value. Keep it short, and never wait inside it.
    ///
    /// Inlinable: otherwise every use in another module asks the runtime for the metadata of its types.
    @discardableResult @inlinable
    public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        mutex.lock()
        defer { mutex.unlock() }
        return try body(&value)
    }
}

extension Locked<Void> {
    /// Guards several variables of its owner, which accesses them only inside `withLock`.
    public convenience init() { self.init(()) }

    @discardableResult @inlinable
    public func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try withLock { (_: inout Void) throws(Failure) in try body() }
    }
}

/// A mutex with one condition, for a thread that waits until another has work for it. The user owns the guarded state.
public final class Monitor: @unchecked Sendable {
    private let mutex = PlatformMutex()
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    public init() {
        condition.initialize(to: pthread_cond_t())
        #if canImport(Darwin)
            pthread_cond_init(condition, nil)
        #else
            // Keep C structs of this kind on the heap: docs/STYLE.md, "Shape".
            let attributes = UnsafeMutablePointer<pthread_condattr_t>.allocate(capacity: 1)
            pthread_condattr_init(attributes)
            // A monotonic clock keeps timeouts correct when the system clock is changed.
            pthread_condattr_setclock(attributes, CLOCK_MONOTONIC)
            pthread_cond_init(condition, attributes)
            pthread_condattr_destroy(attributes)
            attributes.deallocate()
        #endif
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
        mutex.destroy()
    }

    public func withLock<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        mutex.lock()
        defer { mutex.unlock() }
        return try body()
    }

    /// Call inside `withLock`: releases the mutex until another thread signals.
    public func wait() { pthread_cond_wait(condition, mutex.pointer) }

    /// Call inside `withLock`: as `wait()`, with a time limit in milliseconds.
    public func wait(milliseconds: Int) {
        #if canImport(Darwin)
            var limit = timespec(tv_sec: milliseconds / 1_000, tv_nsec: milliseconds % 1_000 * 1_000_000)
            pthread_cond_timedwait_relative_np(condition, mutex.pointer, &limit)
        #else
            var deadline = timespec()
            clock_gettime(CLOCK_MONOTONIC, &deadline)
            deadline.tv_nsec += milliseconds * 1_000_000
            deadline.tv_sec += deadline.tv_nsec / 1_000_000_000
            deadline.tv_nsec %= 1_000_000_000
            pthread_cond_timedwait(condition, mutex.pointer, &deadline)
        #endif
    }

    public func signal() { pthread_cond_signal(condition) }
    public func broadcast() { pthread_cond_broadcast(condition) }
}

/// The C library's mutex at a stable address, as C requires.
@usableFromInline struct PlatformMutex {
    @usableFromInline let pointer: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        pointer = .allocate(capacity: 1)
        pointer.initialize(to: pthread_mutex_t())
        pthread_mutex_init(pointer, nil)
    }

    @inlinable func lock() { pthread_mutex_lock(pointer) }
    @inlinable func unlock() { pthread_mutex_unlock(pointer) }

    /// Call once, when the owner is deallocated.
    func destroy() {
        pthread_mutex_destroy(pointer)
        pointer.deallocate()
    }
}
