import Testing

/// Modules with so many files that their folders are the table of contents, and the few files beside the folders.
enum FolderRules {
    static let roots: [String: Set<String>] = [
        "TillServer": ["Server.swift", "Routes.swift", "ServerConfiguration.swift"],
        "till": ["Till.swift"],
    ]

    static func findings(in source: SwiftSource) -> [Finding] {
        let parts = source.path.split(separator: "/").map(String.init)
        guard parts.count == 3, parts[0] == "Sources", let allowed = roots[parts[1]], !allowed.contains(parts[2]) else {
            return []
        }
        return [Finding(source.path, 0, "stands loose in \(parts[1]): put it into the folder of its topic")]
    }
}

@Suite("Folders")
struct FolderTests {
    @Test("The server and the command line keep their files in folders by topic")
    func folders() {
        expectNone(Checkout.current.sources.flatMap(FolderRules.findings(in:)))
    }

    @Test("A file outside the folders is found, one in a folder is not")
    func finds() {
        func findings(_ path: String) -> [Finding] { FolderRules.findings(in: SwiftSource(path: path, text: "")) }
        #expect(findings("Sources/TillServer/Quota.swift").count == 1)
        #expect(findings("Sources/TillServer/Server.swift").isEmpty)
        #expect(findings("Sources/TillServer/Limits/Quota.swift").isEmpty)
        #expect(findings("Sources/TillHTTP/Router.swift").isEmpty)
    }
}
