import TillBilling

/// One subcommand of `till`: its help, its arguments and its action.
struct Command: Sendable {
    let name: String
    /// One line for the list of commands.
    let summary: LocalizedText
    /// Further lines for the command's own help; may be empty.
    let discussion: LocalizedText
    let flags: [Flag]
    let positionals: [Positional]
    /// - Throws: `CommandError` with the reason for the user, or `UsageError`.
    let run: @Sendable (Invocation) async throws -> ExitCode

    init(
        _ name: String, summary: LocalizedText, discussion: LocalizedText = LocalizedText(""), flags: [Flag] = [],
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

/// The exit code of the process.
enum ExitCode: Int32, Sendable {
    case done = 0
    case refused = 1
    case wrongUsage = 2
}

/// Why a command failed, one sentence per line, for stderr. The process exits with 1.
struct CommandError: Error, Hashable {
    let reasons: [LocalizedText]

    init(_ reason: LocalizedText) { reasons = [reason] }
    init(reasons: [LocalizedText]) { self.reasons = reasons }
}

/// The command line is invalid. The process exits with 2.
struct UsageError: Error, Hashable {
    let message: LocalizedText
    /// The command whose help explains it; nil for `till` itself.
    var commandName: String?

    init(_ message: LocalizedText, suggestion: String? = nil, command: String? = nil) {
        if let suggestion {
            self.message = LocalizedText(
                en: "\(message.en). Did you mean \(suggestion)?", zh: "\(message.zh)。是否想写 \(suggestion)？")
        } else {
            self.message = message
        }
        commandName = command
    }
}

extension Command {
    /// Every command of `till`, in the order of the help.
    static let all: [Command] = [
        .demo,
        .initialize,
        .serve,
        .emulate,
        .verify,
        .apple,
        .reconcile,
        .importing,
        .export,
        .erase,
        .doctor,
        .reload,
        .keys,
        .token,
        .migrate,
        .backup,
        .restore,
        .recover,
        .audit,
        .checkpoint,
        .reseal,
        .catalog,
        .convert,
        .report,
        .compare,
        .tiers,
        .proceeds,
        .calendar,
        .simulate,
    ]
}
