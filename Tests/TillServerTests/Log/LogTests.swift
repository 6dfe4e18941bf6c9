import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillThreads

@testable import TillServer

/// The lines that a writer wrote.
private final class Written: Sendable {
    private let bytes = Locked<[UInt8]>([])

    func append(_ more: [UInt8]) { bytes.withLock { $0 += more } }

    var lines: [String] {
        bytes.withLock { String(decoding: $0, as: UTF8.self) }.split(separator: "\n").map(String.init)
    }
}

@Suite("The log's lines (issue 20)") struct LogTests {
    private static let now = Instant(milliseconds: 1_772_353_800_123)

    private struct NoThread: Error {}

    private func writer(
        _ format: LogFormat, _ level: Log.Level, limit: Int = LogWriter.bufferLimit,
        _ output: @escaping @Sendable ([UInt8]) -> Void
    ) throws -> LogWriter {
        let writer = LogWriter(format, level: level, clock: { Self.now }, limit: limit, output: output)
        guard let writer else { throw NoThread() }
        return writer
    }

    private func write(_ format: LogFormat, level: Log.Level = .debug, _ body: (Log) -> Void) throws -> [String] {
        let written = Written()
        let writer = try writer(format, level) { written.append($0) }
        body(writer.log)
        writer.stop()
        return written.lines
    }

    // MARK: Formats

    @Test("A JSON line is one object with time, level and event, the fields, and the request's ids")
    func json() throws {
        let lines = try write(.json) { log in
            log.write(
                .jobFailed,
                ["job": "webhooks", "ms": 7, "share": .decimal(0.5), "isLast": true, "none": .text(nil), "user": "张"])
            RequestTrace.$current.withValue(RequestTrace(requestID: "r-1", traceID: "t-1")) {
                log.write(.serverError, ["cause": "disk"])
            }
        }
        try #require(lines.count == 2)
        let first = try JSONValue(decoding: lines[0])
        #expect(
            first == [
                "ts": "2026-03-01T08:30:00.123Z", "level": "warning", "event": "job_failed", "job": "webhooks", "ms": 7,
                "share": 0.5, "isLast": true, "user": "张",
            ])
        let second = try JSONValue(decoding: lines[1])
        #expect(second["requestId"] == "r-1" && second["traceId"] == "t-1" && second["level"] == "error")
    }

    @Test("A text line begins with time, level and event, and quotes what is not one word")
    func text() throws {
        let lines = try write(.text) {
            $0.write(.jobFailed, ["job": "apple tasks", "cause": "", "ms": 7, "code": "a"])
        }
        #expect(
            lines == [#"2026-03-01T08:30:00.123Z WARNING job_failed job="apple tasks" cause="" ms=7 code=a"#])
    }

    /// Texts that would break a line, or control the terminal that shows it.
    static let hostile = [
        "a\nb 2026-03-01T08:30:00.123Z INFO forged", "a\r\nb", "\u{1B}[2J\u{1B}]0;title\u{7}", "\u{0}", "\u{7F}",
        "\u{9B}31m", "\u{2028}b", "\u{202E}evil", "\"} forged", "\\", "k=v level=info", "\u{FEFF}x", "\u{2066}x",
    ]

    @Test("A value from outside never ends its line, forges a field or controls a terminal", arguments: hostile)
    func injection(_ hostile: String) throws {
        for format in LogFormat.allCases {
            let lines = try write(format) { $0.write(.proofRefused, ["detail": .text(hostile), "code": "x"]) }
            try #require(lines.count == 1)
            let isClean = lines[0].unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator: false
                default: true
                }
            }
            #expect(isClean, "\(lines[0])")
            if format == .json {
                #expect(try JSONValue(decoding: lines[0])["detail"]?.string == hostile)
            } else {
                #expect(lines[0].hasSuffix(#"" code=x"#))
            }
        }
    }

    @Test("A long text is cut at a whole character, so that one line has a bounded length")
    func long() throws {
        let lines = try write(.json) { $0.write(.serverError, ["cause": .text(String(repeating: "购", count: 5_000))]) }
        let cause = try #require(try JSONValue(decoding: lines[0])["cause"]?.string)
        #expect(cause == String(repeating: "购", count: LineFormatter.textLimit / 3) + "…")
    }

    // MARK: Levels

    @Test("Lines below the level are dropped before their fields are computed; the level changes while it runs")
    func levels() throws {
        let written = Written()
        let writer = try writer(.text, .warning) { written.append($0) }
        let log = writer.log
        func fields() -> Log.Fields {
            Issue.record("computed")
            return [:]
        }
        log.write(.jobRun, fields())
        log.write(.purchaseGranted, fields())
        log.write(.jobFailed)
        writer.level = .debug
        log.write(.jobRun)
        writer.level = .error
        log.write(.jobFailed, fields())
        log.write(.serverError)
        writer.stop()
        #expect(
            written.lines.map { String($0.split(separator: " ")[2]) } == ["job_failed", "job_run", "server_error"])
        #expect(writer.level == .error)
    }

    @Test("Levels are ordered as they are listed")
    func order() {
        #expect(Log.Level.allCases == Log.Level.allCases.sorted())
        #expect(Log.Level.allCases.map(\.rawValue) == ["debug", "info", "warning", "error"])
    }

    // MARK: The writer

    @Test("While the reader of the log takes nothing, no caller waits; what does not fit is dropped and counted")
    func blocked() throws {
        let (written, gate) = (Written(), Gate())
        let writer = try writer(.json, .info, limit: 50_000) {
            gate.pass()
            written.append($0)
        }
        let log = writer.log
        let start = ContinuousClock().now
        for number in 0..<5_000 { log.write(.purchaseGranted, ["number": .integer(number)]) }
        #expect(ContinuousClock().now - start < .seconds(5))
        gate.open()
        writer.stop()
        let lines = try written.lines.map { try JSONValue(decoding: $0) }
        let numbers = lines.compactMap { $0["number"]?.int }
        let dropped = lines.filter { $0["event"] == "log_lines_dropped" }.compactMap { $0["dropped"]?.int }
        #expect(!dropped.isEmpty && numbers == numbers.sorted())
        #expect(Int64(numbers.count) + dropped.reduce(0, +) == 5_000)
        // Two buffers at most: one that is written, and one that is filled.
        #expect(written.lines.reduce(0) { $0 + $1.utf8.count } < 110_000)
    }

    @Test("The end of the log writes what is left, and waits a bounded time for a reader that takes nothing")
    func end() throws {
        let gate = Gate()
        let writer = try writer(.json, .info) { _ in gate.pass() }
        writer.log.write(.serverError)
        let start = ContinuousClock().now
        writer.stop(within: 100)
        #expect(ContinuousClock().now - start < .seconds(2))
        gate.open()
        let lines = try write(.json) { log in
            for number in 0..<1_000 { log.write(.purchaseGranted, ["number": .integer(number)]) }
        }
        #expect(lines.count == 1_000)
    }

    @Test("Lines of many threads arrive whole")
    func threads() async throws {
        let written = Written()
        let writer = try writer(.json, .info) { written.append($0) }
        let log = writer.log
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    for number in 0..<250 {
                        log.write(.purchaseGranted, ["thread": .integer(thread), "number": .integer(number)])
                    }
                }
            }
        }
        writer.stop()
        let found = try written.lines.map { try JSONValue(decoding: $0) }
        #expect(Set(found.map { "\($0["thread"]?.int ?? -1) \($0["number"]?.int ?? -1)" }).count == 2_000)
    }
}

/// Keeps a thread waiting until it is opened.
private final class Gate: @unchecked Sendable {
    private let changed = Monitor()
    // Read and written only inside the monitor's lock.
    private var isOpen = false

    func pass() { changed.withLock { while !isOpen { changed.wait() } } }

    func open() {
        changed.withLock {
            isOpen = true
            changed.broadcast()
        }
    }
}
