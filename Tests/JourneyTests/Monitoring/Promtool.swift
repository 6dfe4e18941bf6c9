import Foundation
import Testing

@testable import TillServer

/// Prometheus' own checker of rules, from the Debian package `prometheus`.
enum Promtool {
    /// The folder of the documents.
    static let docs = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("docs")
    static let rules = docs.appendingPathComponent("alerts.yml")

    static func document(_ name: String) throws -> String {
        try String(contentsOf: docs.appendingPathComponent(name), encoding: .utf8)
    }

    /// Runs it; what it prints if it fails, else nil.
    static func complaint(_ arguments: [String]) throws -> String? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["promtool"] + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return process.terminationStatus == 0 ? nil : String(decoding: output, as: UTF8.self)
    }

    /// Runs it on a text, which it reads from a file.
    static func complaint(_ command: [String], about text: String) throws -> String? {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString).yml")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try complaint(command + [file.path])
    }
}

/// A test of alert rules on series, as promtool runs it.
struct RuleTest {
    /// A value each minute, in promtool's notation, by series.
    var series: [String: String]
    /// Which alerts fire at this minute, and which do not.
    var minute: Int
    var firing: Set<String> = []
    var quiet: Set<String> = []

    private var text: String {
        let input = series.sorted { $0.key < $1.key }.map { "      - {series: '\($0.key)', values: '\($0.value)'}" }
        func expectation(_ alert: String, _ samples: String) -> String {
            """
                  - expr: max(ALERTS{alertname="\(alert)", alertstate="firing"})
                    eval_time: \(minute)m
                    exp_samples: \(samples)
            """
        }
        let expectations =
            firing.sorted().map { expectation($0, "[{labels: '{}', value: 1}]") }
            + quiet.sorted().map { expectation($0, "[]") }
        return (["  - interval: 1m", "    input_series:"] + input + ["    promql_expr_test:"] + expectations)
            .joined(separator: "\n")
    }

    /// What promtool says against these tests; nil if all hold.
    static func complaint(_ tests: [RuleTest]) throws -> String? {
        let head = "rule_files: ['\(Promtool.rules.path)']\nevaluation_interval: 1m\ntests:\n"
        return try Promtool.complaint(
            ["test", "rules"], about: head + tests.map(\.text).joined(separator: "\n") + "\n")
    }
}

/// An alert as docs/alerts.yml writes it.
struct AlertRule {
    let name: String
    /// Its lines.
    let text: String

    static func all() throws -> [AlertRule] {
        let text = try String(contentsOf: Promtool.rules, encoding: .utf8)
        return text.components(separatedBy: "- alert: ").dropFirst().map { part in
            AlertRule(name: String(part.prefix { !$0.isNewline }), text: part)
        }
    }

    /// The metrics of its expression.
    var metrics: Set<String> {
        Self.metrics(in: text.components(separatedBy: "labels: {").first ?? text)
    }

    func annotation(_ name: String) -> String? {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .first { $0.hasPrefix(name + ":") }
            .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }

    /// Metrics of Till's in an expression, without the suffixes of histograms.
    static func metrics(in expression: String) -> Set<String> {
        Set(
            expression.matches(of: /till_[a-z_]+/).map { match in
                let name = String(match.output)
                let histogram = MetricDefinition.all.first { metric in
                    metric.kind == .histogram && ["_bucket", "_sum", "_count"].contains { metric.name + $0 == name }
                }
                return histogram?.name ?? name
            })
    }
}

/// A scrape, as Prometheus reads it.
struct Scrape {
    let text: String

    /// Samples by name and labels, as they are written.
    var samples: [String: String] {
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        let pairs = lines.compactMap { line in
            line.lastIndex(of: " ").map { (String(line[..<$0]), String(line[line.index(after: $0)...])) }
        }
        return Dictionary(pairs) { _, last in last }
    }

    subscript(name: String) -> Double? { samples[name].flatMap(Double.init) }

    /// The sum over all labels of one metric.
    func sum(_ metric: String, where labels: String = "") -> Double {
        samples.filter { $0.key.hasPrefix(metric + "{") && $0.key.contains(labels) }.compactMap { Double($0.value) }
            .reduce(0, +)
    }

    /// The scrapes as series: one a minute, and the last one repeated.
    static func series(_ scrapes: [Scrape], holding minutes: Int) -> [String: String] {
        var series: [String: String] = [:]
        for name in Set(scrapes.flatMap(\.samples.keys)) {
            let values = scrapes.map { $0.samples[name] ?? "_" }
            series[name] = (values + Array(repeating: values.last ?? "_", count: minutes)).joined(separator: " ")
        }
        return series
    }
}
