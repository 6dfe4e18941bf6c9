import Foundation
import Glibc
import Testing
import TillJSON

/// `till` itself, as a process: the program that this package built, beside the tests.
///
/// Dedicated threads read its output and wait for its end. Foundation's `Process` and `FileHandle` report both as
/// events, and now and then one was lost: then a test waited for ever.
final class TillProcess: Sendable {
    /// Its stdout, line by line.
    let lines: AsyncStream<String>
    let id: Int32
    private let input: FileHandle
    private let errors: Collected
    private let ending: Ending

    /// SwiftPM's directory of products, which also contains the tests' executable.
    static var programs: URL {
        URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    }

    static var executable: URL { programs.appendingPathComponent("till") }

    /// - Parameters:
    ///   - other: another program than `till`, by its path.
    ///   - socket: a descriptor that the process gets as number 3.
    ///   - readsErrors: false lets its stderr fill up until it ends.
    static func start(
        _ arguments: [String], executable other: String? = nil, socket: Int32? = nil, readsErrors: Bool = true
    ) throws -> TillProcess {
        try TillProcess(other ?? executable.path, arguments, socket: socket, readsErrors: readsErrors)
    }

    private init(_ program: String, _ arguments: [String], socket: Int32?, readsErrors: Bool) throws {
        let (stdin, stdout, stderr) = (try Ends(), try Ends(), try Ends())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, stdin.read, 0)
        posix_spawn_file_actions_adddup2(&actions, stdout.write, 1)
        posix_spawn_file_actions_adddup2(&actions, stderr.write, 2)
        // It inherits no other descriptor of the tests: a held pipe of another process would keep that one from ending.
        let passed = socket.map { fcntl($0, F_DUPFD_CLOEXEC, 64) }
        defer { if let passed { close(passed) } }
        if let passed { posix_spawn_file_actions_adddup2(&actions, passed, 3) }
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            if let descriptor = Int32(name), descriptor > (socket == nil ? 2 : 3) {
                posix_spawn_file_actions_addclose(&actions, descriptor)
            }
        }
        let argv = ([program] + arguments).map { strdup($0) } + [nil]
        // `till` takes a variable with a name like one of its own for a typing error.
        let variables = ProcessInfo.processInfo.environment.filter { $0.key != "TILL_TEST_DATABASE" }
        let envp = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in argv + envp { free(text) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, program, &actions, nil, argv, envp)
        for end in [stdin.read, stdout.write, stderr.write] { close(end) }
        guard code == 0 else {
            for end in [stdin.write, stdout.read, stderr.read] { close(end) }
            throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
        }
        let pid = child
        id = pid
        input = FileHandle(fileDescriptor: stdin.write, closeOnDealloc: true)
        let (lines, continuation) = AsyncStream<String>.makeStream()
        let (rest, errors, ending) = (Collected(), Collected(), Ending())
        (self.lines, self.errors, self.ending) = (lines, errors, ending)
        Self.read(stdout.read) { chunk in
            for line in rest.add(chunk) { continuation.yield(line) }
        } end: {
            continuation.finish()
        }
        if readsErrors {
            Self.read(stderr.read) {
                _ = errors.add($0)
            } end: {
                ending.isSilent = true
            }
        }
        Thread.detachNewThread {
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            // As the macros WIFEXITED and WTERMSIG compute it.
            ending.code = status & 0x7f == 0 ? (status >> 8) & 0xff : -(status & 0x7f)
            guard !readsErrors else { return }
            close(stderr.read)
            ending.isSilent = true
        }
    }

    /// A pipe whose ends no other process inherits.
    private struct Ends {
        let read: Int32
        let write: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            (read, write) = (ends[0], ends[1])
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        }
    }

    private static func read(
        _ descriptor: Int32, _ take: @escaping @Sendable (Data) -> Void, end: @escaping @Sendable () -> Void
    ) {
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                take(Data(buffer[..<count]))
            }
            close(descriptor)
            end()
        }
    }

    var complaints: String { errors.text }

    /// The log lines of `till serve --log json`.
    var logLines: [JSONValue] {
        get throws { try complaints.split(separator: "\n").map { try JSONValue(decoding: String($0)) } }
    }

    /// Its stderr without the log's record of an ordinary run, and without the warnings at its start: the tests' tokens
    /// contain no `iat`.
    var complaintsBesideWarnings: [Substring] {
        complaints.split(separator: "\n").filter {
            !$0.contains(#""level":"info""#) && !$0.contains(#""event":"start_warning""#)
                && !$0.contains(#""of":"request""#)
        }
    }

    func tell(_ line: String) throws { try input.write(contentsOf: Data((line + "\n").utf8)) }

    func send(_ signal: Int32) { if ending.code == nil { kill(id, signal) } }

    /// Kills it, if it still runs.
    func abandon() { send(SIGKILL) }

    /// Its exit code; the negative number of the signal that ended it. By then its stderr has been read completely: a
    /// process ends before its last output is read. If another process keeps stderr open, this waits five seconds.
    func end() async -> Int32 {
        while ending.code == nil, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(5)) }
        var looks = 0
        while !ending.isSilent, looks < 1_000, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(5))
            looks += 1
        }
        return ending.code ?? Int32.min
    }

    /// Its whole output, and its exit code.
    func finish() async -> (output: String, code: Int32) {
        var output = ""
        for await line in lines { output += line + "\n" }
        return (output, await end())
    }

    /// Its output as one JSON document, as soon as that is complete.
    func document() async throws -> JSONValue {
        var text = ""
        for await line in lines {
            text += line + "\n"
            if line == "}", let value = try? JSONValue(decoding: text) { return value }
        }
        return try JSONValue(decoding: text)
    }
}

/// The state of a process's end.
private final class Ending: @unchecked Sendable {
    private let lock = NSLock()
    private var status: Int32?
    private var hasClosed = false

    var code: Int32? {
        get { lock.withLock { status } }
        set { lock.withLock { status = newValue } }
    }

    /// Whether everything in stderr was read.
    var isSilent: Bool {
        get { lock.withLock { hasClosed } }
        set { lock.withLock { hasClosed = newValue } }
    }
}

/// Bytes that arrive in parts.
private final class Collected: @unchecked Sendable {
    private let lock = NSLock()
    private var all = Data()
    private var line = Data()

    /// - Returns: the lines that are complete now.
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
