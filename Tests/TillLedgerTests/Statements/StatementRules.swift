/// The rules for the text of a statement, so that SQLite and PostgreSQL read it alike (docs/decisions/0057).
enum StatementRules {
    /// Words that PostgreSQL 15 accepts as no name, or only as the name of a function or type: those of
    /// `pg_get_keywords()` with the codes R and T (https://www.postgresql.org/docs/15/sql-keywords-appendix.html).
    static let reserved = Set(
        """
        all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate \
        collation column concurrently constraint create cross current_catalog current_date current_role \
        current_schema current_time current_timestamp current_user default deferrable desc distinct do else end \
        except false fetch for foreign freeze from full grant group having ilike in initially inner intersect into \
        is isnull join lateral leading left like limit localtime localtimestamp natural not notnull null offset on \
        only or order outer overlaps placing primary references returning right select session_user similar some \
        symmetric table tablesample then to trailing true union unique user using variadic verbose when where \
        window with
        """.split(separator: " ").map(String.init))

    /// Reserved words that statements use with their grammatical meaning.
    private static let grammar: Set<String> = [
        "all", "and", "as", "case", "cast", "cross", "desc", "distinct", "do", "else", "end", "from", "group", "having",
        "in",
        "into", "is", "join", "left", "limit", "not", "null", "offset", "on", "or", "order", "returning", "select",
        "then",
        "union", "when", "where", "window", "with",
    ]

    private static func patterns() -> [(sentence: String, pattern: Regex<Substring>)] {
        [
            ("parameters are written ?1, ?2", /\?(?!\d)/),
            ("a parameter is a value, and `$1` is another name in SQLite", /\$\d|:\w+|@\w+/),
            ("write IS NULL or <>: `IS NOT 0` is SQLite's", /\bIS (?:NOT )?(?!NULL\b|NOT NULL\b)\S+/),
            ("a list of columns, not *", /SELECT \*|\w\.\*/),
            (
                "each subquery in FROM has a name: PostgreSQL 15 asks for it",
                /\bFROM \(SELECT [^()]*\)(?: (?:WHERE|ORDER|GROUP|LIMIT)|\)|$)/
            ),
            (
                "INSERT OR, REPLACE and INDEXED BY are SQLite's",
                /\bINSERT OR\b|\bREPLACE INTO\b|\bINDEXED BY\b|\bGLOB\b/
            ),
            ("ON CONFLICT DO UPDATE names what it conflicts with", /ON CONFLICT DO UPDATE/),
            (
                "a parameter is no boolean: compare it", /\b(?:WHERE|AND|OR|WHEN) \?\d+(?: (?:AND|OR|THEN)\b|\)|$)/
            ),
            (
                "a boolean is no column: write CASE WHEN … THEN 1 ELSE 0 END",
                /\bSELECT (?:EXISTS|NOT)\b|IS (?:NOT )?NULL\)* (?:AS|FROM)\b/
            ),
            (
                "a function of SQLite's alone",
                /\b(?:ifnull|iif|instr|hex|randomblob|typeof|total|group_concat|strftime|datetime|printf)\(/
            ),
        ]
    }

    static func findings(in statement: SourceStatement) -> [String] {
        let text = statement.text.replacing(/BETWEEN \?\d+ AND \?\d+/, with: "BETWEEN")
        var findings = patterns().filter { text.contains($0.pattern) }.map(\.sentence)
        if text.contains("\\(") { findings.append("a list that is not known") }
        if hasScalarExtreme(statement.text) { findings.append("max and min of several arguments are SQLite's alone") }
        if hasNegativeSubstring(statement.text) { findings.append("substr counts from the end in SQLite alone") }
        if hasUnqualifiedSum(statement.text) { findings.append("an upsert says whose column it adds to") }
        for word in words(statement.text) where reserved.contains(word) && !grammar.contains(word) {
            findings.append("\(word) is reserved in PostgreSQL")
        }
        findings += names(statement.text).filter { reserved.contains($0) }.map { "\($0) is reserved in PostgreSQL" }
        return findings
    }

    private static func words(_ text: String) -> [String] {
        text.split { !$0.isLetter && $0 != "_" && !$0.isNumber }.map { $0.lowercased() }
    }

    /// The texts in a statement that are certainly names: after a dot, and after AS.
    private static func names(_ text: String) -> [String] {
        text.matches(of: /\.([a-z_]+)|\bAS ([a-z_]+)/).map { String($0.1 ?? $0.2 ?? "") }
    }

    private static func hasScalarExtreme(_ text: String) -> Bool {
        arguments(of: ["max(", "min("], in: text).contains { $0.count > 1 }
    }

    private static func hasNegativeSubstring(_ text: String) -> Bool {
        arguments(of: ["substr("], in: text).contains { $0.count > 1 && $0[1].contains("-") }
    }

    private static func hasUnqualifiedSum(_ text: String) -> Bool {
        guard let set = text.firstRange(of: "DO UPDATE SET ") else { return false }
        return text[set.upperBound...].contains(/= (?!excluded\.)[a-z_]+ [-+]/)
    }

    /// The arguments of each call, split where no bracket is open.
    private static func arguments(of calls: [String], in text: String) -> [[String]] {
        calls.flatMap { call in
            text.ranges(of: call).filter { range in
                range.lowerBound == text.startIndex || !text[text.index(before: range.lowerBound)].isLetter
            }.map { range in
                var (depth, list) = (0, [""])
                for character in text[range.upperBound...] {
                    if character == "(" { depth += 1 }
                    if character == ")" {
                        if depth == 0 { break }
                        depth -= 1
                    }
                    if character == ",", depth == 0 { list.append("") } else { list[list.count - 1].append(character) }
                }
                return list
            }
        }
    }
}
