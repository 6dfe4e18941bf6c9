import Testing

enum HygieneRules {
    /// Promises that the compiler does not check. The reason stands beside each; for a pointer that C carries, where
    /// the pointer is made, not where it comes back.
    private static let needles = [
        "@unchecked", "nonisolated(unsafe)", "unsafeBitCast", "Unmanaged.passRetained", "Unmanaged.passUnretained",
        "assumeIsolated", "withUnsafeCurrentTask",
    ].map(Needle.init)

    static func findings(in source: SwiftSource) -> [Finding] {
        Needle.places(of: needles, in: source.tokens).compactMap { needle, index in
            let line = source.tokens[index].line
            guard !isExplained(line - 1, in: source) else { return nil }
            return Finding(
                source.path, line, "\(needle.text) without a comment beside or above it that says why it holds")
        }
    }

    /// A comment of a few words on the line itself, on the line above, or above the first line of the statement.
    private static func isExplained(_ index: Int, in source: SwiftSource) -> Bool {
        if words(source.comments[index]) >= 3 { return true }
        for above in (max(0, index - 4)..<index).reversed() {
            if words(source.comments[above]) >= 3 { return true }
            if source.code[above].allSatisfy({ $0 == " " }) && words(source.comments[above]) == 0 { return false }
        }
        return false
    }

    private static func words(_ comment: String) -> Int {
        comment.split(separator: " ").count { word in word.contains { $0.isLetter } }
    }
}

@Suite("Concurrency hygiene")
struct HygieneTests {
    @Test("Every unchecked promise about threads and memory states why it holds")
    func hygiene() {
        expectNone(Checkout.current.sources.flatMap(HygieneRules.findings(in:)))
    }

    @Test(
        "A promise without its reason is found",
        arguments: [
            "final class A: @unchecked Sendable {}",
            "// Guarded by the lock below.\n\nfinal class A: @unchecked Sendable {}",
            "nonisolated(unsafe) let a = 1  // ok",
            "let a = unsafeBitCast(b, to: Int.self)",
            "let a = Unmanaged.passRetained(b)\n// Released by the callback.",
        ])
    func findsSample(_ text: String) {
        #expect(HygieneRules.findings(in: SwiftSource(path: "Sources/TillHTTP/A.swift", text: text)).count == 1)
    }

    @Test(
        "A promise with its reason is accepted",
        arguments: [
            "/// Everything in it is guarded by `lock`.\nfinal class A: @unchecked Sendable {}",
            "nonisolated(unsafe) let a = 1  // written once, before the thread starts",
            "// The table owns it until the callback.\nlet a = b(\n    c,\n    Unmanaged.passRetained(d))",
            "let a = \"unsafeBitCast\"",
            "let a = Unmanaged<B>.fromOpaque(c).takeUnretainedValue()",
        ])
    func leavesOthers(_ text: String) {
        #expect(HygieneRules.findings(in: SwiftSource(path: "Sources/TillHTTP/A.swift", text: text)).isEmpty)
    }
}
