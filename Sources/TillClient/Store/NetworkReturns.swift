#if canImport(Network)
    import Dispatch
    import Network

    /// Tells when the device has a network again, by the system's path monitor.
    enum NetworkReturns {
        static func stream() -> AsyncStream<Void> {
            AsyncStream { continuation in
                let monitor = NWPathMonitor()
                // Older SDKs do not call the monitor sendable.
                let running = Guarded(monitor)
                let wasSatisfied = Guarded(true)
                monitor.pathUpdateHandler = { path in
                    let isBack = wasSatisfied.withLock { before in
                        defer { before = path.status == .satisfied }
                        return !before && path.status == .satisfied
                    }
                    if isBack { continuation.yield() }
                }
                continuation.onTermination = { _ in running.withLock { $0.cancel() } }
                monitor.start(queue: DispatchQueue(label: "till.network"))
            }
        }
    }
#endif
