import Foundation
import Testing
import TillLedger

@testable import TillServer
@testable import till

/// docs/alerts.yml and docs/grafana-dashboard.json, judged by Prometheus' own checker.
@Suite("Alert rules and the board") struct AlertRuleTests {
    @Test("Prometheus accepts the alert rules")
    func accepted() throws {
        #expect(try Promtool.complaint(["check", "rules", Promtool.rules.path]) == nil)
    }

    @Test("Each alert fires on its series, and stays quiet on healthy ones")
    func fires() throws {
        let rules = try AlertRule.all()
        #expect(Set(rules.map(\.name)) == Set(AlertCase.all.map(\.alert)), "each alert has a case")
        #expect(rules.count == AlertCase.all.count)
        let complaint = try RuleTest.complaint(
            AlertCase.all.flatMap { alert in
                [
                    RuleTest(series: alert.firing, minute: alert.minute, firing: [alert.alert]),
                    RuleTest(series: alert.quiet, minute: alert.minute, quiet: [alert.alert]),
                ]
            })
        #expect(complaint == nil)
    }

    @Test("A case that expects the wrong alert is refused, so a quiet promtool would be seen")
    func canFail() throws {
        let series = ["till_ready": "1+0x5"]
        #expect(try RuleTest.complaint([RuleTest(series: series, minute: 3, firing: ["TillNotReady"])]) != nil)
    }

    @Test("The doctor calls a job frozen, and requests a flood, by the limits of the alerts")
    func doctorsLimits() throws {
        let frozen = try #require(try AlertRule.all().first { $0.name == "TillJobFrozen" }).text
        for job in JobHistory.quick { #expect(frozen.contains(job)) }
        #expect(frozen.matches(of: /[a-zA-Z]\|/).count == JobHistory.quick.count - 1)
        #expect(frozen.contains("> 60 + 2 *") && frozen.contains("> 1800 + 2 *"))
        let flood = try #require(try AlertRule.all().first { $0.name == "TillFlood" }).text
        for refusal in RequestFigures.ofFloods { #expect(flood.contains(refusal.rawValue)) }
        #expect(flood.contains("[\(RequestFigures.floodMinutes)m]"))
        #expect(flood.contains("> \(Double(ServerChecks.floodWarning) / Double(60 * RequestFigures.floodMinutes))"))
    }

    @Test("What a person sees of each fault: log events, metrics, alerts and checks that exist, in both languages")
    func faults() throws {
        let events = Set(LogEvent.allCases.map(\.rawValue))
        let metrics = Set(MetricDefinition.all.map(\.name))
        let alerts = Set(try AlertRule.all().map(\.name))
        let checks = Set(DoctorCheck.Name.allCases.map(\.rawValue))
        var rows: [String: [[String]]] = [:]
        for (page, heading) in [("operations.md", "What you see"), ("operations.zh-CN.md", "故障时看到什么")] {
            let section = try #require(
                Promtool.document(page).components(separatedBy: "\n## ").first { $0.hasPrefix(heading) })
            for line in section.split(separator: "\n") where line.hasPrefix("| ") && !line.contains("](#") {
                let cells = line.split(separator: "|").dropFirst().map { cell in
                    cell.matches(of: /`([A-Za-z_]+)`/).map { String($0.output.1) }
                }
                let known = [events, metrics, alerts, checks]
                #expect(cells.count == known.count + 1)
                for (names, known) in zip(cells, known) {
                    #expect(!names.isEmpty && Set(names).subtracting(known).isEmpty, "\(line)")
                }
                rows[page, default: []] += cells.prefix(known.count)
            }
        }
        #expect(rows["operations.md"]?.count == 7 * 4 && rows["operations.md"] == rows["operations.zh-CN.md"])
    }

    @Test("Alerts and the board use only metrics that the server exports")
    func known() throws {
        let names = Set(MetricDefinition.all.map(\.name))
        for rule in try AlertRule.all() {
            #expect(rule.metrics.subtracting(names).isEmpty, "\(rule.name)")
            #expect(!rule.metrics.isEmpty || rule.name == "TillNotScraped")
        }
        let expressions = try Self.boardExpressions()
        #expect(expressions.count >= 20)
        for expression in expressions {
            let used = AlertRule.metrics(in: expression)
            #expect(!used.isEmpty && used.subtracting(names).isEmpty, "\(expression)")
        }
    }

    @Test("Prometheus can read every expression of the board")
    func board() throws {
        let rules = try Self.boardExpressions().enumerated().map { number, expression in
            let range = expression.replacingOccurrences(of: "$__rate_interval", with: "5m")
            return "      - {record: 'panel:\(number)', expr: '\(range.replacingOccurrences(of: "'", with: "''"))'}"
        }
        let text = (["groups:", "  - name: board", "    rules:"] + rules).joined(separator: "\n") + "\n"
        #expect(try Promtool.complaint(["check", "rules"], about: text) == nil)
    }

    @Test("Each alert has a heading in the operations page of both languages, which its annotation names")
    func runbooks() throws {
        let pages = try ["operations.md", "operations.zh-CN.md"].map { name in
            Set(try Promtool.document(name).split(separator: "\n").filter { $0.hasPrefix("### ") }.map(String.init))
        }
        for rule in try AlertRule.all() {
            #expect(rule.annotation("runbook") == "operations.md#\(rule.name.lowercased())")
            #expect(rule.annotation("summary") != nil && rule.annotation("summary_zh") != nil)
            for headings in pages { #expect(headings.contains("### \(rule.name)"), "\(rule.name)") }
        }
    }

    @Test("The tables of metrics in both languages are the list of the code, with type, unit and labels")
    func tables() throws {
        let expected = MetricDefinition.all.map { metric in
            let labels = metric.labels.isEmpty ? "–" : metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(metric.name)` | \(metric.kind.rawValue) | \(metric.unit.rawValue) | \(labels) |"
        }
        for page in ["operations.md", "operations.zh-CN.md"] {
            let rows = try Promtool.document(page).split(separator: "\n").filter { $0.hasPrefix("| `till_") }
            let found = rows.map { row in
                row.split(separator: "|", omittingEmptySubsequences: false).prefix(5).joined(separator: "|") + "|"
            }
            #expect(found == expected, "\(page)")
            #expect(rows.allSatisfy { ($0.split(separator: "|").last ?? "").count > 4 }, "each has a meaning")
        }
    }

    private static func boardExpressions() throws -> [String] {
        let data = try Data(contentsOf: Promtool.docs.appendingPathComponent("grafana-dashboard.json"))
        let board = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let panels = try #require(board["panels"] as? [[String: Any]])
        return panels.flatMap { panel in
            ((panel["targets"] as? [[String: Any]]) ?? []).compactMap { $0["expr"] as? String }
        }
    }
}
