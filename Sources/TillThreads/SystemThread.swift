#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A thread of its own: blocking one of Swift's few shared threads on a disk or a socket would stop all other work.
public struct SystemThread: @unchecked Sendable {
    // Holds only an id. The owner calls either `join` or `detach`, once.
    private let thread: pthread_t

    /// Starts `body` on a new thread; nil when the system cannot create one.
    public init?(_ body: @escaping @Sendable () -> Void) {
        // The new thread takes over this reference; if the thread cannot start, it is released below.
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

    /// Starts `body` on a thread that ends by itself. False when the system cannot create one.
    public static func detached(_ body: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = SystemThread(body) else { return false }
        thread.detach()
        return true
    }

    /// Waits until the body has returned. Call either this or `detach`, once.
    public func join() { pthread_join(thread, nil) }

    public func detach() { pthread_detach(thread) }

    private final class Start {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
