#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Tells the service manager about this process: systemd's protocol of datagrams to the socket in `NOTIFY_SOCKET`
/// (sd_notify(3)). Without that variable nothing is sent.
struct ServiceNotifications: Sendable {
    /// The socket's address; an abstract name begins with a zero byte.
    private let path: [UInt8]
    /// The service manager ends this process if it gets no sign of life for so long; nil: it expects none.
    let watchdogTime: Duration?

    /// - Parameter processID: this process; `WATCHDOG_PID`, if it is set, names the one that is watched.
    init(environment: [String: String], processID: Int32 = getpid()) {
        let isWatched = environment["WATCHDOG_PID"].map { $0 == String(processID) } ?? true
        let time = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        watchdogTime = isWatched && time > 0 ? .microseconds(time) : nil
        let name = Array((environment["NOTIFY_SOCKET"] ?? "").utf8)
        switch name.first {
        case UInt8(ascii: "/"): path = name
        case UInt8(ascii: "@"): path = [0] + name.dropFirst()
        default: path = []
        }
    }

    /// The server accepts connections.
    func ready() { send("READY=1\nSTATUS=serving") }

    func stopping() { send("STOPPING=1\nSTATUS=finishing the requests in progress") }

    /// A configuration is read again, or a successor starts; ``ready()`` follows.
    func reloading(_ status: String) {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)\nSTATUS=\(status)")
    }

    /// Another process is the service's main process from now on.
    func handedOver(to process: Int32) { send("MAINPID=\(process)\nREADY=1\nSTATUS=serving") }

    func alive() { send("WATCHDOG=1") }

    /// Without an answer: a service manager that is gone must not stop the server.
    private func send(_ text: String) {
        var address = sockaddr_un()
        guard !path.isEmpty, path.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // An abstract name has no end mark: the length tells where it ends.
        let length = socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path)! + path.count)
        let bytes = Array(text.utf8)
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }
}
