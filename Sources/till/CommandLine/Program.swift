import TillBilling

/// `till` from its arguments to its exit code.
struct Program: Sendable {
    /// `make release` sets it.
    static let version = "0.1.0"

    let commands: [Command]
    let process: ProcessEffects

    /// - Parameter arguments: without the program's own name.
    func run(_ arguments: [String]) async -> ExitCode {
        let language =
            CommandLineParser.language(in: arguments) ?? Language(environment: process.environment)
        do {
            let result = try CommandLineParser(commands: commands).parse(arguments)
            return try await answer(result, language: language)
        } catch let error as UsageError {
            complain(error.message, language)
            let help = "till " + (error.commandName.map { $0 + " " } ?? "") + "--help"
            process.console.complain(LocalizedText(en: "See `\(help)`.", zh: "请运行“\(help)”查看用法。")(language))
            return .wrongUsage
        } catch let failure as CommandError {
            for reason in failure.reasons { complain(reason, language) }
            return .refused
        } catch {
            complain(LocalizedText(en: "failed: \(error)", zh: "失败：\(error)"), language)
            return .refused
        }
    }

    private func answer(_ result: CommandLineParser.Result, language: Language) async throws -> ExitCode {
        switch result.request {
        case .help(let command):
            let help = Help(language: language)
            process.console.print(command.map(help.page) ?? help.overview(of: commands))
            return .done
        case .version:
            let build = BuildIdentity.current
            process.console.print(result.wantsJSON ? build.json.encoded() : build.text)
            return .done
        case .run(let command):
            return try await command.run(
                Invocation(
                    language: language, wantsJSON: result.wantsJSON, positionals: result.positionals,
                    values: result.values, process: process))
        }
    }

    private func complain(_ text: LocalizedText, _ language: Language) {
        process.console.complain("till: " + text(language))
    }
}
