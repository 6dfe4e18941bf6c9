import TillBilling
import TillHTTP

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

/// The process that is to take over from this server: the same arguments, and whatever program is now in the file.
struct Successor: Sendable {
    let id: pid_t
    let channel: HandOverChannel

    /// - Throws: `CommandError` if the program can't be started.
    static func start(
        _ program: ProgramStart, environment: [String: String], socket: ListeningSocket
    ) throws -> Successor {
        guard let (own, other) = HandOverChannel.pair() else { throw failure("socketpair", errno) }
        // Above the descriptors that they get in the new process, so that setting one does not overwrite another.
        let descriptors = [socket.descriptor, other].map { fcntl($0, F_DUPFD_CLOEXEC, 64) }
        defer { for descriptor in descriptors + [other] { close(descriptor) } }
        guard descriptors.allSatisfy({ $0 >= 0 }) else { throw failure("fcntl", errno) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (index, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, 3 + Int32(index))
        }
        // No other descriptor is passed on: a client's connection must end when this process closes it.
        for descriptor in openDescriptors() where descriptor >= 3 + descriptors.count {
            posix_spawn_file_actions_addclose(&actions, Int32(descriptor))
        }
        // WATCHDOG_PID names this process; without it, WATCHDOG_USEC counts for the process that reads it.
        var variables = environment.filter { !$0.key.hasPrefix("LISTEN_") && $0.key != "WATCHDOG_PID" }
        variables["LISTEN_FDS"] = String(descriptors.count)
        variables["LISTEN_FDNAMES"] = InheritedSockets.names(for: socket)
        variables[InheritedSockets.predecessorVariable] = String(getpid())
        let arguments = program.arguments.map { strdup($0) } + [nil]
        let settings = variables.sorted { $0.key < $1.key }.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + settings { free(text) } }
        // The threads of Swift's tasks block signals, and a process inherits that from the thread that starts it.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var blocked = sigset_t()
        sigemptyset(&blocked)
        posix_spawnattr_setsigmask(&attributes, &blocked)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var id = pid_t()
        let code = posix_spawn(&id, program.path, &actions, &attributes, arguments, settings)
        guard code == 0 else { throw failure("posix_spawn of \(shown(program.path))", code) }
        return Successor(id: id, channel: own)
    }

    private static func openDescriptors() -> [Int] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return (names ?? []).compactMap { Int($0) }
    }

    private static func failure(_ step: String, _ code: Int32) -> CommandError {
        let reason = String(cString: strerror(code))
        return CommandError(
            LocalizedText(
                en: "the new program can't be started: \(step): \(reason)",
                zh: "无法启动新程序：\(step)：\(reason)"))
    }

    /// Ends a process that did not take over, and waits for its end.
    ///
    /// - Returns: how it ended, in English.
    func end() async -> String {
        for signal in [SIGTERM, SIGKILL] {
            for _ in 0..<500 {
                var status: Int32 = 0
                let found = waitpid(id, &status, WNOHANG)
                if found == id { return Self.description(of: status) }
                if found < 0, errno != EINTR { return "it is gone" }
                try? await Task.sleep(for: .milliseconds(10))
            }
            kill(id, signal)
        }
        return "it does not end"
    }

    func stop() { kill(id, SIGTERM) }

    func reload() { kill(id, SIGHUP) }

    private static func description(of status: Int32) -> String {
        status & 0x7F == 0 ? "it ended with exit code \(status >> 8 & 0xFF)" : "signal \(status & 0x7F) ended it"
    }
}
