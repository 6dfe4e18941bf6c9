import Testing

/// What only the tests' own builds contain stands under a compilation condition that no release build sets: planted
/// mistakes (docs/decisions/0040), and schemas of releases that do not exist (docs/decisions/0070).
enum PlantedMistakeRules {
    private static let conditions = [
        "PlantedMistake": "PLANTED_MISTAKES", "isPlanted": "PLANTED_MISTAKES", "UpgradeTestSchema": "UPGRADE_TEST",
    ]
    /// The load test reads ledgers of those schemas too, so they are defined without the condition.
    private static let definitions: Set<String> = ["Sources/TillSimulation/UpgradeTestSchema.swift"]

    static func findings(in source: SwiftSource) -> [Finding] {
        guard source.isSource, !definitions.contains(source.path), source.path.hasPrefix("Sources/") else { return [] }
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
                for (name, condition) in Self.conditions where line.contains(name) {
                    guard !conditions.contains(condition) else { continue }
                    findings.append(Finding(source.path, index + 1, "\(name) stands under #if \(condition) alone"))
                    break
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
        let schema = "UpgradeTestSchema.expand.schema"
        #expect(count("#if UPGRADE_TEST\n\(schema)\n#endif") == 0)
        #expect(count(schema) == 1 && count("#if PLANTED_MISTAKES\n\(schema)\n#endif") == 1)
        #expect(count("#if PLANTED_MISTAKES\n#if os(Linux)\n\(line)\n#endif\n#endif") == 0)
        for text in [
            line, "#if DEBUG\n\(line)\n#endif", "#if PLANTED_MISTAKES\n#else\n\(line)\n#endif",
            "#if PLANTED_MISTAKES\n#endif\n\(line)", "#if !PLANTED_MISTAKES\n\(line)\n#endif",
        ] {
            #expect(count(text) == 1, "\(text)")
        }
    }
}
