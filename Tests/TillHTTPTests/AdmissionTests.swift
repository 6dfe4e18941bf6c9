import Synchronization
import Testing
import TillThreads

@testable import TillHTTP

@Suite("Long bodies are accepted only after admission") struct AdmissionTests {
    private static let long = ListenerConfiguration.bodyBeforeAdmission + 1

    /// What a listener asked the admission, and the shares it holds.
    private final class AdmissionLog: Sendable {
        let asked = Locked([Int]())
        let handled = Atomic<Int>(0)
        let held = Atomic<Int>(0)
    }

    /// Counts itself for as long as it lives.
    private final class TokenCounter: Sendable {
        let log: AdmissionLog
        init(_ log: AdmissionLog) {
            self.log = log
            log.held.add(1, ordering: .relaxed)
        }
        deinit { log.held.subtract(1, ordering: .relaxed) }
    }

    /// Accepts long bodies of requests with the word `good`.
    private static func with(_ test: (RawConnection, AdmissionLog) async throws -> Void) async throws {
        let log = AdmissionLog()
        let listener = try Listener(
            bodyLimit: { _, _ in 8 << 20 },
            admission: { head, length in
                log.asked.withLock { $0.append(length) }
                guard head.headers["Authorization"] == "good", head.body.isEmpty else {
                    return .refused(HTTPResponse(status: 401, body: Array("no".utf8)))
                }
                return .admitted(token: TokenCounter(log))
            },
            handler: { request in
                log.handled.add(1, ordering: .relaxed)
                return HTTPResponse(status: 200, body: Array("\(request.body.count)".utf8))
            })
        try await blocking { try await test(try #require(RawConnection(port: listener.port)), log) }
        await listener.stop(grace: 1)
        #expect(log.held.load(ordering: .relaxed) == 0, "what was held is let go of")
    }

    @Test("A long body without a good credential gets a 401 before any of it arrives, and the connection is closed")
    func announced() async throws {
        try await Self.with { connection, log in
            connection.send("POST / HTTP/1.1\r\nHost: t\r\nAuthorization: bad\r\nContent-Length: 8000000\r\n\r\n")
            let reply = try #require(connection.receive())
            #expect(reply.status == 401 && reply.header("Connection") == "close")
            #expect(connection.isClosedByPeer())
            #expect(log.handled.load(ordering: .relaxed) == 0 && log.asked.withLock { $0 } == [8_000_000])
        }
    }

    @Test("The same in chunks is answered once 64 KiB have arrived")
    func chunked() async throws {
        try await Self.with { connection, log in
            connection.send("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n")
            let piece = [UInt8](repeating: 0x61, count: 16 << 10)
            for _ in 0..<4 { connection.send(Array("4000\r\n".utf8) + piece + Array("\r\n".utf8)) }
            connection.setReceiveTimeout(300)
            #expect(connection.receive() == nil, "64 KiB are free")
            connection.setReceiveTimeout(20_000)
            connection.send(Array("4000\r\n".utf8) + piece)
            #expect(connection.receive()?.status == 401)
            #expect(log.handled.load(ordering: .relaxed) == 0 && log.asked.withLock { $0 } == [8 << 20])
        }
    }

    @Test("Admission is asked once per long body, and its share is held until the answer")
    func admitted() async throws {
        try await Self.with { connection, log in
            for count in [Self.long, 3_000_000] {
                connection.send(
                    "POST / HTTP/1.1\r\nHost: t\r\nAuthorization: good\r\nContent-Length: \(count)\r\n\r\n")
                connection.send([UInt8](repeating: 0x61, count: count))
                let reply = try #require(connection.receive())
                #expect(reply.status == 200 && reply.text == "\(count)")
            }
            #expect(log.asked.withLock { $0 } == [Self.long, 3_000_000])
        }
    }

    @Test("Up to 64 KiB admission is not asked")
    func short() async throws {
        try await Self.with { connection, log in
            connection.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: \(Self.long - 1)\r\n\r\n")
            connection.send([UInt8](repeating: 0x61, count: Self.long - 1))
            #expect(connection.receive()?.status == 200)
            #expect(log.asked.withLock { $0 }.isEmpty && log.handled.load(ordering: .relaxed) == 1)
        }
    }

    @Test("A client that waits for 100 Continue gets the 401 at once")
    func expectation() async throws {
        try await Self.with { connection, _ in
            connection.send(
                "POST / HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: \(Self.long)\r\n\r\n")
            #expect(connection.receive()?.status == 401)
        }
    }

    @Test("A work thread runs waiting tasks one after another, and ends when it is stopped")
    func workThread() async throws {
        let thread = try WorkThread(niceness: 5)
        let running = Locked((now: 0, most: 0, done: 0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask(executorPreference: thread) {
                    running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.done) }
                    running.withLock { $0 = ($0.now - 1, $0.most, $0.done + 1) }
                }
            }
        }
        #expect(running.withLock { $0.done } == 50 && running.withLock { $0.most } == 1)
        thread.stop()
    }
}
