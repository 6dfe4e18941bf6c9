import TillBilling
import TillJSON
import TillThreads

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Another program as a child process, which writes lines of JSON and can be killed.
///
/// A thread reads its output, because waiting for a pipe on one of Swift's few threads could block all tasks.
final class ChildProcess: Sendable {
    enum Event: Sendable {
        case output(JSONValue)
        /// It exited with a code, or a signal ended it.
        case ended(code: Int32?, signal: Int32?)
    }

    let id: pid_t
    /// Its output lines, then its end.
    let events: AsyncStream<Event>
    private let input: Int32
    private let isReaped = Locked(false)

    private init(id: pid_t, input: Int32, events: AsyncStream<Event>) {
        self.id = id
        self.input = input
        self.events = events
    }

    deinit { close(input) }

    /// - Parameter arguments: its own name first.
    static func start(
        _ executable: String, _ arguments: [String], environment: [String: String]
    ) throws -> ChildProcess {
        var (toChild, fromChild): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard closedOnExec(&toChild), closedOnExec(&fromChild) else { throw failure("pipe", errno) }
        defer {
            close(toChild[0])
            close(fromChild[1])
        }
        let id: pid_t
        do {
            id = try spawn(executable, arguments, environment, input: toChild[0], output: fromChild[1])
        } catch {
            close(toChild[1])
            close(fromChild[0])
            throw error
        }
        let (events, continuation) = AsyncStream<Event>.makeStream()
        let process = ChildProcess(id: id, input: toChild[1], events: events)
        listen(fromChild[0], process, continuation)
        return process
    }

    /// Writes a line to its stdin. A process that has ended does not receive it.
    func send(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = bytes.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
    }

    /// Sends signal 9, which a process can't handle. Has no effect after its end.
    func kill() {
        isReaped.withLock { isReaped in
            // Until the process is reaped, its id can't belong to another one.
            if !isReaped { _ = systemKill(id) }
        }
    }

    // MARK: Starting

    private static func spawn(
        _ executable: String, _ arguments: [String], _ environment: [String: String], input: Int32, output: Int32
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        // The child must not inherit our sockets, or a port would stay in use while it lives. Closing a descriptor that
        // is not open has no effect.
        for descriptor in STDERR_FILENO + 1..<256 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        let arguments = strings(arguments)
        let environment = strings(environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
        defer { for text in arguments + environment { free(text) } }
        var id = pid_t()
        let failed = posix_spawn(&id, executable, &actions, nil, arguments, environment)
        guard failed == 0 else { throw failure("posix_spawn", failed) }
        return id
    }

    /// C's list of strings, which the caller frees.
    private static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        var list: [UnsafeMutablePointer<CChar>?] = []
        for text in texts { list.append(strdup(text)) }
        list.append(nil)
        return list
    }

    private static func closedOnExec(_ ends: inout [Int32]) -> Bool {
        guard pipe(&ends) == 0 else { return false }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return true
    }

    private static func failure(_ step: String, _ number: Int32) -> CommandError {
        CommandError(
            LocalizedText(
                en: "can't start another process: \(step) failed with errno \(number)",
                zh: "无法启动另一个进程：\(step) 失败，errno \(number)"))
    }

    // MARK: Reading its output

    fileprivate final class OutputReader {
        let output: Int32
        let process: ChildProcess
        let continuation: AsyncStream<Event>.Continuation

        init(_ output: Int32, _ process: ChildProcess, _ continuation: AsyncStream<Event>.Continuation) {
            self.output = output
            self.process = process
            self.continuation = continuation
        }
    }

    private static func listen(
        _ output: Int32, _ process: ChildProcess, _ continuation: AsyncStream<Event>.Continuation
    ) {
        let isStarted = SystemThread.detached { OutputReader(output, process, continuation).run() }
        guard !isStarted else { return }
        close(output)
        process.kill()
        process.reap(continuation)
    }

    /// Waits for the end and reports it.
    fileprivate func reap(_ continuation: AsyncStream<Event>.Continuation) {
        var facts = siginfo_t()
        while waitid(P_PID, id_t(id), &facts, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        var status: Int32 = 0
        isReaped.withLock { isReaped in
            while waitpid(id, &status, 0) < 0, errno == EINTR {}
            isReaped = true
        }
        let signal = status & 0x7F
        continuation.yield(
            signal == 0 ? .ended(code: status >> 8 & 0xFF, signal: nil) : .ended(code: nil, signal: signal))
        continuation.finish()
    }
}

extension ChildProcess.OutputReader {
    func run() {
        var rest: [UInt8] = []
        while true {
            let chunk = [UInt8](unsafeUninitializedCapacity: 4_096) { buffer, count in
                repeat { count = read(output, buffer.baseAddress, 4_096) } while count < 0 && errno == EINTR
                count = max(count, 0)
            }
            if chunk.isEmpty { break }
            rest += chunk
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                if let said = try? JSONValue(decoding: rest[..<end]) { continuation.yield(.output(said)) }
                rest.removeSubrange(...end)
            }
        }
        close(output)
        process.reap(continuation)
    }
}

private func systemKill(_ id: pid_t) -> Int32 { kill(id, SIGKILL) }
