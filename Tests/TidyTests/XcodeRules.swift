import Foundation
import Testing

/// The lowest Xcode that builds the client kit: the one whose SDK has every symbol that the kit names.
enum XcodeRules {
    /// Xcode's versions by the iOS SDK that they bring (Apple's release notes of Xcode). Add a row when a source needs
    /// it.
    static let versions: [(sdk: String, xcode: String)] = [
        ("18.0", "16.0"), ("18.1", "16.1"), ("18.2", "16.2"), ("18.4", "16.3"), ("18.5", "16.4"), ("26.0", "26.0"),
        ("26.1", "26.1"), ("26.2", "26.2"),
    ]

    /// The versions of iOS that a source's availability names, except in code for newer compilers or Linux only.
    static func releases(in text: String) -> [String] {
        var found: [String] = []
        var conditions: [Bool] = []
        for line in text.split(separator: "\n").map({ $0.drop { $0 == " " } }) {
            if line.hasPrefix("#else") || line.hasPrefix("#endif") { _ = conditions.popLast() }
            if line.hasPrefix("#if") || line.hasPrefix("#else") {
                conditions.append(line.contains("compiler(>=") || line == "#if os(Linux)")
            }
            guard !conditions.contains(true) else { continue }
            for match in line.matches(of: /available\(.*?iOS (\d+(?:\.\d+)?)/) { found.append(String(match.1)) }
        }
        return found
    }

    /// Nil if no known Xcode has this SDK.
    static func lowest(for releases: [String]) -> String? {
        func isOrdered(_ one: String, _ other: String) -> Bool {
            one.compare(other, options: .numeric) != .orderedDescending
        }
        guard let newest = releases.max(by: { isOrdered($0, $1) && $0 != $1 }) else { return versions.first?.xcode }
        return versions.first { isOrdered(newest, $0.sdk) }?.xcode
    }
}

@Suite("The lowest Xcode")
struct XcodeTests {
    @Test("The pages name the Xcode whose SDK has every symbol that the client kit names")
    func stated() throws {
        let releases = Checkout.current.sources.filter { $0.target == "TillClient" || $0.target == "TillAPI" }
            .flatMap { XcodeRules.releases(in: $0.lines.joined(separator: "\n")) }
        #expect(releases.contains("18.4"))
        let xcode = try #require(XcodeRules.lowest(for: releases), "add the newer Xcode to XcodeRules.versions")
        for path in ["README.md", "README.zh-CN.md", "docs/dependencies.md", "docs/dependencies.zh-CN.md"] {
            #expect(
                Checkout.current.text(path)?.contains("Xcode \(xcode)") == true, "\(path) does not name Xcode \(xcode)")
        }
    }

    @Test("A newer symbol raises it, unless only newer compilers read it")
    func raises() {
        #expect(XcodeRules.lowest(for: []) == "16.0")
        #expect(XcodeRules.lowest(for: XcodeRules.releases(in: "if #available(iOS 16.4, macOS 14.4, *) {")) == "16.0")
        #expect(XcodeRules.lowest(for: XcodeRules.releases(in: "@available(macOS 15.4, iOS 18.4, *)")) == "16.3")
        #expect(XcodeRules.lowest(for: ["9.0", "18.4", "18.10"]) == "26.0")
        let newer = "#if compiler(>=6.3)\n  if #available(iOS 26.4, *) {}\n#endif\nif #available(iOS 18.5, *) {}"
        #expect(XcodeRules.releases(in: newer) == ["18.5"])
        let either = "#if os(Linux)\n@available(iOS 26.4, *)\n#elseif compiler(>=6.3)\n@available(iOS 26.5, *)\n#else\n"
        #expect(XcodeRules.releases(in: either + "@available(iOS 18.4, *)\n#endif") == ["18.4"])
        #expect(XcodeRules.lowest(for: ["99.0"]) == nil)
    }
}
