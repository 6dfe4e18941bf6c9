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

    init(_ process: ProcessEffects) {
        let (all, continuation) = AsyncStream<ServeRun.Request>.makeStream()
        self.all = all
        let (untilStopped, upgrades, stopFlag) = (process.waitForStop(), process.upgradeRequests(), stopFlag)
        // The tasks run until the process ends.
        Task {
            await untilStopped()
            stopFlag.withLock { $0 = true }
            continuation.yield(.stop)
        }
        Task { for await _ in upgrades { continuation.yield(.upgrade) } }
    }

    /// Whether a stop was requested, even while another request is being served.
    var isStopping: Bool { stopFlag.withLock { $0 } }
}

func processID() -> Int32 { getpid() }
