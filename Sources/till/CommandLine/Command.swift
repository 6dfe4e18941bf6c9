import TillBilling

/// One subcommand of `till`: what its help says, what it takes, and what it does.
struct Command: Sendable {
    let name: String
    /// One line, for the list of commands.
    let summary: Text
    /// More lines for the command's own help; may be empty.
    let discussion: Text
    let flags: [Flag]
    let positionals: [Positional]
    /// - Throws: `CommandFailure` with the reason people get to see, or `UsageError`.
    let run: @Sendable (Invocation) async throws -> ExitCode

    init(
        _ name: String, summary: Text, discussion: Text = Text(""), flags: [Flag] = [],
        positionals: [Positional] = [],
        run: @escaping @Sendable (Invocation) async throws -> ExitCode
    ) {
        self.name = name
        self.summary = summary
        self.discussion = discussion
        self.flags = flags
        self.positionals = positionals
        self.run = run
    }
}

/// What the process ends with (CONTRACT §1).
enum ExitCode: Int32, Sendable {
    case done = 0
    case refused = 1
    case wrongUsage = 2
}

/// Why a command could not do its work, one sentence a line, for stderr. The process ends with 1.
struct CommandFailure: Error, Hashable {
    let reasons: [Text]

    init(_ reason: Text) { reasons = [reason] }
    init(reasons: [Text]) { self.reasons = reasons }
}

/// The command line cannot be understood. The process ends with 2.
struct UsageError: Error, Hashable {
    let message: Text
    /// The command whose help would clear it up; nil for `till` itself.
    var commandName: String?

    init(_ message: Text, suggestion: String? = nil, command: String? = nil) {
        if let suggestion {
            self.message = Text(
                en: "\(message.en). Did you mean \(suggestion)?", zh: "\(message.zh)。是不是想写 \(suggestion)？")
        } else {
            self.message = message
        }
        commandName = command
    }
}

extension Command {
    /// Every command of `till`, in the order the help lists them.
    static let all: [Command] = [
        .demo,
        .initialize,
        .serve,
        .emulate,
        .verify,
        .apple,
        .reconcile,
        .doctor,
        .convert,
        .report,
        .compare,
        .tiers,
        .proceeds,
        .calendar,
        .simulate,
    ]
}
