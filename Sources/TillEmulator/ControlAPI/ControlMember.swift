import TillBilling
import TillHTTP
import TillJSON

/// One member of a JSON object of the control API, or one query item: name, type and purpose. Bodies are checked
/// against these declarations and the OpenAPI document is generated from them, so the two always agree.
struct ControlMember: Sendable {
    enum Kind: Sendable {
        /// A text of 1 to `limit` bytes.
        case text(limit: Int)
        case integer(ClosedRange<Int64>)
        /// Any JSON number, such as a probability.
        case number
        case bool
        case uuid
        /// RFC 3339 with milliseconds, from 1970 on.
        case instant
        /// A length of time such as `30d` or `1d12h`.
        case span
        case choice([String])
        case object([ControlMember])
        case list([ControlMember])
        case texts
        /// An object with arbitrary member names, such as prices by storefront.
        case map

        /// One of an enum's raw values.
        static func choice<Choice: RawRepresentable & CaseIterable>(
            of type: Choice.Type
        ) -> Kind where Choice.RawValue == String { .choice(type.allCases.map(\.rawValue)) }
    }

    let name: String
    let kind: Kind
    let isRequired: Bool
    /// The purpose, in both languages.
    let note: LocalizedText

    init(_ name: String, _ kind: Kind, required: Bool = false, _ note: LocalizedText) {
        self.name = name
        self.kind = kind
        isRequired = required
        self.note = note
    }
}

/// An object of the control API: its members with the source of each value. The OpenAPI document is generated from the
/// members, and answers from the values.
struct ControlObject<Value>: Sendable {
    private(set) var members: [ControlMember] = []
    private var values: [@Sendable (Value) -> JSONValue?] = []
    /// The positions of the members in the order of their names, which is that of the answer.
    private var order: [Int] = []

    init(_ declare: (inout ControlObject) -> Void) {
        declare(&self)
        order = members.indices.sorted { members[$0].name < members[$1].name }
    }

    /// - Parameter value: nil omits the member.
    mutating func add(
        _ name: String, _ kind: ControlMember.Kind, required: Bool = false, _ note: LocalizedText,
        _ value: @escaping @Sendable (Value) -> JSONValue?
    ) {
        add(ControlMember(name, kind, required: required, note), value)
    }

    mutating func add(_ member: ControlMember, _ value: @escaping @Sendable (Value) -> JSONValue?) {
        members.append(member)
        values.append(value)
    }

    func json(_ value: Value) -> JSONValue {
        .object(Dictionary(jsonMembers(value), uniquingKeysWith: { _, last in last }))
    }

    /// The members that have a value, in the order of their names.
    func jsonMembers(_ value: Value) -> [(key: String, value: JSONValue)] {
        var found: [(key: String, value: JSONValue)] = []
        found.reserveCapacity(order.count + 2)
        for position in order {
            if let value = values[position](value) { found.append((members[position].name, value)) }
        }
        return found
    }
}

/// The content of an answer of the control API.
struct ControlResponse: Sendable {
    /// The name of its schema in OpenAPI.
    let name: String
    let members: [ControlMember]

    init(_ name: String, _ members: [ControlMember]) {
        self.name = name
        self.members = members
    }
}

/// A JSON object in a request to the control API. Every member must have a declared name and type.
struct RequestBody {
    private let members: [String: JSONValue]

    /// An empty body is an object without members.
    init(_ bytes: [UInt8], knowing names: [String]) throws(ControlError) {
        guard let value = bytes.isEmpty ? .object([:]) : try? JSONValue(decoding: bytes) else {
            throw .notJSON(bytes)
        }
        try self.init(value, knowing: names)
    }

    init(_ value: JSONValue, knowing names: [String]) throws(ControlError) {
        guard case .object(let members) = value else {
            throw .badRequest("not_an_object", "Expected a JSON object.", "这里需要一个 JSON 对象。")
        }
        try Self.check(members.keys.sorted(), among: names)
        self.members = members
    }

    static func check(_ given: [String], among names: [String]) throws(ControlError) {
        for name in given where !names.contains(name) {
            let shown = String(name.prefix(60))
            let nearest = nearestName(to: name, among: names)
            let known = names.joined(separator: ", ")
            throw .badRequest(
                "unknown_member",
                "The member \"\(shown)\" is unknown"
                    + (nearest.map { "; did you mean \"\($0)\"?" } ?? ". Known members: \(known)."),
                "未知成员 “\(shown)”" + (nearest.map { "，是否想写 “\($0)”？" } ?? "。可用的有：\(known)。"))
        }
    }

    var isEmpty: Bool { members.isEmpty }

    /// A `null` counts as absent.
    func value(_ name: String) -> JSONValue? {
        // Not with `flatMap`: in its closure, `nil` would be a literal of JSONValue, which is null again.
        guard let value = members[name], !value.isNull else { return .none }
        return value
    }

    func text(_ name: String, upTo limit: Int = 200) throws(ControlError) -> String? {
        guard let value = value(name) else { return nil }
        guard case .string(let text) = value, !text.isEmpty, text.utf8.count <= limit else {
            throw Self.wrong(name, "a text of 1 to \(limit) bytes", "1 到 \(limit) 字节的文本")
        }
        return text
    }

    func requiredText(_ name: String, upTo limit: Int = 200) throws(ControlError) -> String {
        guard let text = try text(name, upTo: limit) else {
            throw .badRequest("missing_member", "The member \"\(name)\" is missing.", "缺少成员 “\(name)”。")
        }
        return text
    }

    func integer(_ name: String, in range: ClosedRange<Int64>) throws(ControlError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard case .int(let number) = value, range.contains(number) else {
            throw Self.wrong(
                name, "a whole number from \(range.lowerBound) to \(range.upperBound)",
                "\(range.lowerBound) 到 \(range.upperBound) 的整数")
        }
        return number
    }

    func bool(_ name: String) throws(ControlError) -> Bool? {
        guard let value = value(name) else { return nil }
        guard case .bool(let truth) = value else { throw Self.wrong(name, "true or false", "true 或 false") }
        return truth
    }

    func uniqueID(_ name: String) throws(ControlError) -> UniqueID? {
        guard let value = value(name) else { return nil }
        guard case .string(let text) = value, let id = UniqueID(text) else {
            throw Self.wrong(name, "a UUID such as 3f2c1a00-0000-4000-8000-000000000000", "UUID")
        }
        return id
    }

    /// RFC 3339, from 1970 on.
    func instant(_ name: String) throws(ControlError) -> Instant? {
        guard let value = value(name) else { return nil }
        guard case .string(let text) = value, text.utf8.count <= 40, let instant = Instant(rfc3339: text),
            instant.milliseconds >= 0
        else {
            throw Self.wrong(
                name, "an RFC 3339 time such as 2027-01-01T00:00:00.000Z",
                " RFC 3339 格式的时间，例如 2027-01-01T00:00:00.000Z")
        }
        return instant
    }

    func span(_ name: String) throws(ControlError) -> Span? {
        guard let value = value(name) else { return nil }
        guard case .string(let text) = value, let span = Span(text) else {
            throw Self.wrong(
                name,
                "a duration of at most 100 years: whole numbers with w, d, h, m, s or ms, the largest first, such as "
                    + "\"30d\" or \"1d12h\"",
                "不超过一百年的时长：整数加单位 w、d、h、m、s、ms，大单位在前，例如 “30d” 或 “1d12h”")
        }
        return span
    }

    /// One of an enum's raw values.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, of type: Choice.Type
    ) throws(ControlError) -> Choice? where Choice.RawValue == String {
        guard let value = value(name) else { return nil }
        if case .string(let text) = value, let choice = Choice(rawValue: text) { return choice }
        let all = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        throw Self.wrong(name, "one of \(all)", "以下之一：\(all)")
    }

    static func wrong(_ name: String, _ english: String, _ chinese: String) -> ControlError {
        .badRequest("wrong_value", "\"\(name)\" must be \(english).", "“\(name)” 必须是\(chinese)。")
    }
}

/// Checks bodies and queries against a route's declarations.
extension RequestBody {
    /// - Throws: the problem of this member; the content of an object, list or map is not checked.
    func check(_ member: ControlMember) throws(ControlError) {
        let name = member.name
        guard let value = value(name) else {
            if member.isRequired {
                throw .badRequest("missing_member", "The member \"\(name)\" is missing.", "缺少成员 “\(name)”。")
            }
            return
        }
        switch member.kind {
        case .text(let limit): _ = try text(name, upTo: limit)
        case .integer(let range): _ = try integer(name, in: range)
        case .number:
            switch value {
            case .int, .double: break
            default: throw Self.wrong(name, "a number", "数字")
            }
        case .bool: _ = try bool(name)
        case .uuid: _ = try uniqueID(name)
        case .instant: _ = try instant(name)
        case .span: _ = try span(name)
        case .choice(let words):
            guard let text = value.string, words.contains(text) else {
                let all = words.map { "\"\($0)\"" }.joined(separator: ", ")
                throw Self.wrong(name, "one of \(all)", "以下之一：\(all)")
            }
        case .object, .map:
            guard value.object != nil else { throw Self.wrong(name, "an object", "对象") }
        case .list, .texts:
            guard value.array != nil else { throw Self.wrong(name, "a list", "列表") }
        }
    }

    /// Refuses unknown names, because a misspelt name would change the query's meaning, and repeated names, because one
    /// of the values would be ignored.
    static func check(query: [(name: String, value: String)], against members: [ControlMember]) throws(ControlError) {
        try check(query.map(\.name), among: members.map(\.name))
        var given: [String: JSONValue] = [:]
        for item in query {
            guard !given.keys.contains(item.name) else {
                throw .badRequest(
                    "wrong_value", "\"\(item.name)\" occurs twice.", "“\(item.name)” 出现了两次。")
            }
            given[item.name] = .string(item.value)
        }
        for member in members {
            guard let text = given[member.name]?.string else { continue }
            switch member.kind {
            case .integer, .number:
                if let number = Int64(text) {
                    given[member.name] = .int(number)
                } else if let number = Double(text), number.isFinite {
                    given[member.name] = .double(number)
                }
            case .bool where text == "true" || text == "false": given[member.name] = .bool(text == "true")
            case .text, .bool, .uuid, .instant, .span, .choice, .object, .list, .texts, .map: break
            }
        }
        let checked = try RequestBody(.object(given), knowing: members.map(\.name))
        for member in members { try checked.check(member) }
    }
}
