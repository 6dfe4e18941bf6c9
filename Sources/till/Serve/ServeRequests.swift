import TillThreads

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What signals ask a running server to do, in the order of their arrival.
struct ServeRequests: Sendable {
    let all: AsyncStream<ServeRun.Request>
    private let stopFlag = Locked(false)
    /// Whether a reload was requested and has not begun: signals until then count as one.
    private let reloadFlag = Locked(false)

    /// - Parameter hangUp: waits for the next SIGHUP; false ends the wait.
    init(_ process: ProcessEffects, hangUp: @escaping @Sendable () async -> Bool) {
        let (all, continuation) = AsyncStream<ServeRun.Request>.makeStream()
        self.all = all
        let (untilStopped, upgrades) = (process.waitForStop(), process.upgradeRequests())
        let (stopFlag, reloadFlag) = (stopFlag, reloadFlag)
        // The tasks run until the process ends.
        Task {
            await untilStopped()
            stopFlag.withLock { $0 = true }
            continuation.yield(.stop)
        }
        Task { for await _ in upgrades { continuation.yield(.upgrade) } }
        Task {
            while await hangUp() {
                let isFirst = reloadFlag.withLock { flag in
                    defer { flag = true }
                    return !flag
                }
                if isFirst { continuation.yield(.reload) }
            }
        }
    }

    /// Whether a stop was requested, even while another request is being served.
    var isStopping: Bool { stopFlag.withLock { $0 } }

    /// Whether a reload was requested while another request is being served.
    var isReloadDue: Bool { reloadFlag.withLock { $0 } }

    /// Call it before the configuration is read.
    func reloadBegins() { reloadFlag.withLock { $0 = false } }
}

func processID() -> Int32 { getpid() }
