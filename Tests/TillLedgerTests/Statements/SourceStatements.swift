import Foundation

/// One SQL statement from the source, with its column lists and parameter marks inserted.
struct SourceStatement: Sendable, CustomStringConvertible {
    let place: String
    /// On one line, without quoted text.
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

/// The statements of a module, extracted from its source files.
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

    static func ofTheLedger() throws -> [SourceStatement] { try statements(of: "TillLedger") }

    /// The only file whose statements are PostgreSQL's alone.
    private static let postgresOnly = "PostgresStatements"

    static func ofPostgresAlone() throws -> [SourceStatement] {
        try sources(of: ["TillLedger"]).filter { $0.name == postgresOnly }.flatMap {
            statements(in: $0.text, of: $0.name, [:])
        }
    }

    static func statements(of module: String) throws -> [SourceStatement] {
        let sources = try sources(of: [module]).filter { $0.name != postgresOnly }
        let lists = sources.map { Self.lists(in: $0.text, of: $0.name) }.reduce(into: [:]) { all, some in
            all.merge(some) { first, _ in first }
        }
        return sources.flatMap { statements(in: $0.text, of: $0.name, lists) }
    }

    /// The column lists, by the type that declares them: `OrderTable.columns`.
    static func lists(in text: String, of name: String) -> [String: String] {
        let declaration = /static let (\w+): Columns =\s+(?:"""\n([^"]*?)"""|"([^"\n]*)")/
        let found = text.matches(of: declaration).map { found in
            (
                "\(type(around: found.range.lowerBound, in: text) ?? name).\(found.1)",
                flat(String(found.2 ?? found.3 ?? ""))
            )
        }
        return Dictionary(found) { first, _ in first }
    }

    static func statements(in text: String, of name: String, _ lists: [String: String]) -> [SourceStatement] {
        let block = #""""\n((?:[^"]|"(?!""))*?)\n *""""#
        let line = #""((?:SELECT|INSERT|UPDATE|DELETE|WITH) (?:(?:of|userOf|user|caller): "[^"\n]*"|[^"\n])*)""#
        guard let literal = try? Regex<(Substring, Substring?, Substring?)>("\(block)|\(line)") else { return [] }
        return text.matches(of: literal).compactMap { found in
            let whole = flat(String(found.1 ?? found.2 ?? ""))
            guard verbs.contains(where: { whole.hasPrefix($0) }) else { return nil }
            let here = type(around: found.range.lowerBound, in: text) ?? name
            let marked = whole.replacing(/\\\(marks: (\d+)\)/) { marks in
                (1...(Int(marks.1) ?? 1)).map { "?\($0)" }.joined(separator: ", ")
            }
            .replacing(/\\\(customer: (\d+)\)/) { use in
                "(SELECT c.customer_id FROM customers c WHERE c.app_id = 1 AND c.user_id = ?\(use.1))"
            }
            .replacing(/\\\(user: "([^"]*)"\)/) { use in user(use.1) }
            .replacing(/\\\(caller: "(\w+)"\)/) { use in caller(of: use.1) }
            let listed = marked.replacing(/\\\((transfer: )?(?:(\w+)\.)?(\w+)(?:, (of|userOf): "(\w+)")?\)/) {
                use -> String in
                let owner = use.2.map { $0 == "Self" ? here : String($0) } ?? here
                guard let list = lists["\(owner).\(use.3)"] else { return String(use.0) }
                guard let table = use.1 == nil ? use.5 : "f" else { return list }
                let columns = list.split(separator: ", ").map { "\(table).\($0)" }.joined(separator: ", ")
                if use.1 != nil { return columns + ", " + parties }
                return use.4 == "userOf" ? "\(columns), \(user("\(table).customer_id")) AS user_id" : columns
            }
            let line = text[..<found.range.lowerBound].split(separator: "\n", omittingEmptySubsequences: false).count
            return SourceStatement(listed, at: "\(name):\(line)")
        }
    }

    private static func user(_ column: some StringProtocol) -> String {
        "(SELECT c.user_id FROM customers c WHERE c.customer_id = \(column))"
    }

    private static func caller(of table: some StringProtocol) -> String {
        "\(table).caller_kind, \(table).caller_key, \(user("\(table).caller_customer_id")) AS caller_user"
    }

    /// The columns that `\(transfer: …)` adds.
    private static var parties: String {
        let (giver, taker) = (user("f.from_customer_id"), user("f.to_customer_id"))
        return "\(giver) AS from_user, \(taker) AS to_user, \(caller(of: "f"))"
    }

    /// The type whose declaration or extension began last before that place.
    private static func type(around place: String.Index, in text: String) -> String? {
        let declaration =
            /(?:^|\n)(?:(?:public|package|private|fileprivate|final) )*(?:enum|struct|class|extension) (\w+)/
        return text[..<place].matches(of: declaration).last.map { String($0.1) }
    }

    private static func flat(_ text: String) -> String {
        text.replacing("\\\n", with: " ").split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
