import TillBilling

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

/// What a command may touch of the process it runs in: streams, variables, and the effects of DESIGN §5. Tests pass
/// their own.
struct ProcessEffects: Sendable {
    let console: Console
    let environment: [String: String]
    let clock: @Sendable () -> Instant
    /// That many random bytes, fit for keys.
    let entropy: @Sendable (Int) -> [UInt8]
    /// From this call on the process no longer dies of the first SIGINT or SIGTERM. The function returned waits for
    /// that signal (or for its task to be cancelled); then it is time to stop in good order.
    let hearStop: @Sendable () -> @Sendable () async -> Void
}
