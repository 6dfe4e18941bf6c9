import Foundation

/// One SQL statement as it stands in the source, with its lists of columns and its marks put in.
struct SourceStatement: Sendable, CustomStringConvertible {
    let place: String
    /// On one line, without what stands between quotes.
    let text: String
    /// As the database gets it.
    let whole: String

    var description: String { "\(place): \(whole)" }

    init(_ whole: String, at place: String = "a sample") {
        self.place = place
        self.whole = whole
        text = whole.split(separator: "'", omittingEmptySubsequences: false).enumerated()
            .map { $0.offset.isMultiple(of: 2) ? String($0.element) : "" }.joined(separator: "''")
    }
}

/// Every statement of the ledger, out of its source files.
enum SourceStatements {
    private static let verbs = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "]

    /// The source files of modules, by their names.
    static func sources(of modules: [String]) throws -> [(name: String, text: String)] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources")
        return try modules.flatMap { module -> [(name: String, text: String)] in
            let files = FileManager.default.enumerator(
                at: root.appendingPathComponent(module), includingPropertiesForKeys: nil)
            return try (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }.map { file in
                (file.deletingPathExtension().lastPathComponent, try String(contentsOf: file, encoding: .utf8))
            }
        }.sorted { $0.name < $1.name }
    }

    static func ofTheLedger() throws -> [SourceStatement] {
        let sources = try sources(of: ["TillLedger"])
        var lists: [String: String] = [:]
        for (name, text) in sources {
            for found in text.matches(of: /static let (\w+): Columns = (?:"""\n([^"]*?)"""|"([^"\n]*)")/) {
                lists["\(name).\(found.1)"] = flat(String(found.2 ?? found.3 ?? ""))
            }
        }
        return sources.flatMap { name, text in
            statements(in: text, of: name, lists)
        }
    }

    static func statements(in text: String, of name: String, _ lists: [String: String]) -> [SourceStatement] {
        let literal = /"""\n((?:[^"]|"(?!""))*?)\n *"""|"((?:SELECT|INSERT|UPDATE|DELETE|WITH) (?:of: "\w+"|[^"\n])*)"/
        return text.matches(of: literal).compactMap { found in
            let whole = flat(String(found.1 ?? found.2 ?? ""))
            guard verbs.contains(where: { whole.hasPrefix($0) }) else { return nil }
            let listed = whole.replacing(/\\\((\w+)\.(\w+)(?:, of: "(\w+)")?\)/) { use -> String in
                let list = lists["\(use.1 == "Self" ? Substring(name) : use.1).\(use.2)"] ?? "?"
                guard let table = use.3 else { return list }
                return list.split(separator: ", ").map { "\(table).\($0)" }.joined(separator: ", ")
            }
            let marked = listed.replacing(/\\\(marks: (\d+)\)/) { marks in
                (1...(Int(marks.1) ?? 1)).map { "?\($0)" }.joined(separator: ", ")
            }
            let line = text[..<found.range.lowerBound].split(separator: "\n", omittingEmptySubsequences: false).count
            return SourceStatement(marked, at: "\(name):\(line)")
        }
    }

    private static func flat(_ text: String) -> String {
        text.replacing("\\\n", with: " ").split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
