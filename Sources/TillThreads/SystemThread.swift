#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A thread of its own: waiting for a disk or a socket on Swift's few shared threads would stop everything else.
public struct SystemThread: @unchecked Sendable {
    // Only an id: `join` and `detach` are called once, by the owner.
    private let thread: pthread_t

    /// Starts `body` on a new thread; nil when the system has no more threads to give.
    public init?(_ body: @escaping @Sendable () -> Void) {
        // The new thread takes this reference over; if there is none, it is released below.
        let start = Unmanaged.passRetained(Start(body))
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        let code = pthread_create(
            &thread, nil,
            { argument in
                let argument: UnsafeMutableRawPointer? = argument
                guard let argument else { return nil }
                Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, start.toOpaque())
        #if canImport(Darwin)
            guard code == 0, let thread else {
                start.release()
                return nil
            }
        #else
            guard code == 0 else {
                start.release()
                return nil
            }
        #endif
        self.thread = thread
    }

    /// Starts `body` on a thread that ends by itself. False when the system has no more threads to give.
    public static func detached(_ body: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = SystemThread(body) else { return false }
        thread.detach()
        return true
    }

    /// Waits until the body has returned. Call it, or `detach`, once.
    public func join() { pthread_join(thread, nil) }

    public func detach() { pthread_detach(thread) }

    private final class Start {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
