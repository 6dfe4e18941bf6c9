import Foundation
import Testing
import TillBilling

/// The order of the steps of owner matching, as docs/lost-purchases.md states it in both languages.
@Suite("Owner matching tries its grounds in the documented order (U1)") struct OwnerMatchingOrderTests {
    static let grounds = [
        "account_token", "token", "original_transaction", "order_id", "device", "original_transaction", "claim",
        "backend", "order_number", "operator", "acceptance",
    ]

    private static func page(_ name: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("docs/\(name)"), encoding: .utf8)
    }

    /// The first column of the table after a heading, without its quotation marks.
    private static func column(_ page: String, after heading: String) throws -> [String] {
        let section = try #require(try Self.page(page).components(separatedBy: "\n\(heading)\n").dropFirst().first)
        let rows = section.components(separatedBy: "\n").drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }
        return rows.dropFirst(2).map { row in
            row.split(separator: "|")[0].replacingOccurrences(of: "`", with: "").trimmingCharacters(in: .whitespaces)
        }
    }

    @Test(
        "Both pages list every ground in this order (U1)",
        arguments: [("lost-purchases.md", "## Owner matching"), ("lost-purchases.zh-CN.md", "## 归属匹配")])
    func pages(_ page: String, _ heading: String) throws {
        let listed = try Self.column(page, after: heading).flatMap { cell in
            cell.split { $0 == "," || $0 == "、" }.map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(listed == Self.grounds)
        #expect(Set(listed) == Set(OwnerMatch.allCases.map(\.rawValue)))
    }

    @Test("In every row of the decision table the steps follow this order, and the last one decides (U1)")
    func steps() throws {
        for row in SettlementTests.table.split(separator: "\n") {
            let sides = row.split(separator: "|").map(\.trimmed)
            let matcher = OwnerMatcher(DecisionRow(sides[0].split(separator: ",").map(\.trimmed)).facts)
            var rest = Self.grounds[...]
            for step in matcher.steps {
                let place = try #require(
                    rest.firstIndex(of: step.match.rawValue), "\(step.match) is out of order in: \(sides[0])")
                rest = rest[place...].dropFirst()
            }
            let matched = matcher.steps.filter { $0.finding == "matched" }
            #expect(matched.count <= 1 && matched.first == (matched.isEmpty ? nil : matcher.steps.last), "\(sides[0])")
        }
    }

    /// Facts beside a token that names no order and no account | the decision, and the step that made it.
    static let unknownToken = """
        by A | quarantine unknown_token: token names_no_order
        claims OA | quarantine unknown_token: token names_no_order
        claims OA, device OA | quarantine unknown_token: token names_no_order
        device OA | quarantine unknown_token: token names_no_order
        restored by B, lasts | quarantine unknown_token: token names_no_order
        replaces what A had | quarantine unknown_token: token names_no_order
        by apple | quarantine unknown_token: token names_no_order
        renewal, original OA | quarantine unknown_token: token names_no_order
        renewal, original OA, claims OA | quarantine unknown_token: token names_no_order
        receipt, claims OA | quarantine unknown_token: token names_no_order
        proven for B, by B | grant B token-id token: token matched
        renewal, original OA, repeats | grant A OA original_transaction: original_transaction matched
        by backend naming B | grant B new backend: backend matched
        receipt, by backend naming B | grant B new backend: backend matched
        numbered by B | grant B new order_number: order_number matched
        decided for B | grant B new operator: operator matched
        """

    @Test(
        "A token that names no order falls no further; a nonce, its purchase, a backend or a person decides (U1)",
        arguments: unknownToken.split(separator: "\n").map(String.init))
    func tokenWithoutOrder(_ row: String) throws {
        let sides = row.split(separator: "|").map(\.trimmed)
        let facts = DecisionRow(["token unknown"] + sides[0].split(separator: ",").map(\.trimmed))
        let steps = PurchaseDecision(facts.facts).explanation
            .replacingOccurrences(of: "token names_no_order, ", with: "")
        #expect("\(facts.decision): \(steps)" == sides[1])
    }

    @Test("A receipt hides the token until Apple states it; then it is matched like a signed one (U1, P8)")
    func receiptWithToken() {
        #expect(DecisionRow(["receipt", "token OA", "by B"]).decision == "grant A OA token")
        #expect(DecisionRow(["receipt", "token OA", "by B", "claims OA"]).decision == "grant A OA token")
        #expect(DecisionRow(["receipt", "by B", "claims OA"]).decision == "quarantine claimed_order_of_another")
    }
}
