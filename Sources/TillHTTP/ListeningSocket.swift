#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A bound, listening, non-blocking socket.
///
/// Created here and not by libmicrohttpd, so that a taken port is a distinct error and SO_REUSEPORT is never set: with
/// it, a forgotten server process would silently take half of the connections.
public struct ListeningSocket: Sendable {
    public let descriptor: Int32
    public let port: UInt16
    /// The numeric address that it is bound to: `127.0.0.1`, `0.0.0.0`, `::`.
    public let host: String
    let isIPv6: Bool
    /// Whether another process holds the socket for the next server: then connections wait in it while none accepts.
    public let isHeldElsewhere: Bool

    init(address: String, port: UInt16) throws(ListenerError) {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = streamSocket
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address, String(port), &hints, &found) == 0, let found else { throw .badAddress(address) }
        defer { freeaddrinfo(found) }
        let info = found.pointee
        let descriptor = socket(info.ai_family, info.ai_socktype | closeOnExec, info.ai_protocol)
        guard descriptor >= 0 else { throw .system(step: "socket", code: errno) }
        do throws(ListenerError) {
            try Self.listen(descriptor, info, address: address, port: port)
            (_, host, self.port) = try Self.boundAddress(of: descriptor)
        } catch {
            systemClose(descriptor)
            throw error
        }
        self.descriptor = descriptor
        isIPv6 = info.ai_family == AF_INET6
        isHeldElsewhere = false
    }

    /// A socket that another process bound and passed on. It becomes non-blocking, and is closed in programs that this
    /// process starts.
    ///
    /// - Throws: `notListening` unless it is a TCP socket that listens.
    public init(inheriting descriptor: Int32, isHeldElsewhere: Bool) throws(ListenerError) {
        var length = socklen_t(MemoryLayout<Int32>.size)
        var (kind, listens): (Int32, Int32) = (0, 0)
        guard getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &length) == 0 else {
            throw .notListening(descriptor: descriptor, reason: "it is not a socket")
        }
        guard kind == streamSocket, getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0,
            listens != 0
        else { throw .notListening(descriptor: descriptor, reason: "it does not listen for connections") }
        let (family, host, port) = try Self.boundAddress(of: descriptor)
        guard family == AF_INET || family == AF_INET6 else {
            throw .notListening(descriptor: descriptor, reason: "it is not a TCP socket")
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        self.descriptor = descriptor
        (self.host, self.port) = (host, port)
        isIPv6 = family == AF_INET6
        self.isHeldElsewhere = isHeldElsewhere
    }

    private init(_ other: ListeningSocket, descriptor: Int32) {
        self.descriptor = descriptor
        (host, port) = (other.host, other.port)
        (isIPv6, isHeldElsewhere) = (other.isIPv6, other.isHeldElsewhere)
    }

    /// The same socket under another descriptor, with an owner of its own.
    public func duplicate() throws(ListenerError) -> ListeningSocket {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw .system(step: "fcntl", code: errno) }
        return ListeningSocket(self, descriptor: copy)
    }

    /// Closes this descriptor. The socket listens until its last descriptor, in any process, is closed.
    public func close() { systemClose(descriptor) }

    private static func listen(
        _ descriptor: Int32, _ info: addrinfo, address: String, port: UInt16
    ) throws(ListenerError) {
        // Lets a restarted server bind while connections of the previous one are in TIME_WAIT.
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        if closeOnExec == 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        if bind(descriptor, info.ai_addr, info.ai_addrlen) != 0 {
            switch errno {
            case EADDRINUSE: throw .addressInUse(address: address, port: port)
            case EACCES, EPERM: throw .notPermitted(port: port)
            case EADDRNOTAVAIL: throw .badAddress(address)
            default: throw .system(step: "bind", code: errno)
            }
        }
        if systemListen(descriptor, backlog) != 0 {
            if errno == EADDRINUSE { throw .addressInUse(address: address, port: port) }
            throw .system(step: "listen", code: errno)
        }
    }

    private static func boundAddress(
        of descriptor: Int32
    ) throws(ListenerError) -> (family: Int32, host: String, port: UInt16) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { throw .system(step: "getsockname", code: errno) }
        let port = withUnsafeBytes(of: storage) { bytes in
            // Both families store the port after the family, in network order.
            UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let named = withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getnameinfo($0, length, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
            }
        }
        // A socket of another family has no such name, and is refused for its family.
        let text =
            named == 0 ? String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : ""
        return (Int32(storage.ss_family), text, port)
    }
}

/// Connections that the kernel keeps while no process accepts: those of the second in which one program takes over from
/// another. The system's own limit (`net.core.somaxconn`, usually 4096) applies too.
private let backlog: Int32 = 4096

#if canImport(Glibc)
    private let streamSocket = Int32(SOCK_STREAM.rawValue)
    /// Set by the call that creates the socket: a program that another thread starts right after it would inherit the
    /// socket.
    private let closeOnExec = Int32(SOCK_CLOEXEC.rawValue)
    let noSignal = Int32(MSG_NOSIGNAL)
    let dontWait = Int32(MSG_DONTWAIT)
    let peek = Int32(MSG_PEEK)
    let shutBoth = Int32(SHUT_RDWR)
    let shutWriting = Int32(SHUT_WR)
#else
    private let streamSocket = SOCK_STREAM
    private let closeOnExec: Int32 = 0
    let noSignal: Int32 = 0
    let dontWait = MSG_DONTWAIT
    let peek = MSG_PEEK
    let shutBoth = SHUT_RDWR
    let shutWriting = SHUT_WR
#endif

private func systemClose(_ descriptor: Int32) {
    #if canImport(Glibc)
        _ = Glibc.close(descriptor)
    #else
        _ = Darwin.close(descriptor)
    #endif
}

private func systemListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { listen(descriptor, backlog) }

/// Raises the process's limit of open files to the maximum, and returns it.
func raiseOpenFileLimit() -> Int {
    var limit = rlimit()
    #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        let resource = RLIMIT_NOFILE
    #endif
    guard getrlimit(resource, &limit) == 0 else { return 1024 }
    if limit.rlim_cur < limit.rlim_max {
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        if setrlimit(resource, &raised) == 0 { limit = raised }
    }
    return Int(clamping: limit.rlim_cur)
}

/// The other end of a connection: text for people, and the key that connections are counted by.
struct PeerAddress: Sendable {
    let text: String
    let key: Key

    struct Key: Hashable, Sendable {
        let network: UInt64
        let host: UInt64
    }

    /// - Parameter keyOnly: leaves `text` empty, for callers that only count.
    init(_ address: UnsafePointer<sockaddr>?, keyOnly: Bool = false) {
        guard let address else {
            (text, key) = ("", Key(network: 0, host: 0))
            return
        }
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let bits = raw.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
            key = Key(network: 4, host: UInt64(bits))
            text = keyOnly ? "" : Self.text(AF_INET, raw + 4)
        case AF_INET6:
            let high = raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            let middle = raw.loadUnaligned(fromByteOffset: 16, as: UInt32.self)
            let mapped = high == 0 && middle == UInt32(bigEndian: 0xFFFF)
            let low = raw.loadUnaligned(fromByteOffset: 20, as: UInt32.self)
            // A client with one IPv6 address usually controls its whole /64.
            key = mapped ? Key(network: 4, host: UInt64(low)) : Key(network: 6, host: high)
            text = keyOnly ? "" : mapped ? Self.text(AF_INET, raw + 20) : Self.text(AF_INET6, raw + 8)
        default: (text, key) = ("", Key(network: 0, host: 0))
        }
    }

    private static func text(_ family: Int32, _ bytes: UnsafeRawPointer) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            guard let start = buffer.baseAddress,
                inet_ntop(family, bytes, start, socklen_t(buffer.count)) != nil
            else { return "" }
            return String(cString: start)
        }
    }
}
