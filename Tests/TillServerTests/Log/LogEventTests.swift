import Foundation
import Testing
import TillLedger

/// docs/operations.md and the list of events in the code are one list.
@Suite("The table of log events (issue 20)") struct LogEventTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// Event, level, and the other cells of each row.
    private static func rows(_ page: String) throws -> [(event: String, level: String, rest: [String])] {
        try text(page).split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5, cells[0].hasPrefix("`"), Log.Level(rawValue: cells[1]) != nil else { return nil }
            return (cells[0].trimmingCharacters(in: ["`"]), cells[1], Array(cells[2...]))
        }
    }

    @Test(
        "Each event has a row with its level, its fields, its meaning and what to do, and each row an event",
        arguments: ["docs/operations.md", "docs/operations.zh-CN.md"])
    func table(_ page: String) throws {
        let rows = try Self.rows(page)
        #expect(rows.map(\.event) == LogEvent.allCases.map(\.rawValue))
        for (row, event) in zip(rows, LogEvent.allCases) {
            #expect(row.level == event.level.rawValue, "\(row.event)")
            #expect(row.rest.allSatisfy { !$0.isEmpty }, "\(row.event)")
        }
    }

    @Test("Names are lower case with underscores, and each event is written somewhere")
    func written() throws {
        let sources = Self.root.appendingPathComponent("Sources")
        let names = ["TillLedger", "TillServer", "TillDashboard", "till"]
        var code = ""
        for name in names {
            let folder = sources.appendingPathComponent(name)
            for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            where path.hasSuffix(".swift") && path != "Log/LogEvent.swift" {
                code += try Self.text("Sources/\(name)/\(path)")
            }
        }
        for event in LogEvent.allCases {
            #expect(event.rawValue.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F }, "\(event)")
            #expect(code.contains(".\(event)"), "\(event) is never written")
        }
    }

    @Test("Both languages list the same fields of each event")
    func fields() throws {
        let rows = try Self.rows("docs/operations.md")
        #expect(rows.allSatisfy { row in row.rest[0] == "–" || row.rest[0].contains("`") })
        let chinese = try Self.rows("docs/operations.zh-CN.md")
        func names(_ cell: String) -> [String] {
            cell.split(separator: "`").map(String.init).filter { $0.allSatisfy { $0.isASCII && $0.isLetter } }
        }
        for (one, other) in zip(rows, chinese) { #expect(names(one.rest[0]) == names(other.rest[0]), "\(one.event)") }
    }
}
