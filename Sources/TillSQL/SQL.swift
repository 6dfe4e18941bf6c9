/// The text of one SQL statement: literals of the source, with lists of columns between them. Run-time values cannot
/// become part of the text; they are always parameters: `?1`, `?2` and so on.
///
///     "SELECT \(columns) FROM orders WHERE user_id = ?1"
///     "INSERT INTO orders (\(columns)) VALUES (\(marks: 9))"
///
/// Two texts are equal when their pieces are at the same addresses in the program, so a driver finds a prepared
/// statement without building the text.
public struct SQL: ExpressibleByStringInterpolation, CustomStringConvertible, Hashable, Sendable {
    private let first: Piece
    private let rest: [Piece]
    /// Where the text begins, which tells nearly all statements apart: drivers look statements up all the time.
    package let key: UInt

    public init(stringLiteral literal: StaticString) {
        first = .literal(Literal(literal))
        rest = []
        key = first.key
    }

    public init(stringInterpolation interpolation: StringInterpolation) {
        first = interpolation.first ?? .marks(0)
        rest = interpolation.rest
        key = first.key &+ UInt(bitPattern: rest.count)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(key) }

    public var description: String { rest.reduce(first.text) { $0 + $1.text } }

    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var first: Piece?
        fileprivate var rest: [Piece] = []

        public init(literalCapacity: Int, interpolationCount: Int) { rest.reserveCapacity(2 * interpolationCount) }

        public mutating func appendLiteral(_ literal: StaticString) { append(.literal(Literal(literal))) }

        /// A list of columns, unchanged.
        public mutating func appendInterpolation(_ columns: Columns) { append(.literal(Literal(columns.list))) }

        /// A list of columns, each prefixed with `table`, the table's name or alias in this statement.
        public mutating func appendInterpolation(_ columns: Columns, of table: StaticString) {
            append(.columns(Literal(columns.list), table: Literal(table)))
        }

        /// The name of a table.
        public mutating func appendInterpolation(table: StaticString) { append(.literal(Literal(table))) }

        /// `?1, ?2, …` up to `?marks`.
        public mutating func appendInterpolation(marks: Int) { append(.marks(marks)) }

        /// `?number`, for modules that compose statements from repeated parts.
        public mutating func appendInterpolation(parameter number: Int) { append(.parameter(number)) }

        private mutating func append(_ piece: Piece) {
            if first == nil { first = piece } else { rest.append(piece) }
        }
    }

    fileprivate enum Piece: Hashable, Sendable {
        case literal(Literal)
        case columns(Literal, table: Literal)
        case marks(Int)
        case parameter(Int)

        var key: UInt { if case .literal(let literal) = self { UInt(bitPattern: literal.start) } else { 0 } }

        var text: String {
            switch self {
            case .literal(let literal): literal.text
            case .columns(let list, let table):
                list.text.split(separator: ",").map { "\(table.text).\($0.drop { $0 == " " })" }
                    .joined(separator: ", ")
            case .parameter(let number): "?\(number)"
            case .marks(let count): (0..<count).map { "?\($0 + 1)" }.joined(separator: ", ")
            }
        }
    }

    // @unchecked: it points at constants of the program, which are immutable and live as long as the program.
    fileprivate struct Literal: Hashable, @unchecked Sendable {
        let start: UnsafePointer<UInt8>
        let count: Int

        init(_ text: StaticString) {
            precondition(text.hasPointerRepresentation, "an SQL literal has more than one character")
            start = text.utf8Start
            count = text.utf8CodeUnitCount
        }

        var text: String { String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) }
    }
}

/// Columns of one table, separated by commas: written once and used in each statement that reads or writes them.
public struct Columns: ExpressibleByStringLiteral, Sendable {
    let list: StaticString

    public init(stringLiteral list: StaticString) { self.list = list }
}
