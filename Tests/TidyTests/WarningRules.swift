import Foundation
import Testing

/// Compiles a library's sources again, with warnings as errors and without output: SwiftPM forbids that flag in a
/// package that others depend on.
enum WarningRules {
    static func complaints(about library: String) throws -> String {
        let swift = Process()
        let errors = Pipe()
        // SwiftPM names a package after its directory.
        let package = String(
            Checkout.current.root.lastPathComponent.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
        swift.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let sources = Checkout.current.paths.filter { $0.hasPrefix("Sources/\(library)/") && $0.hasSuffix(".swift") }
        #expect(sources.count > 10)
        swift.arguments =
            [
                "swiftc", "-typecheck", "-warnings-as-errors", "-swift-version", "6", "-package-name", package,
                "-module-name", library, "-I", PublicSurface.products.appendingPathComponent("Modules").path,
            ] + PublicSurface.cModules + sources
        swift.currentDirectoryURL = Checkout.current.root
        swift.standardError = errors
        try swift.run()
        let stated = errors.fileHandleForReading.readDataToEndOfFile()
        swift.waitUntilExit()
        return swift.terminationStatus == 0 ? "" : String(decoding: stated, as: UTF8.self)
    }
}

@Suite("Warnings", .slow)
struct WarningTests {
    @Test("The libraries that apps import compile without a warning", arguments: ["StoreKit", "TillClient"])
    func libraries(_ library: String) throws {
        let complaints = try WarningRules.complaints(about: library)
        #expect(complaints.isEmpty, "\(complaints)")
    }
}
