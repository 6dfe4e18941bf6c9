import Foundation
import TillThreads

/// Stands between a server and its database, and delivers each piece of data later, as a network of that length would.
/// The kernel here may lack the queue that delays packets.
struct DelayingProxy {
    let port: UInt16
    let target: UInt16
    /// One way, in microseconds: half of a round trip.
    let delay: Int

    /// Runs until the process is ended. Listens on 127.0.0.1 alone.
    func run() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var on: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard Self.withAddress(port, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
            throw LoadError("port \(port) can't be listened on")
        }
        print("ready")
        fflush(nil)
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { continue }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            guard Self.withAddress(target, { connect(server, $0, $1) }) == 0 else {
                close(client)
                close(server)
                continue
            }
            for descriptor in [client, server] {
                setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            }
            DelayedStream(from: client, to: server, delay).start()
            DelayedStream(from: server, to: client, delay).start()
        }
    }

    private static func withAddress(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

/// One direction of one connection.
// @unchecked: the monitor guards the queue.
private final class DelayedStream: @unchecked Sendable {
    private let source: Int32
    private let sink: Int32
    private let delay: Int
    private let monitor = Monitor()
    private var waiting: [(due: UInt64, bytes: [UInt8])] = []

    init(from source: Int32, to sink: Int32, _ delay: Int) {
        self.source = source
        self.sink = sink
        self.delay = delay
    }

    func start() {
        guard SystemThread.detached({ self.receive() }), SystemThread.detached({ self.send() }) else {
            shutdown(sink, Int32(SHUT_RDWR))
            return
        }
    }

    private static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// An empty piece ends the stream.
    private func receive() {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = max(0, read(source, &buffer, buffer.count))
            let piece = (due: Self.now + UInt64(delay) * 1_000, bytes: Array(buffer[..<count]))
            monitor.withLock {
                waiting.append(piece)
                monitor.signal()
            }
            if count == 0 { return }
        }
    }

    private func send() {
        while true {
            let (due, bytes) = monitor.withLock {
                while waiting.isEmpty { monitor.wait() }
                return waiting.removeFirst()
            }
            let now = Self.now
            if due > now { usleep(UInt32((due - now) / 1_000)) }
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes {
                    write(sink, $0.baseAddress?.advanced(by: sent), bytes.count - sent)
                }
                if count <= 0 { break }
                sent += count
            }
            if sent < bytes.count || bytes.isEmpty {
                shutdown(sink, Int32(SHUT_WR))
                return
            }
        }
    }
}
