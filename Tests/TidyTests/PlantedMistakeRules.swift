import Testing

/// Planted mistakes stand under one compilation condition, which no release build sets (docs/decisions/0040).
enum PlantedMistakeRules {
    static let condition = "PLANTED_MISTAKES"

    static func findings(in source: SwiftSource) -> [Finding] {
        guard source.isSource else { return [] }
        var conditions: [String] = []
        var findings: [Finding] = []
        for (index, line) in source.code.enumerated() {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
            switch words.first {
            case "#if": conditions.append(words.dropFirst().joined(separator: " "))
            case "#else", "#elseif":
                if !conditions.isEmpty { conditions[conditions.count - 1] = "" }
            case "#endif": _ = conditions.popLast()
            default:
                guard !conditions.contains(condition) else { continue }
                if line.contains("PlantedMistake") || line.contains("isPlanted") {
                    findings.append(
                        Finding(source.path, index + 1, "a planted mistake stands under #if \(condition) alone"))
                }
            }
        }
        return findings
    }
}

@Suite("Planted mistakes") struct PlantedMistakeRuleTests {
    @Test("No planted mistake is part of a release build")
    func ours() { expectNone(Checkout.current.sources.flatMap { PlantedMistakeRules.findings(in: $0) }) }

    @Test("The rule finds a mistake outside the condition, under another one, and in its #else")
    func found() {
        func count(_ text: String) -> Int {
            PlantedMistakeRules.findings(in: SwiftSource(path: "Sources/TillBilling/A.swift", text: text)).count
        }
        let line = "if PlantedMistake.refusesLate.isPlanted { return }"
        #expect(count("#if PLANTED_MISTAKES\n\(line)\n#endif") == 0)
        #expect(count("#if PLANTED_MISTAKES\n#if os(Linux)\n\(line)\n#endif\n#endif") == 0)
        for text in [
            line, "#if DEBUG\n\(line)\n#endif", "#if PLANTED_MISTAKES\n#else\n\(line)\n#endif",
            "#if PLANTED_MISTAKES\n#endif\n\(line)", "#if !PLANTED_MISTAKES\n\(line)\n#endif",
        ] {
            #expect(count(text) == 1, "\(text)")
        }
    }
}
