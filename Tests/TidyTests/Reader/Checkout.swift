import Foundation
import Testing

/// The package's own files as git lists them: committed files, and new ones that are not ignored.
///
/// `TILL_TIDY_ROOT` points the rules at another checkout, to check a branch before it is merged.
struct Checkout: Sendable {
    let root: URL
    /// Paths relative to the root, sorted.
    let paths: [String]
    /// Every Swift file, read and split into code and comments once for all rules.
    let sources: [SwiftSource]

    static let current = Checkout(root: rootOfThisPackage)

    init(root: URL) {
        self.root = root
        paths = Self.tracked(in: root)
        sources = paths.filter { $0.hasSuffix(".swift") }.compactMap { path in
            guard let text = try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8) else {
                return nil
            }
            return SwiftSource(path: path, text: text)
        }
    }

    func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path)
    }

    func data(_ path: String) -> Data? {
        try? Data(contentsOf: root.appendingPathComponent(path))
    }

    func text(_ path: String) -> String? {
        data(path).flatMap { String(data: $0, encoding: .utf8) }
    }

    /// The directories under `Sources` or `Tests`: one target each.
    func targets(under top: String) -> [String] {
        let names = paths.compactMap { path -> String? in
            let parts = path.split(separator: "/")
            return parts.count > 2 && parts[0] == top ? String(parts[1]) : nil
        }
        return Set(names).sorted()
    }

    private static let rootOfThisPackage: URL = {
        if let other = ProcessInfo.processInfo.environment["TILL_TIDY_ROOT"], !other.isEmpty {
            return URL(fileURLWithPath: other)
        }
        // …/Tests/TidyTests/Reader/Checkout.swift
        return (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    }()

    private static func tracked(in root: URL) -> [String] {
        let listing = gitListing(in: root) ?? walk(root)
        return Set(listing).filter { FileManager.default.fileExists(atPath: root.appendingPathComponent($0).path) }
            .sorted()
    }

    private static func gitListing(in root: URL) -> [String]? {
        let git = Process()
        git.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        // A checkout that belongs to another user (a container's mount) must be readable too.
        git.arguments = [
            "git", "-c", "safe.directory=*", "-c", "core.quotePath=off", "-C", root.path, "ls-files", "-z",
            "--cached", "--others", "--exclude-standard",
        ]
        let output = Pipe()
        git.standardOutput = output
        git.standardError = FileHandle.nullDevice
        guard (try? git.run()) != nil else { return nil }
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        git.waitUntilExit()
        guard git.terminationStatus == 0, !bytes.isEmpty else { return nil }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\0").map(String.init)
    }

    /// For an unpacked archive without git: every file except build products.
    private static func walk(_ root: URL) -> [String] {
        let all = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        return all.filter { path in
            var isDirectory: ObjCBool = false
            let exists = FileManager.default.fileExists(
                atPath: root.appendingPathComponent(path).path, isDirectory: &isDirectory)
            let top = path.split(separator: "/").first ?? ""
            return exists && !isDirectory.boolValue && !top.hasPrefix(".build") && top != ".git" && top != ".swiftpm"
        }
    }
}

/// Short, because a failed expectation prints it.
extension Checkout: CustomStringConvertible {
    var description: String { root.path }
}

/// Reports every finding as a separate issue, so that one run shows them all.
func expectNone(_ findings: [Finding], sourceLocation: SourceLocation = #_sourceLocation) {
    for finding in findings {
        Issue.record("\(finding.description)", sourceLocation: sourceLocation)
    }
}

@Suite("The checkout that the rules read")
struct CheckoutTests {
    @Test("The rules see the package: its manifest, its modules and its tests")
    func seesThePackage() {
        let checkout = Checkout.current
        #expect(checkout.exists("Package.swift"))
        #expect(checkout.sources.contains { $0.path == "Package.swift" })
        #expect(checkout.targets(under: "Sources").contains("TillBilling"))
        #expect(checkout.targets(under: "Tests").contains("TidyTests"))
        #expect(!checkout.paths.contains { $0.hasPrefix(".build/") })
    }

    @Test("Every Swift file that git lists is UTF-8 and was read")
    func readsEveryFile() {
        let listed = Checkout.current.paths.filter { $0.hasSuffix(".swift") }
        #expect(Checkout.current.sources.map(\.path) == listed)
    }
}
