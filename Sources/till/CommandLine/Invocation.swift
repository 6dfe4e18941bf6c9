import TillBilling

/// One call of a command: its arguments, validated against the command's declaration, and the process around it.
struct Invocation: Sendable {
    let language: Language
    /// `--json`: stdout receives one JSON document and nothing else.
    let wantsJSON: Bool
    /// In the order of the command line.
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

    /// The flag's value; nil if it is not set.
    func text(_ flag: Flag) -> String? { values[flag.name]?.last }

    /// All values of a repeatable flag, in the order of the command line.
    func texts(_ flag: Flag) -> [String] { values[flag.name] ?? [] }

    /// The value of an `.integer` flag, within its range.
    func integer(_ flag: Flag) -> Int64? { text(flag).flatMap { Int64($0) } }

    /// One line for people on stdout; nothing with `--json`.
    func say(_ text: LocalizedText) {
        if !wantsJSON { console.print(text(language)) }
    }

    /// One line on stderr.
    func warn(_ text: LocalizedText) { console.complain("till: " + text(language)) }
}

/// The effects of the process on which commands depend: streams, variables, clock, randomness and signals. Tests pass
/// their own.
struct ProcessEffects: Sendable {
    let console: Console
    let environment: [String: String]
    let clock: @Sendable () -> Instant
    /// Returns the requested number of random bytes, suitable for keys.
    let entropy: @Sendable (Int) -> [UInt8]
    /// After this call the first SIGINT or SIGTERM no longer ends the process. The returned function waits for that
    /// signal, or for its task to be cancelled; the command then shuts down in order.
    let waitForStop: @Sendable () -> @Sendable () async -> Void
    /// After this call SIGHUP no longer ends the process. The returned function waits for the next one, and returns
    /// false when its task is cancelled. Signals that arrive between two calls count as one.
    var waitForHangUp: @Sendable () -> @Sendable () async -> Bool = {
        {
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(3_600)) }
            return false
        }
    }
    /// After this call each SIGUSR2 is an element of the returned stream.
    var upgradeRequests: @Sendable () -> AsyncStream<Void> = { AsyncStream { $0.finish() } }
    /// How this process was started, for a successor that is started in the same way.
    var start = ProgramStart(path: "", arguments: [])
}
