import Foundation
import Glibc
import Testing
import TillThreads

@testable import TillHTTP

/// Expects a fault of that kind and no answer.
func expectFault(
    _ kind: HTTPError.Kind, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> HTTPResponse
) async {
    do {
        let response = try await body()
        Issue.record("an answer came: \(response.status)", sourceLocation: sourceLocation)
    } catch {
        #expect((error as? HTTPError)?.kind == kind, "\(error)", sourceLocation: sourceLocation)
    }
}

/// A server that sends any bytes a test chooses, one connection after the other.
func withServer<Result>(
    _ serve: @escaping @Sendable (ServedConnection) -> Void, _ body: (UInt16) async throws -> Result
) async throws -> Result {
    let socket = try ListeningSocket(address: "127.0.0.1", port: 0)
    let descriptor = socket.descriptor
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
    // Only the thread closes the socket: a freed descriptor would soon be another server's socket, and the thread would
    // go on answering there.
    let isOpen = Locked(true)
    let isStarted = SystemThread.detached {
        while true {
            let client = accept(descriptor, nil, nil)
            if client < 0 { break }
            serve(ServedConnection(client))
        }
        isOpen.withLock {
            close(descriptor)
            $0 = false
        }
    }
    #expect(isStarted)
    defer { isOpen.withLock { if $0 { shutdown(descriptor, shutBoth) } } }
    return try await body(socket.port)
}

final class ServedConnection {
    private let descriptor: Int32
    private(set) var lastHead = ""

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Receives one request without a body.
    func receive() -> Bool {
        lastHead = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !lastHead.hasSuffix("\r\n\r\n") {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { return false }
            lastHead += String(decoding: buffer[..<count], as: UTF8.self)
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, noSignal) }
            if count <= 0 { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

/// The command-line program curl.
enum CurlProgram {
    private static let path = "/usr/bin/curl"
    static var isThere: Bool { access(path, X_OK) == 0 }

    static func run(_ arguments: [String], input: String = "") throws -> String {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data(input.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["-s", "--max-time", "20", "--noproxy", "*"] + arguments
        process.standardInput = try FileHandle(forReadingFrom: file)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}
