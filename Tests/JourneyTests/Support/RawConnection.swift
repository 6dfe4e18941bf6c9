import Glibc
import TillHTTP

/// A TCP connection that sends any bytes a test chooses, including those that no HTTP library would send. Blocking: use
/// it inside `blocking`.
final class RawConnection: @unchecked Sendable {
    let descriptor: Int32
    private var unread: [UInt8] = []

    /// Nil if no server listens or the connection is refused.
    /// - Parameter host: the last byte of the loopback address of the client; 127.0.0.1 by default.
    init?(port: UInt16, from host: UInt8 = 1, patienceMilliseconds: Int = 15_000) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        let isConnected =
            Self.with(0x7F00_0000 | UInt32(host), port: 0) { bind(descriptor, $0, $1) } == 0
            && Self.with(0x7F00_0001, port: port) { connect(descriptor, $0, $1) } == 0
        guard isConnected else {
            close(descriptor)
            return nil
        }
        var timeout = timeval(tv_sec: patienceMilliseconds / 1_000, tv_usec: patienceMilliseconds % 1_000 * 1_000)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    private static func with(
        _ host: UInt32, port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = host.bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    deinit { close(descriptor) }

    /// False if the other end has closed.
    @discardableResult
    func send(_ bytes: some Sequence<UInt8>) -> Bool {
        let all = Array(bytes)
        var sent = 0
        while sent < all.count {
            let count = all.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress?.advanced(by: sent), all.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(text.utf8) }

    /// Ends sending, and still receives.
    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// The status and the text of the next answer; nil if the connection ended without one.
    func answer() -> (status: Int, text: String)? {
        var end: Int?
        repeat {
            end = Self.end(of: unread)
            if end == nil, !fill() { return nil }
        } while end == nil
        guard var end else { return nil }
        let head = String(decoding: unread[..<end], as: UTF8.self)
        let length = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.drop { $0 != ":" }.dropFirst().drop { $0 == " " }) }
        end += length ?? 0
        while unread.count < end { guard fill() else { return nil } }
        let text = String(decoding: unread[..<end], as: UTF8.self)
        unread.removeSubrange(..<end)
        return (head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0, text)
    }

    /// Whether the other end closes, whatever it sends before.
    func isClosed() -> Bool {
        while fill() {}
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, 0)
        return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
    }

    private static func end(of bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        let mark: [UInt8] = [13, 10, 13, 10]
        return (0...(bytes.count - 4)).first { bytes[$0..<$0 + 4].elementsEqual(mark) }.map { $0 + 4 }
    }

    private func fill() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        unread += buffer[..<count]
        return true
    }
}

/// Runs each job on its own thread: a job that waits for a raw socket on one of the shared threads would block the
/// other tasks.
final class OwnThread: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let work = Work(UnownedJob(job), self)
        var thread = pthread_t()
        // The new thread takes over this reference.
        let context = Unmanaged.passRetained(work).toOpaque()
        let result = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let work = Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
                work.job.runSynchronously(on: work.executor.asUnownedTaskExecutor())
                return nil
            }, context)
        if result != 0 { fatalError("no thread for a test") }
        pthread_detach(thread)
    }

    private final class Work {
        let job: UnownedJob
        let executor: OwnThread

        init(_ job: UnownedJob, _ executor: OwnThread) {
            self.job = job
            self.executor = executor
        }
    }
}

/// Runs a test's body on a thread that may block.
func blocking<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await withTaskExecutorPreference(OwnThread()) { try await body() }
}
