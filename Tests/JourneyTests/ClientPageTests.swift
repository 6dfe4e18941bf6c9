import Foundation
import Testing

/// A newcomer's first try: the lines of docs/client.md, copied as they are.
@Suite("The client kit's page, tried out")
struct ClientPageTests {
    private static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The Swift blocks of a page, in order.
    private static func blocks(of page: String) throws -> [String] {
        let text = try String(contentsOf: repository.appendingPathComponent(page), encoding: .utf8)
        return text.components(separatedBy: "```swift\n").dropFirst().compactMap { part in
            part.range(of: "```").map { String(part[..<$0.lowerBound]) }
        }
    }

    @Test("Both languages show the same code, apart from its comments")
    func languages() throws {
        func code(_ page: String) throws -> [[Substring]] {
            try Self.blocks(of: page).map { block in
                block.split(separator: "\n").filter { !$0.trimmingPrefix(while: \.isWhitespace).hasPrefix("//") }
            }
        }
        let english = try code("docs/client.md")
        #expect(english.count >= 6)
        #expect(english == (try code("docs/client.zh-CN.md")))
    }

    @Test("The ten lines, in a package with the path of the page, buy in the demo's shop", .slow)
    func tenLines() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("client-page-\(UUID().uuidString)")
        let sources = folder.appendingPathComponent("app/Sources/MyApp")
        try FileManager.default.createDirectory(at: sources, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createSymbolicLink(
            at: folder.appendingPathComponent("till"), withDestinationURL: Self.repository)
        let blocks = try Self.blocks(of: "docs/client.md")
        let manifest = """
            // swift-tools-version: 6.0
            import PackageDescription

            let package = Package(
                name: "MyApp",
                platforms: [.iOS(.v15), .macOS(.v12)],
            \(blocks[0].split(separator: "\n").joined(separator: "\n"))
            )

            """
        try manifest.write(to: folder.appendingPathComponent("app/Package.swift"), atomically: true, encoding: .utf8)
        let demo = try TillProcess.start(["demo", "--lang", "en", "--port", "0"])
        defer { demo.abandon() }
        let shop = try await Self.shop(of: demo)
        let session = """
            import Foundation

            let userID = "zoe"
            let userToken = "\(shop.token)"

            """
        try session.write(to: sources.appendingPathComponent("Session.swift"), atomically: true, encoding: .utf8)
        let lines = blocks[1].replacingOccurrences(of: "http://127.0.0.1:8787", with: shop.server)
        #expect(lines != blocks[1])
        try lines.write(to: sources.appendingPathComponent("main.swift"), atomically: true, encoding: .utf8)

        let build = try TillProcess.start(
            ["swift", "build", "--package-path", folder.appendingPathComponent("app").path],
            executable: "/usr/bin/env")
        let (log, built) = await build.finish()
        try #require(built == 0, "\(log.suffix(2_000)) \(build.complaints.suffix(2_000))")
        let app = try TillProcess.start(
            [
                "TILL_STORE=\(shop.store)", "TILL_STORE_ACCOUNT=zoe", "XDG_STATE_HOME=\(folder.path)/state",
                "TILL_STORE_DIRECTORY=\(folder.path)/receipts",
                folder.appendingPathComponent("app/.build/debug/MyApp").path,
            ], executable: "/usr/bin/env")
        let (output, code) = await app.finish()
        #expect(code == 0, "\(app.complaints)")
        #expect(output.contains("completed("), "\(output)")
        #expect(output.split(separator: "\n").filter { $0.hasSuffix("true") }.count >= 4)
    }

    /// The addresses and the token that the demo prints for the reader.
    private static func shop(of demo: TillProcess) async throws -> (server: String, store: String, token: String) {
        var found: [String: String] = [:]
        for await line in demo.lines {
            let words = line.split { " \\".contains($0) }.map(String.init)
            for (name, value) in zip(words, words.dropFirst()) where ["--server", "--token"].contains(name) {
                found[name] = value
            }
            if let store = words.first(where: { $0.hasPrefix("TILL_STORE=") }) {
                found["store"] = String(store.dropFirst("TILL_STORE=".count))
            }
            if let server = found["--server"], let store = found["store"], let token = found["--token"] {
                return (server, store, token)
            }
        }
        throw CancellationError()
    }
}
