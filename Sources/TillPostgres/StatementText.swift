import TillSQL

/// The text of a statement as PostgreSQL reads it, and what the driver has to know of it. Each session has its own.
///
/// Three things are rewritten, and nothing else: a parameter `?1` becomes `$1`; in `CROSS JOIN a ON …`, which orders
/// SQLite's plan, `CROSS` is left out; and so is a plus sign before a column, which keeps SQLite from an index.
final class StatementText {
    /// As the ledger's modules write it.
    let source: String
    /// The first word in capitals: `SELECT`, `INSERT`.
    let verb: String
    let text: String
    let parameterCount: Int
    /// The table that the statement changes.
    let changedTable: String?
    /// Every table that it names after FROM, JOIN, INTO or UPDATE.
    let tables: Set<String>
    /// Whether a success means that a row was written.
    let alwaysWrites: Bool
    /// The same for several rows, if it inserts one.
    let rowInsert: RowInsert?
    /// What the session has prepared of it, by the types of its parameters.
    var prepared: [PreparedStatement] = []

    init(_ sql: String) {
        source = sql
        let tokens = SQLTokens(sql)
        text = Self.rewritten(tokens)
        parameterCount = tokens.highestParameter
        let words = tokens.words.map { $0.uppercased() }
        verb = words.first ?? ""
        var tables: Set<String> = []
        for (index, word) in words.enumerated().dropLast()
        where ["FROM", "JOIN", "INTO", "UPDATE"].contains(word) && words[index + 1] != "SET" {
            tables.insert(tokens.words[index + 1].lowercased())
        }
        self.tables = tables
        let changed: String? =
            switch verb {
            case "INSERT", "DELETE": tokens.words.count > 2 ? tokens.words[2] : nil
            case "UPDATE": tokens.words.count > 1 ? tokens.words[1] : nil
            default: nil
            }
        changedTable = changed?.lowercased()
        alwaysWrites = verb == "INSERT" && words.contains("VALUES") && !words.contains("CONFLICT")
        rowInsert = RowInsert(text, parameterCount: parameterCount)
    }

    /// Whether a body may run it: bodies share a transaction, so they must not control it.
    var isAllowed: Bool { ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "VALUES"].contains(verb) }

    private static func rewritten(_ tokens: SQLTokens) -> String {
        var answer: [UInt8] = []
        answer.reserveCapacity(tokens.bytes.count)
        var position = 0
        for edit in tokens.edits {
            answer += tokens.bytes[position..<edit.range.lowerBound]
            answer += Array(edit.replacement.utf8)
            position = edit.range.upperBound
        }
        answer += tokens.bytes[position...]
        return String(decoding: answer, as: UTF8.self)
    }
}

/// One pass over a statement: its words outside of quotes, and the places to rewrite.
struct SQLTokens {
    struct Edit {
        let range: Range<Int>
        let replacement: String
    }

    let bytes: [UInt8]
    private(set) var words: [String] = []
    private(set) var edits: [Edit] = []
    private(set) var highestParameter = 0
    /// The word `CROSS` of the last `CROSS JOIN`, until its `ON` is found.
    private var cross: Range<Int>?

    init(_ sql: String) {
        bytes = Array(sql.utf8)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
                index = end(ofQuote: index)
            } else if byte == UInt8(ascii: "?") {
                index = parameter(at: index)
            } else if Self.isWord(byte) {
                index = word(at: index)
            } else {
                if byte == UInt8(ascii: "+"), isSign(index) {
                    edits.append(Edit(range: index..<index + 1, replacement: ""))
                }
                index += 1
            }
        }
        edits.sort { $0.range.lowerBound < $1.range.lowerBound }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: byte >= 0x80
        }
    }

    private func end(ofQuote start: Int) -> Int {
        // A doubled quote ends one quoted text and begins the next one.
        (bytes[(start + 1)...].firstIndex(of: bytes[start]) ?? bytes.count - 1) + 1
    }

    private mutating func parameter(at start: Int) -> Int {
        var end = start + 1
        while end < bytes.count, Self.isWord(bytes[end]) { end += 1 }
        edits.append(Edit(range: start..<start + 1, replacement: "$"))
        highestParameter = max(highestParameter, Int(String(decoding: bytes[(start + 1)..<end], as: UTF8.self)) ?? 0)
        return end
    }

    private mutating func word(at start: Int) -> Int {
        var end = start
        while end < bytes.count, Self.isWord(bytes[end]) { end += 1 }
        let word = String(decoding: bytes[start..<end], as: UTF8.self)
        switch word.uppercased() {
        case "CROSS": cross = start..<min(end + 1, bytes.count)
        case "ON":
            if let cross { edits.append(Edit(range: cross, replacement: "")) }
            cross = nil
        case "JOIN" where words.last?.uppercased() != "CROSS": cross = nil
        case "WHERE", "SELECT", "GROUP", "ORDER": cross = nil
        default: break
        }
        words.append(word)
        return end
    }

    /// A plus sign before a column and after a space or a bracket. A sum has a space on both sides.
    private func isSign(_ index: Int) -> Bool {
        guard index + 1 < bytes.count, Self.isWord(bytes[index + 1]) else { return false }
        return index == 0 || [UInt8(ascii: " "), UInt8(ascii: "("), UInt8(ascii: "\n")].contains(bytes[index - 1])
    }
}
