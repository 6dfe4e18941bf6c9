import Glibc

/// A thread of its own, because waiting for a disk on Swift's few shared threads would stop every other request.
struct DiskThread: @unchecked Sendable {
    private let thread: pthread_t

    /// Starts `body` on a new thread; nil when the system has no more threads to give.
    init?(_ body: @escaping @Sendable () -> Void) {
        let start = Unmanaged.passRetained(Start(body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            return nil
        }
        self.thread = thread
    }

    /// Waits until the body has returned. Call it, or `detach`, once.
    func join() { pthread_join(thread, nil) }

    func detach() { pthread_detach(thread) }

    private final class Start {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
