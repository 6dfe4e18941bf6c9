#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@main
struct Till {
    static func main() async {
        // First of all, while there is one thread (see `Signals.take`).
        let signals = Signals.take()
        let process = ProcessEffects(
            console: .ofProcess(), environment: environmentVariables(), untilStopped: { await signals.untilStopped() })
        // `run` is nonisolated: commands run off the main actor, which is blocked by nobody.
        let code = await Program(commands: Command.all, process: process).run(Array(CommandLine.arguments.dropFirst()))
        exit(code.rawValue)
    }

    private static func environmentVariables() -> [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let line = entry.pointee {
            let text = String(cString: line)
            if let equals = text.firstIndex(of: "=") {
                variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            entry += 1
        }
        return variables
    }
}
