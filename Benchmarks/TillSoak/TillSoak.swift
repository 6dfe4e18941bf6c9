import Foundation
import TillAppStore
import TillTestDatabases

/// Runs the real programs under kills and faults, and audits the result. `make soak` calls it.
@main
struct TillSoak {
    private static let usage = """
        usage: TillSoak DIR PROGRAMS [--database D] [--minutes N] [--seconds N] [--seed S] [--json]
               DIR        where everything is kept that the soak makes; made if missing
               PROGRAMS   the directory with till and learnpoints
               --database where the server's ledger is: sqlite (default), or postgres, a cluster of the soak's own
               --minutes  how long the chaos lasts (default: 30); what follows takes a few minutes more
               --seconds  the same in seconds
               --seed     what is decided by chance is decided by this number (default: any)
               --json     the figures as one JSON object on stdout, and nothing else there
        """

    static func main() async {
        // Writing to a process that has ended must not end this one.
        signal(SIGPIPE, SIG_IGN)
        do {
            guard let arguments = try Arguments(Array(CommandLine.arguments.dropFirst())) else {
                complain(usage)
                exit(2)
            }
            let soak = Soak(
                directory: try SoakDirectory(arguments.directory, programs: arguments.programs),
                database: arguments.database, chaos: arguments.chaos, seed: arguments.seed,
                say: { complain("soak: \($0)") })
            let report = try await soak.run()
            print(arguments.wantsJSON ? report.json.encoded(pretty: true) : report.text)
            try Data(report.json.encoded(pretty: true).utf8)
                .write(to: soak.directory.root.appendingPathComponent("figures.json"))
            exit(report.isGood ? 0 : 1)
        } catch {
            complain("soak: \(error)")
            exit(1)
        }
    }

    /// Writes to stderr, unbuffered.
    private static func complain(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8))
    }

    struct Arguments {
        var directory = ""
        var programs = ""
        var database = LedgerDatabase.sqlite
        var chaos = Duration.seconds(1_800)
        var seed = UInt64.random(in: 0...UInt64(UInt32.max))
        var wantsJSON = false

        /// Nil if the arguments are invalid.
        init?(_ words: [String]) throws {
            var places: [String] = []
            var rest = words[...]
            while let word = rest.popFirst() {
                switch word {
                case "--json": wantsJSON = true
                case "--database":
                    guard let known = rest.popFirst().flatMap(LedgerDatabase.init) else { return nil }
                    database = known
                case "--minutes", "--seconds":
                    guard let number = rest.popFirst().flatMap({ Int($0) }), (1...100_000).contains(number) else {
                        return nil
                    }
                    chaos = .seconds(word == "--minutes" ? number * 60 : number)
                case "--seed":
                    guard let number = rest.popFirst().flatMap({ UInt64($0) }) else { return nil }
                    seed = number
                default:
                    guard !word.hasPrefix("-") else { return nil }
                    places.append(word)
                }
            }
            guard places.count == 2 else { return nil }
            (directory, programs) = (places[0], places[1])
        }
    }
}
