import Testing

/// A library's public declarations as a page that reads like a Swift interface: a heading for each type, below it the
/// cases, the properties and the methods. Values of one kind share a wrapped line.
struct SurfacePage {
    /// A public declaration: `["TillStore", "start()"]`, `func start() async`.
    struct Declaration: Hashable {
        let path: [String]
        let text: String
        /// Whether it is a type of its own, with members.
        let isType: Bool

        /// Where it is a member: `StoreOrder.Status`; empty for a declaration of the module.
        var parent: String { path.dropLast().joined(separator: ".") }
        var name: String { path.joined(separator: ".") }
    }

    static let columns = 120

    let lines: [String]

    init(_ declarations: some Sequence<Declaration>) {
        let all = Set(declarations)
        let types = Set(all.filter(\.isType).map(\.name))
        var members: [String: [Declaration]] = [:]
        for declaration in all where !declaration.isType {
            members[declaration.parent, default: []].append(declaration)
        }
        var blocks: [(name: String, lines: [String])] = []
        for type in all where type.isType {
            let short = type.path.last ?? ""
            let heading = type.text.replacing(" \(short)", with: " \(type.name)", maxReplacements: 1)
            blocks.append((type.name, [heading] + Self.body(members[type.name] ?? [])))
        }
        for (parent, declarations) in members where !types.contains(parent) {
            // Functions of the module itself, and members of other modules' types.
            let block = parent.isEmpty ? declarations.map(\.text).sorted() : ["extension \(parent)"]
            blocks.append((parent, parent.isEmpty ? block : block + Self.body(declarations)))
        }
        lines = blocks.sorted { ($0.name, $0.lines[0]) < ($1.name, $1.lines[0]) }.flatMap(\.lines)
    }

    private static func body(_ members: [Declaration]) -> [String] {
        var groups: [Group: [String]] = [:]
        for member in members {
            let (group, item) = Group.of(member.text)
            groups[group, default: []].append(item)
        }
        return groups.sorted { $0.key < $1.key }.flatMap { group, items in
            group.isAlone
                ? items.sorted().flatMap { wrapped([$0], "", "") }
                : wrapped(items.sorted(), group.head, group.tail)
        }
    }

    /// The items after the head, as many in a line as fit. A long declaration breaks after its commas.
    private static func wrapped(_ items: [String], _ head: String, _ tail: String) -> [String] {
        let pieces = items.enumerated().flatMap { index, item -> [String] in
            // Only a declaration that has a line of its own may break inside.
            let parts = head.isEmpty ? item.split(separator: ", ").map(String.init) : [item]
            let ends = parts.dropLast().map { $0 + "," } + parts.suffix(1)
            let last = index == items.count - 1 ? tail : ","
            return ends.dropLast() + ends.suffix(1).map { $0 + last }
        }
        var lines: [String] = []
        var line = "    " + head
        var isFresh = true
        for piece in pieces {
            if !isFresh, line.count + 1 + piece.count > columns {
                lines.append(line)
                line = "        " + piece
            } else {
                line += (isFresh ? "" : " ") + piece
            }
            isFresh = false
        }
        return lines + [line]
    }

    /// Declarations that share a line: `case`, `let`, `var … { get }`, `static let … : Status`.
    private struct Group: Hashable, Comparable {
        let order: Int
        let head: String
        let tail: String

        var isAlone: Bool { head.isEmpty }

        static func < (one: Group, other: Group) -> Bool {
            (one.order, one.head, one.tail) < (other.order, other.head, other.tail)
        }

        static func of(_ text: String) -> (group: Group, item: String) {
            func alone(_ order: Int) -> (Group, String) { (Group(order: order, head: "", tail: ""), text) }
            if text.hasPrefix("case ") {
                return (Group(order: 0, head: "case ", tail: ""), String(text.dropFirst(5)))
            }
            for (order, head) in [(1, "static let "), (1, "static var "), (3, "let "), (4, "var ")]
            where text.hasPrefix(head) {
                let item = String(text.dropFirst(head.count))
                let tail = [" { get }", " { get set }"].first(where: item.hasSuffix) ?? ""
                let plain = String(item.dropLast(tail.count))
                // A property with attributes, or with another accessor, has a line of its own.
                guard !plain.contains("{"), let colon = plain.firstRange(of: ": ") else { return alone(order + 1) }
                guard order == 1 else { return (Group(order: order, head: head, tail: tail), plain) }
                return (
                    Group(order: 1, head: head, tail: ": " + plain[colon.upperBound...] + tail),
                    String(plain[..<colon.lowerBound])
                )
            }
            if text.contains("init") && (text.hasPrefix("init") || text.hasPrefix("convenience init")) {
                return alone(2)
            }
            return alone(6)
        }
    }
}

@Suite("The page of a public surface")
struct SurfacePageTests {
    private func declaration(_ path: String, _ text: String, isType: Bool = false) -> SurfacePage.Declaration {
        SurfacePage.Declaration(path: path.split(separator: ".").map(String.init), text: text, isType: isType)
    }

    @Test("It reads like a Swift interface, in an order that does not depend on the input's")
    func reads() {
        let declarations = [
            declaration("Order", "struct Order", isType: true),
            declaration("Order.Status", "struct Status", isType: true),
            declaration("Order.Status.rawValue", "let rawValue: String"),
            declaration("Order.Status.init(rawValue:)", "init(rawValue: String)"),
            declaration("Order.Status.paid", "static let paid: Order.Status"),
            declaration("Order.Status.open", "static let open: Order.Status"),
            declaration("Order.total", "var total: Int { get }"), declaration("Order.name", "let name: String"),
            declaration("Order.id", "let id: String"), declaration("Order.send()", "func send() async"),
            declaration("Order.owner", "var owner: String { get async }"),
            declaration("Result", "enum Result", isType: true), declaration("Result.done", "case done"),
            declaration("Result.cancelled(_:)", "case cancelled(Order)"),
            declaration("String.order", "var order: Order? { get }"), declaration("f()", "func f()"),
        ]
        let page = """
            func f()
            struct Order
                let id: String, name: String
                var total: Int { get }
                var owner: String { get async }
                func send() async
            struct Order.Status
                static let open, paid: Order.Status
                init(rawValue: String)
                let rawValue: String
            enum Result
                case cancelled(Order), done
            extension String
                var order: Order? { get }
            """
        #expect(SurfacePage(declarations).lines.joined(separator: "\n") == page)
        #expect(SurfacePage(declarations.reversed()).lines == SurfacePage(declarations).lines)
    }

    @Test("Long lines break after a comma, and every declaration stays")
    func wraps() {
        let names = (10..<60).map { "property\($0)" }
        let long = "func f(" + (10..<30).map { "label\($0): Int" }.joined(separator: ", ") + ")"
        let lines = SurfacePage(
            [declaration("A", "struct A", isType: true), declaration("A.f", long)]
                + names.map { declaration("A.\($0)", "let \($0): Int") }
        ).lines
        #expect(lines.allSatisfy { $0.count <= SurfacePage.columns })
        let text = lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
        #expect(text.contains(long) && names.allSatisfy { text.contains("\($0): Int") })
    }
}
