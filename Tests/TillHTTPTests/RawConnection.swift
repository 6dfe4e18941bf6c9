import Glibc

/// A TCP connection that sends any bytes a test chooses, including those that no HTTP library would send.
final class RawConnection: @unchecked Sendable {
    let descriptor: Int32
    private var unread: [UInt8] = []

    /// Nil if no server listens or the connection is refused.
    init?(port: UInt16, receiveTimeoutMilliseconds: Int = 20_000) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else {
            close(descriptor)
            return nil
        }
        setReceiveTimeout(receiveTimeoutMilliseconds)
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    func setReceiveTimeout(_ milliseconds: Int) {
        var timeout = timeval(tv_sec: milliseconds / 1000, tv_usec: milliseconds % 1000 * 1000)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

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

    struct Reply {
        var status = 0
        var head = ""
        var body: [UInt8] = []
        var text: String { String(decoding: body, as: UTF8.self) }

        func header(_ name: String) -> String? {
            for line in head.split(separator: "\r\n").dropFirst() {
                guard let colon = line.firstIndex(of: ":") else { continue }
                if line[..<colon].lowercased() == name.lowercased() {
                    return line[line.index(after: colon)...].drop(while: { $0 == " " }).description
                }
            }
            return nil
        }
    }

    /// The next whole reply; nil if the connection ended or nothing arrived in time.
    /// - Parameter bodiless: the reply to HEAD has a length and no body.
    func receive(bodiless: Bool = false) -> Reply? {
        let separator = Array("\r\n\r\n".utf8)
        var headEnd = unread.firstRange(of: separator)
        while headEnd == nil {
            guard fill() else { return nil }
            headEnd = unread.firstRange(of: separator)
        }
        guard let headEnd else { return nil }
        var reply = Reply()
        reply.head = String(decoding: unread[..<headEnd.lowerBound], as: UTF8.self)
        unread.removeSubrange(..<headEnd.upperBound)
        reply.status = reply.head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        if reply.status == 100 { return receive(bodiless: bodiless) }
        let length = bodiless ? 0 : reply.header("Content-Length").flatMap { Int($0) } ?? 0
        while unread.count < length { guard fill() else { return nil } }
        reply.body = Array(unread[..<length])
        unread.removeSubrange(..<length)
        return reply
    }

    /// Whether the other end has closed without sending anything more.
    func isClosedByPeer() -> Bool {
        guard unread.isEmpty else { return false }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, 0)
        return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
    }

    func push(_ bytes: [UInt8]) { unread += bytes }

    /// Whether the other end closes, whatever it sends before.
    func isClosedAfterAll() -> Bool {
        while fill() {}
        unread = []
        return isClosedByPeer()
    }

    private func fill() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        unread += buffer[..<count]
        return true
    }
}

extension Array where Element == UInt8 {
    func firstRange(of needle: [UInt8]) -> Range<Int>? {
        guard let first = needle.first, count >= needle.count else { return nil }
        var start = 0
        while let index = self[start...].firstIndex(of: first), index + needle.count <= count {
            if self[index..<index + needle.count].elementsEqual(needle) { return index..<index + needle.count }
            start = index + 1
        }
        return nil
    }
}
