/// A way to reach the world. In a room that the simulation runs, the world is passed in: a seed must decide everything.
enum Effect: String, CaseIterable, Sendable {
    case clock
    case entropy
    /// Starts work outside the task that asked for it: it escapes the simulation's seeded executor.
    case task
    case thread
    /// The process, its files, its environment.
    case system
    case network

    private var needles: [Needle] {
        switch self {
        case .clock:
            [
                "Date()", "Date.now", "Date.init()", "Date(timeIntervalSinceNow", "timeIntervalSinceNow",
                "clock_gettime",
                "gettimeofday", "time(nil)", "mach_absolute_time", "ContinuousClock", "SuspendingClock",
                "DispatchTime", "CFAbsoluteTimeGetCurrent", "Task.sleep", "usleep", "nanosleep", "sleep",
            ].map(Needle.init)
        case .entropy:
            [
                "UUID()", "UUID.init()", "SystemRandomNumberGenerator", "arc4random", "arc4random_buf",
                "arc4random_uniform", "getrandom", "getentropy", "RAND_bytes", "RAND_priv_bytes", "/dev/urandom",
                "shuffled()", "shuffle()", "randomElement()",
            ].map(Needle.init)
        case .task:
            [
                "Task.detached", "Task.init", "Task.immediate", "Task.immediateDetached", "Task {", "Task{", "Task(",
                "@MainActor", "MainActor.run", "MainActor.assumeIsolated", "startSynchronously",
            ].map(Needle.init)
        case .thread:
            [
                "DispatchQueue", "DispatchSource", "DispatchSemaphore", "DispatchGroup", "OperationQueue", "Thread",
                "pthread_create", "Timer", "RunLoop",
            ].map(Needle.init)
        case .system:
            [
                "ProcessInfo", "FileManager", "FileHandle", "Process()", "getenv", "setenv", "environ", "fopen", "fork",
                "exit", "sigaction", "UserDefaults", "contentsOfFile",
            ].map(Needle.init)
        case .network:
            ["URLSession", "socket(", "getaddrinfo", "NWConnection", "CFStream"].map(Needle.init)
        }
    }

    /// Calls that are fine with a generator passed in, and an effect without one.
    private static let generated = ["random(", "randomElement(", "shuffled(", "shuffle("].map { Needle(".\($0)") }

    /// The effects in a line of code, each with the piece of code that is one.
    static func all(in source: SwiftSource) -> [(effect: Effect, line: Int, text: String)] {
        var found: [(effect: Effect, line: Int, text: String)] = []
        for (index, line) in source.code.enumerated() where line.contains(where: { $0 != " " }) {
            let bytes = Array(line.utf8)
            for (effect, needles) in table {
                for needle in needles where !needle.positions(in: bytes).isEmpty {
                    found.append((effect, index + 1, needle.text))
                }
            }
            if startsTypedTask(line) { found.append((.task, index + 1, "Task<…>")) }
            for needle in generated {
                for position in needle.positions(in: bytes) {
                    let arguments = call(in: source, line: index, after: position + needle.text.utf8.count)
                    if !arguments.contains("using:") { found.append((.entropy, index + 1, needle.text)) }
                }
            }
        }
        return found
    }

    private static let table = allCases.map { ($0, $0.needles) }

    /// `Task<Void, Never> { … }` starts one; `Task<Void, Never>?` is only a type.
    private static func startsTypedTask(_ line: String) -> Bool {
        let bytes = Array(line.utf8)
        return Needle("Task<").positions(in: bytes).contains { start in
            var depth = 0
            var index = start + 4
            repeat {
                if bytes[index] == UInt8(ascii: "<") { depth += 1 }
                if bytes[index] == UInt8(ascii: ">") { depth -= 1 }
                index += 1
            } while depth > 0 && index < bytes.count
            let rest = bytes[index...].drop { $0 == UInt8(ascii: " ") }
            let isParameterList = rest.first == UInt8(ascii: "(")
            let isClosure = rest.first == UInt8(ascii: "{") && !isReturnType(bytes[..<start])
            return isParameterList || isClosure
        }
    }

    private static func isReturnType(_ before: ArraySlice<UInt8>) -> Bool {
        let end = before.reversed().drop { $0 == UInt8(ascii: " ") }.prefix(1)
        return end.first == UInt8(ascii: ">") || end.first == UInt8(ascii: ":")
    }

    /// From an opened parenthesis to the one that closes it, over at most twenty lines.
    private static func call(in source: SwiftSource, line: Int, after start: Int) -> String {
        var depth = 1
        var text: [UInt8] = []
        for index in line..<min(line + 20, source.code.count) {
            for byte in source.code[index].utf8.dropFirst(index == line ? start : 0) {
                if byte == UInt8(ascii: "(") { depth += 1 }
                if byte == UInt8(ascii: ")") { depth -= 1 }
                if depth == 0 { return String(decoding: text, as: UTF8.self) }
                text.append(byte)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
