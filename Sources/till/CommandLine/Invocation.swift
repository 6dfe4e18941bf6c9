/// One call of one command: its arguments, already checked against what the command declares, and the process
/// around it.
struct Invocation: Sendable {
    let language: Language
    /// `--json`: stdout takes one JSON document and nothing else.
    let wantsJSON: Bool
    /// In the order they were written.
    let positionals: [String]
    private let values: [String: [String]]
    let process: ProcessEffects

    init(
        language: Language, wantsJSON: Bool = false, positionals: [String] = [], values: [String: [String]] = [:],
        process: ProcessEffects
    ) {
        self.language = language
        self.wantsJSON = wantsJSON
        self.positionals = positionals
        self.values = values
        self.process = process
    }

    var console: Console { process.console }

    func isSet(_ flag: Flag) -> Bool { values[flag.name] != nil }

    /// The flag's value, or nil if it wasn't given.
    func text(_ flag: Flag) -> String? { values[flag.name]?.last }

    /// All values of a repeatable flag, in the order they were written.
    func texts(_ flag: Flag) -> [String] { values[flag.name] ?? [] }

    /// The value of an `.integer` flag, within its bounds.
    func integer(_ flag: Flag) -> Int64? { text(flag).flatMap { Int64($0) } }

    /// One line for people on stdout; nothing under `--json`.
    func say(_ text: Text) {
        if !wantsJSON { console.print(text(language)) }
    }

    /// One line on stderr.
    func warn(_ text: Text) { console.complain("till: " + text(language)) }
}

/// What a command may touch of the process it runs in. Tests pass their own.
struct ProcessEffects: Sendable {
    let console: Console
    let environment: [String: String]
    /// Returns when the process was asked to stop (SIGINT, SIGTERM), or the task was cancelled.
    let untilStopped: @Sendable () async -> Void

    init(console: Console, environment: [String: String], untilStopped: @escaping @Sendable () async -> Void) {
        self.console = console
        self.environment = environment
        self.untilStopped = untilStopped
    }
}
