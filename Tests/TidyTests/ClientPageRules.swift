import Foundation
import Testing

/// The client kit's pages against its public surface: a member counts only where its type is named too, because short
/// names such as `code` and `name` occur everywhere.
enum ClientPageRules {
    static let surface = "docs/surface/TillClient.txt"
    static let pages = ["docs/client.md", "docs/client.zh-CN.md"]

    /// Members that conformances require (`Hashable`, `RawRepresentable`, `AsyncSequence`, `LocalizedError`). Apps
    /// reach them through the language, so a page need not name them.
    static let plumbing: Set = [
        "hash", "==", "rawValue", "Element", "Failure", "Iterator", "makeAsyncIterator", "next", "errorDescription",
    ]

    /// The class whose methods each have a section of their own.
    static let store = "TillStore"

    struct Member: Hashable {
        /// `StoreOrder.Status`
        let type: String
        let name: String
    }

    /// Every type, case, property and function of a surface page, without initializers and plumbing.
    static func members(of surface: String) -> [Member] {
        var members: [Member] = []
        var type = ""
        for line in declarations(in: surface) {
            guard line.hasPrefix(" ") else {
                type = line.split(separator: " ").last.map(String.init) ?? ""
                members.append(Member(type: type, name: type.split(separator: ".").last.map(String.init) ?? ""))
                continue
            }
            members += names(in: line).map { Member(type: type, name: $0) }
        }
        return members.filter { member in
            // `WalletPage.next` is a cursor, and no iterator's method.
            !plumbing.contains(member.name) || member == Member(type: "WalletPage", name: "next")
        }
    }

    /// Members that no section with their type names, in backticks or in Swift code.
    static func unnamed(_ members: [Member], in page: String, path: String) -> [Finding] {
        let sections = sections(of: page)
        return members.compactMap { member in
            let outermost = member.type.prefix { $0 != "." }
            let isNamed = sections.contains { words in
                words.contains(member.name[...]) && (outermost == store || words.contains(outermost))
            }
            return isNamed ? nil : Finding(path, 0, "no section names `\(member.name)` of `\(member.type)`")
        }
    }

    /// The lines of a surface page, with continued ones joined.
    private static func declarations(in surface: String) -> [String] {
        surface.split(separator: "\n").reduce(into: []) { lines, line in
            if line.hasPrefix("        "), let last = lines.popLast() {
                lines.append(last + " " + line.drop { $0 == " " })
            } else {
                lines.append(String(line))
            }
        }
    }

    /// `let id: String, total: Int` declares two names, `func send(to user: String)` one, and an initializer none.
    private static func names(in line: String) -> [String] {
        guard let keyword = line.firstMatch(of: /\b(func|typealias|init|case|let|var)\b/) else { return [] }
        let rest = line[keyword.range.upperBound...]
        func name(_ text: Substring) -> String? { text.firstMatch(of: /^ *([\p{L}\d_]+|==)/).map { String($0.1) } }
        switch keyword.1 {
        case "init": return []
        case "func", "typealias": return name(rest).map { [$0] } ?? []
        default: return items(rest).compactMap(name)
        }
    }

    /// The parts between commas that stand outside brackets.
    private static func items(_ text: Substring) -> [Substring] {
        var items: [Substring] = []
        var start = text.startIndex
        var depth = 0
        for index in text.indices {
            switch text[index] {
            case "(", "[", "<", "{": depth += 1
            case ")", "]", "}": depth -= 1
            // The arrow of a closure closes no bracket.
            case ">" where text[..<index].last != "-": depth -= 1
            case "," where depth == 0:
                items.append(text[start..<index])
                start = text.index(after: index)
            default: break
            }
        }
        return items + [text[start...]]
    }

    /// The words in code of each section, with a heading or none.
    private static func sections(of page: String) -> [Set<Substring>] {
        var sections: [Set<Substring>] = [[]]
        var fence: Substring?
        for line in page.split(separator: "\n") {
            if line.hasPrefix("```") {
                fence = fence == nil ? line.dropFirst(3) : nil
                continue
            }
            if fence == nil, line.hasPrefix("#") { sections.append([]) }
            let code: [Substring] =
                switch fence {
                case nil: line.matches(of: /`([^`]+)`/).map { $0.output.1 }
                case "swift": [line]
                default: []
                }
            for text in code {
                sections[sections.count - 1].formUnion(text.matches(of: /[\p{L}\d_]+/).map(\.output))
            }
        }
        return sections
    }
}

@Suite("The client kit's pages")
struct ClientPageRuleTests {
    @Test("Both client pages name every public member of the kit", arguments: ClientPageRules.pages)
    func everyMember(_ path: String) throws {
        let members = ClientPageRules.members(of: try #require(Checkout.current.text(ClientPageRules.surface)))
        #expect(members.count > 250)
        expectNone(
            ClientPageRules.unnamed(members, in: try #require(Checkout.current.text(path)), path: path))
    }

    private static let surface = """
        struct Order
            let id: String, lines: [String : Int]
            let onPaid: (@Sendable (Order, Error) -> Void)?, status: Order.Status, total: Int?,
                user: String
            var isPaid: Bool { get }
            @discardableResult func send(to user: String,
                again: Bool = false) async -> Bool
            func hash(into hasher: inout Hasher)
        struct Order.Status
            static let open, paid: Order.Status
            init(rawValue: String)
            let rawValue: String
        enum Result
            case done(Order, code: Int), none
        final class TillStore
            init(_ order: Order)
            var guestID: String { get async }
            static func == (one: TillStore, other: TillStore) -> Bool
        """

    @Test("The names are read from a surface page: no labels, no initializers, no plumbing")
    func readsNames() {
        #expect(
            ClientPageRules.members(of: Self.surface).map { "\($0.type) \($0.name)" } == [
                "Order Order", "Order id", "Order lines", "Order onPaid", "Order status", "Order total", "Order user",
                "Order isPaid", "Order send", "Order.Status Status", "Order.Status open", "Order.Status paid",
                "Result Result", "Result done", "Result none", "TillStore TillStore", "TillStore guestID",
            ])
    }

    @Test("A member that a page leaves out, names in prose only, or names without its type is found")
    func findsMembers() {
        let members = ClientPageRules.members(of: Self.surface)
        let page = """
            # Kit
            `TillStore`, and `code` beside it.
            ## Orders
            `Order` has `id`, `lines`, `onPaid`, `total` and `user`. `Order.Status` is `open` or paid.
            ```swift
            if order.isPaid { order.send(to: user, status) }
            ```
            ```sh
            echo guestID
            ```
            ## Results
            `Result.done(order)`
            ## More
            `none`
            """
        #expect(
            ClientPageRules.unnamed(members, in: page, path: "kit.md").map(\.message) == [
                "no section names `paid` of `Order.Status`", "no section names `none` of `Result`",
                "no section names `guestID` of `TillStore`",
            ])
        let whole =
            page.replacing("or paid", with: "or `paid`").replacing("`none`", with: "`Result.none`, `guestID`")
        #expect(ClientPageRules.unnamed(members, in: whole, path: "kit.md").isEmpty)
    }
}
