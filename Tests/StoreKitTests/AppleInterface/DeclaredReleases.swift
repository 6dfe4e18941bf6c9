import Foundation

/// The public declarations of a source text that `@available` says are newer than iOS 15.0, each with its iOS release:
/// `18.0 Product.SubscriptionInfo.winBackOffers`.
///
/// The reader relies on the formatter: an attribute has a line of its own, and a scope opens at the end of a line.
struct DeclaredReleases {
    private struct Scope {
        let name: String
        let depth: Int
        /// The release of an extension, which its members share.
        let release: String?
    }

    private(set) var found: [String] = []
    private var scopes: [Scope] = []
    private var depth = 0
    private var release: String?

    init(of text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(Self.code)
        for (index, line) in lines.enumerated() where !line.isEmpty && !line.hasPrefix("#") {
            if line.hasPrefix("@") && !line.hasPrefix("@frozen") {
                release = Self.release(of: line) ?? release
            } else {
                read(line, followedBy: lines[(index + 1)...])
            }
        }
    }

    private mutating func read(_ line: String, followedBy rest: ArraySlice<String>) {
        defer { nest(line) }
        let words = line.split(separator: " ").map(String.init)
        guard let place = words.firstIndex(where: Self.kinds.contains), place + 1 < words.count else { return }
        defer { release = nil }
        guard words[..<place].allSatisfy(Self.modifiers.contains) else { return }
        let (kind, isPublic) = (words[place], words[..<place].contains { $0 == "public" || $0 == "open" })
        let written = words[(place + 1)...].joined(separator: " ")
        let outer = scopes.last.map { $0.name + "." } ?? ""
        if kind == "extension" {
            let head = written.components(separatedBy: " {")[0].components(separatedBy: " where")[0]
            if head.contains(":"), let release { found.append("\(release) \(head)") }
            open(line, head.components(separatedBy: ":")[0], head.contains(":") ? nil : release)
            return
        }
        // A case of a switch begins with a dot.
        guard written.first?.isLetter == true || written.first == "`" else { return }
        let name = outer + Self.name(kind, written, rest)
        if isPublic || kind == "case", let release = release ?? scopes.last?.release {
            found.append("\(release) \(name)")
        }
        if Self.types.contains(kind) { open(line, name, nil) }
    }

    private mutating func open(_ line: String, _ name: String, _ release: String?) {
        if line.hasSuffix("{") { scopes.append(Scope(name: name, depth: depth, release: release)) }
    }

    private mutating func nest(_ line: String) {
        depth += line.count { $0 == "{" } - line.count { $0 == "}" }
        while let last = scopes.last, depth <= last.depth { scopes.removeLast() }
    }

    private static let types: Set<String> = ["struct", "enum", "class", "protocol", "actor"]
    private static let kinds = types.union([
        "extension", "var", "let", "func", "case", "typealias", "init", "subscript",
    ])
    private static let modifiers: Set<String> = [
        "public", "open", "static", "final", "mutating", "override", "convenience", "@frozen", "private", "fileprivate",
        "internal",
    ]

    /// Without a comment at its end.
    private static func code(_ line: Substring) -> String {
        String(line.components(separatedBy: "//")[0]).trimmingCharacters(in: .whitespaces)
    }

    /// Nil for iOS 15.0, and for an attribute without iOS.
    private static func release(of attribute: String) -> String? {
        for start in ["@available(iOS, introduced: ", "@available(iOS "] where attribute.hasPrefix(start) {
            let release = attribute.dropFirst(start.count).prefix { $0.isNumber || $0 == "." }
            return release == "15.0" ? nil : String(release)
        }
        return nil
    }

    /// The name, for functions with the labels of their parameters.
    private static func name(_ kind: String, _ written: String, _ rest: ArraySlice<String>) -> String {
        let base = String(written.prefix { $0.isLetter || $0.isNumber || "_`".contains($0) })
        guard kind == "func", written.contains("(") else { return base }
        let whole = ([written] + rest.prefix(8)).joined(separator: " ")
        var (level, parameters) = (0, [""])
        for sign in whole[(whole.firstIndex(of: "(") ?? whole.startIndex)...] {
            if "([<".contains(sign) { level += 1 }
            if ")]>".contains(sign) { level -= 1 }
            if level == 0 { break }
            if level == 1, sign == "," { parameters.append("") } else { parameters[parameters.count - 1].append(sign) }
        }
        let labels = parameters.map { $0.drop { "( ".contains($0) }.prefix { $0 != " " && $0 != ":" } }
        return "\(base)(\(labels.filter { !$0.isEmpty }.map { "\($0):" }.joined()))"
    }
}
