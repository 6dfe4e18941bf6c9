/// A way to reach the outside world. In a module that the simulation runs, effects are passed in: a seed must decide
/// everything.
enum Effect: String, CaseIterable, Sendable {
    case clock
    case entropy
    /// Starts work outside the calling task, which escapes the simulation's seeded executor.
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
                "arc4random_uniform", "getrandom", "getentropy", "RAND_bytes", "RAND_priv_bytes",
                "shuffled()", "shuffle()", "randomElement()",
            ].map(Needle.init)
        case .task:
            [
                "Task.detached", "Task.init", "Task.immediate", "Task.immediateDetached", "Task {", "Task(",
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

    /// Calls that are allowed with a generator passed in, and are an effect without one.
    private static let generated = ["random(", "randomElement(", "shuffled(", "shuffle("].map { Needle(".\($0)") }
    private static let typedTask = Needle("Task<")

    /// The effects in a file, each with the piece of code that has it.
    static func all(in source: SwiftSource) -> [(effect: Effect, line: Int, text: String)] {
        let tokens = source.tokens
        let plain = Needle.places(of: table.map(\.needle), in: tokens).flatMap { place in
            table.filter { $0.needle.text == place.needle.text }.map { ($0.effect, place.index, place.needle.text) }
        }
        let tasks = Needle.places(of: [typedTask], in: tokens).filter { startsTask(at: $0.index, in: tokens) }
            .map { (Effect.task, $0.index, "Task<…>") }
        let random = Needle.places(of: generated, in: tokens)
            .filter { !isGiven("using", after: $0.index + $0.needle.count, in: tokens) }
            .map { (Effect.entropy, $0.index, $0.needle.text) }
        return (plain + tasks + random).sorted { $0.1 < $1.1 }.map { ($0.0, tokens[$0.1].line, $0.2) }
    }

    private static let table = allCases.flatMap { effect in effect.needles.map { (effect: effect, needle: $0) } }

    /// `Task<Void, Never> { … }` starts a task; `Task<Void, Never>?` is only a type.
    private static func startsTask(at start: Int, in tokens: [Token]) -> Bool {
        var depth = 0
        let closing = tokens[(start + 1)...].firstIndex { token in
            if token.text == "<" { depth += 1 }
            if token.text == ">" { depth -= 1 }
            return depth == 0
        }
        guard let closing, closing + 1 < tokens.count else { return false }
        let isType = start > 0 && (tokens[start - 1].text == ">" || tokens[start - 1].text == ":")
        return tokens[closing + 1].text == "(" || tokens[closing + 1].text == "{" && !isType
    }

    /// Whether a call whose parenthesis is already open has an argument with that label.
    private static func isGiven(_ label: String, after start: Int, in tokens: [Token]) -> Bool {
        var depth = 1
        for index in start..<tokens.count where depth > 0 {
            if tokens[index].text == "(" { depth += 1 }
            if tokens[index].text == ")" { depth -= 1 }
            if depth == 1, tokens[index].text == label { return true }
        }
        return false
    }
}
