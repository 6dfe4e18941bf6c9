import Foundation
import Testing
import TillAppStore

/// `till` itself, as a process: the program that this package built, beside the tests.
final class TillProcess: Sendable {
    /// What it writes to stdout, line by line.
    let lines: AsyncStream<String>
    private let process: Process
    private let input: FileHandle
    private let errors: Collected
    private let ended: AsyncStream<Int32>
    /// Ends when all that it wrote to stderr was read.
    private let silence: AsyncStream<Never>

    private init(
        _ process: Process, _ input: FileHandle, _ lines: AsyncStream<String>, _ errors: Collected,
        _ ended: AsyncStream<Int32>, _ silence: AsyncStream<Never>
    ) {
        self.process = process
        self.input = input
        self.lines = lines
        self.errors = errors
        self.ended = ended
        self.silence = silence
    }

    /// The tests' own executable lies beside it, in SwiftPM's directory of products.
    static var executable: URL {
        let tests = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        return tests.deletingLastPathComponent().appendingPathComponent("till")
    }

    /// - Parameter other: another program than `till`, by its path.
    static func start(_ arguments: [String], executable other: String? = nil) throws -> TillProcess {
        let process = Process()
        process.executableURL = other.map { URL(fileURLWithPath: $0) } ?? executable
        process.arguments = arguments
        let (input, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        let (ended, endedContinuation) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { process in
            let isSignal = process.terminationReason == .uncaughtSignal
            endedContinuation.yield(isSignal ? -process.terminationStatus : process.terminationStatus)
            endedContinuation.finish()
        }
        let (lines, linesContinuation) = AsyncStream<String>.makeStream()
        let rest = Collected()
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            for line in rest.add(data) { linesContinuation.yield(line) }
            guard data.isEmpty else { return }
            handle.readabilityHandler = nil
            linesContinuation.finish()
        }
        let (silence, silenceContinuation) = AsyncStream<Never>.makeStream()
        let complaints = Collected()
        errors.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            _ = complaints.add(data)
            guard data.isEmpty else { return }
            handle.readabilityHandler = nil
            silenceContinuation.finish()
        }
        try process.run()
        return TillProcess(process, input.fileHandleForWriting, lines, complaints, ended, silence)
    }

    var id: Int32 { process.processIdentifier }
    var complaints: String { errors.text }

    func tell(_ line: String) throws { try input.write(contentsOf: Data((line + "\n").utf8)) }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Ends it without ceremony, if it still runs.
    func abandon() { if process.isRunning { send(SIGKILL) } }

    /// Its exit code; the negative number of the signal that ended it. What it complained of has been read by then:
    /// the end of a process is heard of before its last words. Whoever holds its stderr longer than it is not waited
    /// for.
    func end() async -> Int32 {
        var code: Int32?
        for await status in ended {
            code = status
            break
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in self.silence {} }
            group.addTask { try? await Task.sleep(for: .seconds(5)) }
            await group.next()
            group.cancelAll()
        }
        return code ?? process.terminationStatus
    }

    /// All it wrote, and its exit code.
    func finish() async -> (output: String, code: Int32) {
        var output = ""
        for await line in lines { output += line + "\n" }
        return (output, await end())
    }

    /// What it writes as one JSON document, as soon as that is whole.
    func document() async throws -> JSONValue {
        var text = ""
        for await line in lines {
            text += line + "\n"
            if line == "}", let value = try? JSONValue(decoding: text) { return value }
        }
        return try JSONValue(decoding: text)
    }
}

/// Bytes that arrive bit by bit.
private final class Collected: @unchecked Sendable {
    private let lock = NSLock()
    private var all = Data()
    private var line = Data()

    /// - Returns: the lines that are whole now.
    func add(_ data: Data) -> [String] {
        lock.lock()
        defer { lock.unlock() }
        all += data
        line += data
        var found: [String] = []
        while let end = line.firstIndex(of: UInt8(ascii: "\n")) {
            found.append(String(decoding: line[..<end], as: UTF8.self))
            line = Data(line[line.index(after: end)...])
        }
        return found
    }

    var text: String {
        lock.lock()
        defer { lock.unlock() }
        return String(decoding: all, as: UTF8.self)
    }
}
