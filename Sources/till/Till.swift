import TillBilling
import TillCrypto

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@main
struct Till {
    static func main() async {
        let signals = Signals.take()
        var process = ProcessEffects(
            console: .ofProcess(), environment: environmentVariables(), clock: now,
            entropy: RandomBytes.make, waitForStop: signals.waitForStop, waitForHangUp: signals.waitForHangUp)
        process.upgradeRequests = signals.upgradeRequests
        process.start = .ofProcess()
        // `run` is nonisolated, so commands run off the main actor, which stays free.
        let code = await Program(commands: Command.all, process: process).run(Array(CommandLine.arguments.dropFirst()))
        exit(code.rawValue)
    }

    @Sendable private nonisolated static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
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
