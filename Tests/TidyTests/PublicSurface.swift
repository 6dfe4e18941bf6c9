import Foundation
import Testing

/// The public declarations of a library, one per line, as the compiler sees them. They are stored in `docs/surface`, so
/// that reviews show every change; `make surface` writes them.
struct PublicSurface {
    /// The libraries that apps import.
    static let libraries = ["StoreKit", "TillClient"]

    let library: String

    var path: String { "docs/surface/\(library).txt" }

    /// The symbols without documentation, sorted.
    func undocumented() throws -> [String] { try symbols().filter { $0.docComment == nil }.map(\.line).sorted() }

    /// Sorted; `Store.purchase(_:quantity:): func purchase(_ productID: String, quantity: Int = 1) async -> …`.
    func lines() throws -> [String] { Set(try symbols().map(\.line)).sorted() }

    private func symbols() throws -> [Graph.Symbol] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-surface-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try extract(into: folder)
        var symbols: [Graph.Symbol] = []
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) where file.hasSuffix(".json") {
            let graph = try JSONDecoder().decode(
                Graph.self, from: Data(contentsOf: folder.appendingPathComponent(file)))
            symbols += graph.symbols
        }
        return symbols
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
            struct Fragment: Decodable { let spelling: String }
            struct Comment: Decodable {}
            let pathComponents: [String]
            let declarationFragments: [Fragment]
            /// The comment above the declaration, or above the one it overrides.
            let docComment: Comment?

            var line: String {
                let declaration = declarationFragments.map(\.spelling).joined()
                    .split(whereSeparator: \.isWhitespace).joined(separator: " ")
                return "\(pathComponents.joined(separator: ".")): \(declaration)"
            }
        }
        let symbols: [Symbol]
    }

    struct SurfaceError: Error { let text: String }
}

@Suite("The public surface")
struct PublicSurfaceTests {
    @Test("Every public symbol of the client kit is documented")
    func documented() throws {
        #expect(try PublicSurface(library: "TillClient").undocumented().isEmpty)
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
        let page = Set(written.split(separator: "\n").map(String.init))
        #expect(page.count > 20)
        let new = Set(now).subtracting(page).sorted()
        let gone = page.subtracting(now).sorted()
        #expect(new.isEmpty, "not on \(surface.path) yet; if it shall be public, run `make surface`")
        #expect(gone.isEmpty, "on \(surface.path) and gone; apps that use it break")
    }
}
