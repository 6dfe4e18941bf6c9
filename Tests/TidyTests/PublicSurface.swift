import Foundation
import Testing

/// The public declarations of a library, as the compiler sees them. They are stored in `docs/surface`, so that reviews
/// show every change; `make surface` writes them.
struct PublicSurface {
    /// The libraries that apps import.
    static let libraries = ["StoreKit", "TillClient"]

    let library: String

    var path: String { "docs/surface/\(library).txt" }

    /// The symbols without documentation, sorted.
    func undocumented() throws -> [String] { try symbols().filter { $0.docComment == nil }.map(\.line).sorted() }

    func lines() throws -> [String] { SurfacePage(try declarations()).lines }

    func declarations() throws -> [SurfacePage.Declaration] { try symbols().map(\.declaration) }

    /// The public symbols whose declaration, conformances or extended type lead to one of these modules. An app that
    /// imports only this library could not name them.
    func leading(to modules: [String]) throws -> [String] {
        let prefixes = modules.map { "s:\($0.utf8.count)\($0)" }
        func leads(_ id: String?) -> Bool { id.map { id in prefixes.contains { id.hasPrefix($0) } } ?? false }
        return try graphs().flatMap { graph in
            graph.symbols.filter { symbol in
                leads(symbol.identifier.precise)
                    || symbol.declarationFragments.contains { leads($0.preciseIdentifier) }
            }.map(\.line)
                + graph.relationships.filter { leads($0.target) }.map { "\($0.source) \($0.kind) \($0.target)" }
        }.sorted()
    }

    private func symbols() throws -> [Graph.Symbol] { try graphs().flatMap(\.symbols) }

    private func graphs() throws -> [Graph] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-surface-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try extract(into: folder)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }.map {
            try JSONDecoder().decode(Graph.self, from: Data(contentsOf: folder.appendingPathComponent($0)))
        }
    }

    private func extract(into folder: URL) throws {
        let swift = Process()
        swift.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        swift.arguments =
            [
                "swift", "symbolgraph-extract", "-module-name", library, "-target", try Self.target(),
                "-I", Self.products.appendingPathComponent("Modules").path,
            ] + Self.cModules + [
                "-minimum-access-level", "public",
                "-skip-synthesized-members", "-output-dir", folder.path,
            ]
        try swift.run()
        swift.waitUntilExit()
        guard swift.terminationStatus == 0 else { throw SurfaceError(text: "swift symbolgraph-extract failed") }
    }

    /// The folders of the C libraries' module maps.
    static let cModules = Set(Checkout.current.paths.filter { $0.hasSuffix("/module.modulemap") }).sorted()
        .flatMap { path in ["-I", Checkout.current.root.appendingPathComponent(path).deletingLastPathComponent().path] }

    private static func target() throws -> String {
        let swift = Process()
        let output = Pipe()
        swift.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        swift.arguments = ["swift", "-print-target-info"]
        swift.standardOutput = output
        try swift.run()
        let info = try JSONDecoder().decode(TargetInfo.self, from: output.fileHandleForReading.readDataToEndOfFile())
        swift.waitUntilExit()
        return info.target.triple
    }

    /// The folder where this test and the libraries were built.
    static let products: URL = {
        let arguments = CommandLine.arguments
        if let flag = arguments.firstIndex(of: "--test-bundle-path"), flag + 1 < arguments.count {
            return URL(fileURLWithPath: arguments[flag + 1]).deletingLastPathComponent()
        }
        return Checkout.current.root.appendingPathComponent(".build/debug")
    }()

    private struct TargetInfo: Decodable {
        struct Target: Decodable { let triple: String }
        let target: Target
    }

    private struct Graph: Decodable {
        struct Symbol: Decodable {
            struct Fragment: Decodable {
                let spelling: String
                let preciseIdentifier: String?
            }
            struct Identifier: Decodable { let precise: String }
            struct Kind: Decodable { let identifier: String }
            struct Comment: Decodable {}
            let identifier: Identifier
            let kind: Kind
            let pathComponents: [String]
            let declarationFragments: [Fragment]
            /// The comment above the declaration, or above the one it overrides.
            let docComment: Comment?

            /// `TillStore.start(): func start() async`
            var line: String { "\(declaration.name): \(declaration.text)" }

            var declaration: SurfacePage.Declaration {
                SurfacePage.Declaration(
                    path: pathComponents,
                    text: declarationFragments.map(\.spelling).joined()
                        .split(whereSeparator: \.isWhitespace).joined(separator: " "),
                    isType: ["struct", "class", "enum", "protocol", "actor"].map { "swift.\($0)" }
                        .contains(kind.identifier))
            }
        }
        struct Relationship: Decodable {
            let kind: String
            let source: String
            let target: String
        }
        let symbols: [Symbol]
        let relationships: [Relationship]
    }

    struct SurfaceError: Error { let text: String }
}

@Suite("The public surface")
struct PublicSurfaceTests {
    @Test("Every public symbol of the client kit is documented")
    func documented() throws {
        #expect(try PublicSurface(library: "TillClient").undocumented().isEmpty)
    }

    @Test("An app needs `import TillClient` alone: no public declaration leads to TillBilling or TillAPI")
    func oneImport() throws {
        let surface = PublicSurface(library: "TillClient")
        #expect(try surface.leading(to: ["TillBilling", "TillAPI"]).isEmpty)
        // The check reads what it looks for: the store leads to the kit's own types.
        #expect(try surface.leading(to: ["TillClient"]).contains { $0.hasPrefix("TillStore.state: ") })
    }

    @Test("An app's code with `import TillClient` alone uses every public member, under its type's heading")
    func everyMember() throws {
        let path = "Tests/TillClientAppTests/EveryMember.swift"
        let text = try #require(Checkout.current.text(path))
        #expect(
            text.matches(of: /(?m)^ *import (.*)$/).map { String($0.1) }.sorted() == [
                "Foundation", "TillClient", "UIKit",
            ])
        var sections: [String: Set<Substring>] = [:]
        for section in text.components(separatedBy: "// MARK: ").dropFirst() {
            let words = Set(section.matches(of: /[\p{L}_][\p{L}\d_]*|==/).map(\.0))
            for type in section.prefix(while: { $0 != "\n" }).components(separatedBy: ", ") { sections[type] = words }
        }
        for declaration in try PublicSurface(library: "TillClient").declarations() {
            if declaration.isType {
                #expect(sections[declaration.name] != nil, "\(path) has no heading \(declaration.name)")
                continue
            }
            let name = declaration.path.last?.prefix { $0 != "(" } ?? ""
            // A store is made by its initializer, whose own word is the type's name.
            let word = name == "init" ? declaration.path.dropLast().last.map { $0[...] } ?? "" : name
            #expect(sections[declaration.parent]?.contains(word) == true, "\(path) does not use \(declaration.name)")
        }
    }

    @Test("The client kit's page fits on three screens")
    func threeScreens() throws {
        let page = try #require(Checkout.current.text("docs/surface/TillClient.txt")).split(separator: "\n")
        #expect(page.count <= 3 * 60 && page.allSatisfy { $0.count <= SurfacePage.columns })
    }

    @Test("A library's public declarations change only together with their page", arguments: PublicSurface.libraries)
    func surface(_ library: String) throws {
        let surface = PublicSurface(library: library)
        let now = try surface.lines()
        if ProcessInfo.processInfo.environment["TILL_WRITE_SURFACE"] == "1" {
            let file = Checkout.current.root.appendingPathComponent(surface.path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data((now.joined(separator: "\n") + "\n").utf8).write(to: file)
            return
        }
        let written = try #require(Checkout.current.text(surface.path), "run `make surface`")
        let page = written.split(separator: "\n").map(String.init)
        #expect(page.count > 20)
        let new = now.filter { !page.contains($0) }
        let gone = page.filter { !now.contains($0) }
        #expect(new != [] || gone != [] || now == page, "\(surface.path) is in another order; run `make surface`")
        #expect(new.isEmpty, "not on \(surface.path) yet; if it shall be public, run `make surface`")
        #expect(gone.isEmpty, "on \(surface.path) and gone; apps that use it break")
    }
}
