import Foundation
import TillClient

/// Creates a `TillStore` from the command line, or prints the reason of a failure to stderr.
public struct Launch: Sendable {
    public let store: TillStore
    public let terminal: Terminal
    public let user: String
    public let token: String

    /// - Parameters:
    ///   - program: the program's name on the command line.
    ///   - speaksJSON: whether the app supports events for programs.
    public static func fromCommandLine(_ program: String, speaksJSON: Bool = false) -> Launch {
        let words = Array(CommandLine.arguments.dropFirst())
        let usage = "\(program) --server URL --user NAME --token TOKEN"
        let options = "[--directory DIR] [--storekit 1|2] [--lang zh|en]" + (speaksJSON ? " [--json]" : "")
        do throws(Arguments.ParseError) {
            return launch(program, try Arguments(words, speaksJSON: speaksJSON))
        } catch {
            let terminal = Terminal(language: language(in: words))
            switch error {
            case .wantsHelp:
                terminal.say("\(usage) \(options)")
                exit(0)
            case .unknown(let word): terminal.complain("\(program): \(word) is unknown", "\(program)：不认识 \(word)")
            case .missing(let word): terminal.complain("\(program): \(word) is missing", "\(program)：缺少 \(word)")
            case .badValue(let word):
                terminal.complain("\(program): \(word) has a wrong value", "\(program)：\(word) 的值不对")
            }
            terminal.complain("\(usage) \(options)", "\(usage) \(options)")
            exit(2)
        }
    }

    private static func launch(_ program: String, _ arguments: Arguments) -> Launch {
        let language = arguments.configuration.language ?? systemLanguage
        let terminal = Terminal(language: language, wantsJSON: arguments.wantsJSON)
        do throws(TillError) {
            return Launch(
                store: try TillStore(arguments.configuration), terminal: terminal, user: arguments.user,
                token: arguments.token)
        } catch {
            // Another instance has the list of orders open, or the disk is damaged. An app shows this and offers help.
            let reason = error.message(in: terminal.language)
            terminal.complain("\(program): \(reason)", "\(program)：\(reason)")
            exit(1)
        }
    }

    /// The language, also for invalid arguments.
    private static func language(in words: [String]) -> String {
        guard let index = words.firstIndex(of: "--lang"), words.indices.contains(index + 1) else {
            return systemLanguage
        }
        return words[index + 1] == "zh" ? "zh" : "en"
    }

    private static var systemLanguage: String {
        let environment = ProcessInfo.processInfo.environment
        let chosen = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        return chosen?.hasPrefix("zh") == true ? "zh" : "en"
    }
}
