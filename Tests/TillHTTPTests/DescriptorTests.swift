import Foundation
import Glibc
import Testing

@testable import TillHTTP

/// A child process must not hold the server's port or its customers' connections open.
@Suite("Sockets end with the program") struct DescriptorTests {
    @Test("A child process inherits neither the listening socket, nor an accepted one, nor one of Fetch's")
    func nothingInherited() async throws {
        try await withListener { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(try #require(connection.receive()).status == 200)
            let fetch = try Fetch()
            defer { fetch.stop() }
            let request = HTTPRequest(method: .get, path: "/")
            #expect(try await fetch.send("http://127.0.0.1:\(listener.port)/", request).status == 200)

            let sockets = try Self.sockets(touching: listener.port).filter { $0.descriptor != connection.descriptor }
            // The listening socket; two accepted ones; Fetch's kept-alive one.
            #expect(sockets.count >= 4)
            for socket in sockets { #expect(socket.closesOnExec, "\(socket)") }
            withExtendedLifetime(connection) {}
        }
    }

    private struct Socket {
        let descriptor: Int32
        let local: UInt16
        let peer: UInt16?
        let closesOnExec: Bool
    }

    /// This process's TCP sockets with that port at one end.
    private static func sockets(touching port: UInt16) throws -> [Socket] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
            .compactMap { descriptor in
                guard let local = end(of: descriptor, getsockname) else { return nil }
                let peer = end(of: descriptor, getpeername)
                guard local == port || peer == port else { return nil }
                let flags = fcntl(descriptor, F_GETFD)
                return Socket(
                    descriptor: descriptor, local: local, peer: peer, closesOnExec: flags & FD_CLOEXEC != 0)
            }
    }

    private static func end(
        of descriptor: Int32,
        _ name: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> UInt16? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(descriptor, $0, &length) }
        }
        guard result == 0, address.sin_family == sa_family_t(AF_INET) else { return nil }
        return UInt16(bigEndian: address.sin_port)
    }
}
