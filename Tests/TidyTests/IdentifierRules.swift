import Testing

/// Identifiers compare by their bytes (docs/decisions/0046). The rule on text: in modules where equality decides
/// ownership, no property or parameter with the name of an identifier is a `String`. Bodies of requests and answers,
/// and Apple's signed data, are text until they are parsed.
enum IdentifierRules {
    static let modules: Set<String> = ["TillBilling", "TillLedger"]
    static let names: Set<String> = [
        "userID", "user", "deviceID", "device", "productID", "planID", "transactionID", "originalID", "customerID",
    ]

    static func findings(in source: SwiftSource) -> [Finding] {
        var findings: [Finding] = []
        let tokens = source.tokens
        let isChecked = source.target.map(modules.contains) == true
        for index in tokens.indices.dropLast(2) {
            let token = tokens[index]
            if token.text == "TextIdentifier", source.path.hasPrefix("Sources/") {
                findings.append(
                    Finding(source.path, token.line, "identifiers are Identifier<Kind>, which compares bytes"))
            }
            guard isChecked, tokens[index + 1].text == ":", names.contains(token.text),
                tokens[index + 2].text == "String"
            else { continue }
            findings.append(
                Finding(source.path, token.line, "\(token.text) is an identifier: a String also equals its twins"))
        }
        return findings
    }
}

@Suite("Identifiers") struct IdentifierRuleTests {
    @Test("An identifier is never declared as a String where equality decides ownership")
    func ours() { expectNone(Checkout.current.sources.flatMap { IdentifierRules.findings(in: $0) }) }

    @Test("The rule finds a violation")
    func planted() {
        let text = "struct Order { let userID: String; var device: String?; let name: String; let id: UserID }"
        let source = SwiftSource(path: "Sources/TillBilling/Order.swift", text: text)
        #expect(IdentifierRules.findings(in: source).count == 2)
        let twin = SwiftSource(path: "Sources/TillAPI/A.swift", text: "struct A: TextIdentifier { let userID: String }")
        #expect(IdentifierRules.findings(in: twin).count == 1)
    }
}
