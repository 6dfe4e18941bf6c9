import TillClient

/// The command-line arguments of the three apps.
public struct Arguments: Sendable {
    public var configuration: TillConfiguration
    public var user: String
    /// The user token that the app's backend issued: a JWT whose `sub` is the user.
    public var token: String
    /// `--json`: prints one event per line, for programs.
    public var wantsJSON: Bool

    public enum ParseError: Error, Hashable, Sendable {
        /// `--help`, which is not an error.
        case wantsHelp
        case unknown(String)
        case missing(String)
        case badValue(String)
    }

    /// - Parameters:
    ///   - words: the arguments without the program's name.
    ///   - speaksJSON: whether the app supports events for programs.
    public init(_ words: [String], speaksJSON: Bool = false) throws(ParseError) {
        var values: [String: String] = [:]
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--help" { throw .wantsHelp }
            let isKnown = Self.valued.contains(word) || speaksJSON && word == "--json"
            guard isKnown else { throw .unknown(word) }
            guard word != "--json" else {
                values[word] = ""
                continue
            }
            guard let value = rest.popFirst() else { throw .missing(word) }
            values[word] = value
        }
        guard let server = values["--server"] else { throw .missing("--server") }
        guard let user = values["--user"] else { throw .missing("--user") }
        guard let token = values["--token"] else { throw .missing("--token") }
        self.user = user
        self.token = token
        wantsJSON = values["--json"] != nil
        configuration = TillConfiguration(server: server)
        configuration.directory = values["--directory"]
        switch values["--storekit"] {
        case nil: break
        case "1": configuration.generation = .storeKit1
        case "2": configuration.generation = .storeKit2
        default: throw .badValue("--storekit")
        }
        if let name = values["--lang"] {
            guard ["en", "zh"].contains(name) else { throw .badValue("--lang") }
            configuration.language = name
        }
    }

    private static let valued: Set<String> = [
        "--server", "--user", "--token", "--directory", "--storekit", "--lang",
    ]
}
