import Foundation

/// A blocking HTTP/1.1 connection on its own thread. It replaces a client library, whose own work would be measured
/// too.
final class RawClient {
    private let port: UInt16
    private let address: in_addr_t
    private var descriptor: Int32 = -1
    /// The body of the last response.
    private(set) var body: [UInt8] = []
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// - Parameter address: in dotted notation.
    init(port: UInt16, address: String = "127.0.0.1") {
        self.port = port
        self.address = inet_addr(address)
    }

    deinit { hangUp() }

    /// A complete request as bytes.
    static func request(_ path: String, body: [UInt8], key: String? = nil) -> [UInt8] {
        let authorization = key.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        let head = """
            POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(authorization)Content-Type: application/json\r\n\
            Content-Length: \(body.count)\r\n\r\n
            """
        return Array(head.utf8) + body
    }

    /// A complete request without a body as bytes.
    static func get(_ path: String, key: String) -> [UInt8] {
        Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(key)\r\n\r\n".utf8)
    }

    /// Sends a request and waits for the complete response.
    ///
    /// - Returns: the status; 0 if the connection ended without a response.
    func send(_ request: [UInt8]) -> Int {
        body = []
        if isClosedByServer { hangUp() }
        if descriptor < 0, !connect() { return 0 }
        var sent = 0
        request.withUnsafeBytes { bytes in
            while sent < bytes.count {
                let count = Glibc.send(
                    descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
                // The server may have answered early and closed; the response can still be read.
                if count <= 0 { break }
                sent += count
            }
        }
        let status = receive()
        if status == 0 || sent < request.count { hangUp() }
        return status
    }

    /// Whether the server has closed the idle connection. Every HTTP client looks before it uses one again.
    private var isClosedByServer: Bool {
        var byte: UInt8 = 0
        return descriptor >= 0 && recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0
    }

    private func connect() -> Bool {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = self.address
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result != 0 { hangUp() }
        return result == 0
    }

    private func hangUp() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    private func receive() -> Int {
        var answer: [UInt8] = []
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return 0 }
            answer += buffer[..<count]
            guard let end = Self.end(of: answer) else { continue }
            let head = String(decoding: answer[..<end], as: UTF8.self).lowercased()
            let length = Self.number(after: "content-length: ", in: head) ?? 0
            guard answer.count >= end + length else { continue }
            body = Array(answer[end..<(end + length)])
            if head.contains("\r\nconnection: close") { hangUp() }
            return Self.number(after: "http/1.1 ", in: head) ?? 0
        }
    }

    private static func end(of answer: [UInt8]) -> Int? {
        guard answer.count >= 4 else { return nil }
        return (4...answer.count).first { answer[($0 - 4)..<$0].elementsEqual([13, 10, 13, 10]) }
    }

    private static func number(after name: String, in head: String) -> Int? {
        head.range(of: name).flatMap { Int(head[$0.upperBound...].prefix { $0.isNumber }) }
    }
}
