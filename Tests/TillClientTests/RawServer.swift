import Foundation

@testable import TillClient

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#endif

/// A server that misbehaves: it reads one request per connection, and the test decides what it does next.
final class RawServer: Sendable {
    /// One connection, after its request has been read.
    struct Peer: Sendable {
        let descriptor: Int32
        /// The request, head and body.
        let request: String

        /// False after the other end has closed.
        @discardableResult
        func send(_ text: String) -> Bool { send(Array(text.utf8)) }

        @discardableResult
        func send(_ bytes: [UInt8]) -> Bool {
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes {
                    RawServer.write($0.baseAddress?.advanced(by: sent), bytes.count - sent, to: descriptor)
                }
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }

        /// Waits until the other end closes, or for the given milliseconds.
        /// - Returns: whether it closed.
        func waitForEnd(milliseconds: Int32) -> Bool {
            var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&poller, 1, milliseconds) > 0 else { return false }
            var byte: UInt8 = 0
            return recv(descriptor, &byte, 1, 0) <= 0
        }
    }

    let port: UInt16
    private let listener: Int32
    private let isOpen = Guarded(true)
    private let seen = Guarded<[String]>([])

    var requests: [String] { seen.now }
    var url: String { "http://127.0.0.1:\(port)" }

    init(_ serve: @escaping @Sendable (Peer) -> Void) throws {
        let listener = try Self.bound()
        guard listen(listener, 16) == 0 else { throw Unexpected("listen: \(errno)") }
        self.listener = listener
        port = Self.port(of: listener)
        // Only the thread closes it: otherwise the descriptor could be reused by another server's socket, which the
        // thread would then answer.
        Thread.detachNewThread { [isOpen, seen] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { break }
                Thread.detachNewThread {
                    defer { close(descriptor) }
                    let request = Self.request(from: descriptor)
                    seen.withLock { $0.append(request) }
                    serve(Peer(descriptor: descriptor, request: request))
                }
            }
            isOpen.withLock {
                close(listener)
                $0 = false
            }
        }
    }

    /// Always the same answer.
    convenience init(_ answer: String) throws { try self.init { $0.send(answer) } }

    deinit {
        isOpen.withLock { if $0 { shutdown(listener, Int32(SHUT_RDWR)) } }
    }

    /// A port without a listener, reserved so that no other program can use it in the meantime.
    static func deafPort(_ body: (UInt16) async throws -> Void) async throws {
        let descriptor = try bound()
        defer { close(descriptor) }
        try await body(port(of: descriptor))
    }

    /// Sends without a signal when the other end has closed.
    private static func write(_ bytes: UnsafeRawPointer?, _ count: Int, to descriptor: Int32) -> Int {
        #if canImport(Darwin)
            // Darwin has no flag for it, but an option of the socket.
            var isOn: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &isOn, socklen_t(MemoryLayout<Int32>.size))
            return send(descriptor, bytes, count, 0)
        #else
            return send(descriptor, bytes, count, Int32(MSG_NOSIGNAL))
        #endif
    }

    private static func bound() throws -> Int32 {
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard descriptor >= 0, result == 0 else { throw Unexpected("bind: \(errno)") }
        return descriptor
    }

    private static func port(of descriptor: Int32) -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func request(from descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.range(of: "\r\n\r\n") {
                let length =
                    text.lowercased().range(of: "content-length: ")
                    .map { Int(text.lowercased()[$0.upperBound...].prefix { $0.isNumber }) ?? 0 } ?? 0
                if text[end.upperBound...].utf8.count >= length { return text }
            }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return text }
            bytes += buffer.prefix(count)
        }
    }
}
