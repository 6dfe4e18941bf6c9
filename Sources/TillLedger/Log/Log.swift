import TillSQL
import TillThreads

/// Where a server's log lines go: an effect that is passed in, like the clock. The default drops every line.
///
/// A line is an event with named fields: `log.write(.jobFailed, ["job": .text(name), "cause": .cause(error)])`. A line
/// never contains a proof, a token, a key, a shared secret or a full network address.
public struct Log: Sendable {
    /// How much a line matters.
    public enum Level: String, Sendable, Comparable, CaseIterable {
        case debug
        case info
        case warning
        case error

        public static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int {
            switch self {
            case .debug: 0
            case .info: 1
            case .warning: 2
            case .error: 3
            }
        }
    }

    /// One line before it is formatted.
    public struct Line: Sendable {
        public let event: LogEvent
        /// The request during which the event happened; nil for jobs and for the start.
        public let request: RequestTrace?
        /// In the order in which the caller wrote them. Fields without a value are left out.
        public let fields: [(name: String, value: Value)]

        public init(event: LogEvent, request: RequestTrace? = nil, fields: Fields = [:]) {
            self.event = event
            self.request = request
            self.fields = fields.values
        }

        public subscript(name: String) -> Value? { fields.first { $0.name == name }?.value }
    }

    /// The value of a field.
    public enum Value: Sendable, Hashable {
        case text(String)
        case integer(Int64)
        case decimal(Double)
        case bool(Bool)
    }

    /// A value that may be missing.
    public struct Field: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
    {
        public let value: Value?

        public init(_ value: Value?) { self.value = value }
        public init(stringLiteral value: String) { self.value = .text(value) }
        public init(integerLiteral value: Int64) { self.value = .integer(value) }
        public init(booleanLiteral value: Bool) { self.value = .bool(value) }

        public static func text(_ text: String?) -> Field { Field(text.map(Value.text)) }
        public static func integer(_ number: (some BinaryInteger)?) -> Field {
            Field(number.map { .integer(Int64(clamping: $0)) })
        }
        public static func decimal(_ number: Double?) -> Field { Field(number.map(Value.decimal)) }
        public static func bool(_ bool: Bool?) -> Field { Field(bool.map(Value.bool)) }
        /// What an error says about itself.
        public static func cause(_ error: any Error) -> Field {
            guard let error = error as? DatabaseError else { return .text("\(error)") }
            return .text("\(error.kind.rawValue): \(error.detail)")
        }
    }

    /// The fields of a line, written as a dictionary literal; their order is kept.
    public struct Fields: Sendable, ExpressibleByDictionaryLiteral {
        fileprivate var values: [(name: String, value: Log.Value)] = []

        public init(dictionaryLiteral elements: (String, Field)...) {
            values.reserveCapacity(elements.count)
            for (name, field) in elements {
                if let value = field.value { values.append((name, value)) }
            }
        }

        /// Adds a field at the end, unless it has no value.
        public mutating func append(_ name: String, _ field: Field) {
            if let value = field.value { values.append((name, value)) }
        }
    }

    /// Whether a line of this level is written. It may change while the server runs.
    public let isWritten: @Sendable (Level) -> Bool
    private let sink: @Sendable (Line) -> Void

    /// - Parameters:
    ///   - isWritten: called for each event, so it must be fast.
    ///   - sink: takes the line without waiting, from any thread.
    public init(isWritten: @escaping @Sendable (Level) -> Bool, sink: @escaping @Sendable (Line) -> Void) {
        self.isWritten = isWritten
        self.sink = sink
    }

    /// A log without lines.
    public static let none = Log(isWritten: { _ in false }, sink: { _ in })

    /// Writes one line, if lines of its level are written. `fields` is evaluated only then.
    public func write(_ event: LogEvent, _ fields: @autoclosure () -> Fields = [:]) {
        guard isWritten(event.level) else { return }
        sink(Line(event: event, request: RequestTrace.current, fields: fields()))
    }
}

/// The request that a piece of work belongs to. Every line written meanwhile carries its id.
public final class RequestTrace: Sendable {
    /// The id that the answer's `X-Request-Id` and a problem's `requestId` repeat.
    public let requestID: String
    /// The trace id of the caller's `traceparent`; nil without a valid one.
    public let traceID: String?

    /// What is learnt on the way, for the request's own line.
    package struct Notes: Sendable {
        /// The key's id, the user or the operator: `key:backend`, `user:42`. Nil before authentication.
        package var caller: String?
        /// The code of the refusal; nil for an answer without one.
        package var code: String?
    }

    private let state = Locked(Notes())

    public init(requestID: String, traceID: String? = nil) {
        self.requestID = requestID
        self.traceID = traceID
    }

    package var notes: Notes { state.withLock { $0 } }
    package func note(caller: String) { state.withLock { $0.caller = caller } }
    package func note(code: String) { state.withLock { $0.code = code } }

    @TaskLocal public static var current: RequestTrace?
}
