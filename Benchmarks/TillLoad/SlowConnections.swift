import Foundation
import TillThreads

/// Connections that begin a request and do not complete it: they send nothing more, or a byte a second. Connections
/// that the server closes are reopened.
final class SlowConnections: Sendable {
    private let port: UInt16
    /// The number of source addresses in 127.0.0.0/8.
    private let addresses: Int
    /// Whether each connection sends a byte a second.
    private let sends: Bool
    private let state = Locked((isOver: false, isRunning: false))

    init(_ port: UInt16, addresses: Int, sends: Bool) {
        self.port = port
        self.addresses = addresses
        self.sends = sends
    }

    func start(count: Int) {
        state.withLock { $0.isRunning = true }
        Thread.detachNewThread { [self] in
            var descriptors = [Int32](repeating: -1, count: count)
            while !state.withLock({ $0.isOver }) {
                for index in descriptors.indices { keep(&descriptors[index], index) }
                usleep(1_000_000)
            }
            for descriptor in descriptors where descriptor >= 0 { close(descriptor) }
            state.withLock { $0.isRunning = false }
        }
    }

    /// Waits until the thread has ended.
    func stop() {
        state.withLock { $0.isOver = true }
        while state.withLock({ $0.isRunning }) { usleep(10_000) }
    }

    private func keep(_ descriptor: inout Int32, _ index: Int) {
        var byte = UInt8(ascii: "x")
        if descriptor >= 0 {
            var seen: UInt8 = 0
            let read = recv(descriptor, &seen, 1, Int32(MSG_DONTWAIT))
            let isOpen = read > 0 || read < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)
            if isOpen, !sends || send(descriptor, &byte, 1, Int32(MSG_NOSIGNAL)) == 1 { return }
            close(descriptor)
        }
        descriptor = open(from: 1 + UInt32(index % addresses))
    }

    private func open(from last: UInt32) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return -1 }
        func address(_ last: UInt32, _ port: UInt16) -> sockaddr_in {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = (0x7F00_0000 + last).bigEndian
            return address
        }
        var (own, server) = (address(last, 0), address(1, port))
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected =
            withUnsafePointer(to: &own) { own in
                own.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
            }
            && withUnsafePointer(to: &server) { server in
                server.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, size) == 0 }
            }
        let head = Array("POST /v1/transactions HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ".utf8)
        guard isConnected, send(descriptor, head, head.count, Int32(MSG_NOSIGNAL)) == head.count else {
            close(descriptor)
            return -1
        }
        return descriptor
    }
}
