import TillBilling
import TillJSON

/// A typed view of one JSON object of Apple's that can be written again without losing what it has no type for.
///
/// A payload names its members once, in `visitMembers`: reading, lenient reading and writing are visitors of that list.
/// The text it was read from is kept as it is, which costs the reader nothing. Writing takes every member from that
/// text and puts in those that were changed since; so unknown members and values, fractions and numbers of any size
/// come out as they went in (facts/jws §1).
package protocol WrittenPayload: Equatable, Sendable, MemberElement {
    /// A payload without any member, to be filled in.
    init()
    /// What the payload was read from; nil if it was put together here.
    var source: JSONObject? { get set }
    /// Every member that has a type here, known or not just now, in the order of its declaration.
    mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure)
}

/// What goes over the members of a payload: it puts values in, or takes them out.
package protocol MemberVisitor {
    associatedtype Failure: Error
    mutating func visit<Value: MemberValue>(_ key: StaticString, _ value: inout Value?) throws(Failure)
}

extension MemberVisitor {
    /// A value that Apple may add cases to: the raw one survives.
    package mutating func visit<Value: RawRepresentable>(
        _ key: StaticString, _ value: inout Value?
    ) throws(Failure) where Value.RawValue: MemberValue {
        var raw = value?.rawValue
        try visit(key, &raw)
        value = raw.flatMap { Value(rawValue: $0) }
    }
}

extension WrittenPayload {
    /// Reads a payload that proves nothing.
    ///
    /// - Parameter text: one JSON object in UTF-8, at most 64 levels deep.
    package init(decoding text: some Collection<UInt8>) throws(JSONError) { try self.init(JSONObject(Array(text))) }

    init(_ json: JSONObject) throws(JSONError) {
        self.init()
        source = json
        var reader = MemberReader(json: json)
        try visitMembers(&reader)
    }

    /// Reads what there is: a member of a wrong type is as if absent. For what is shown and not decided on.
    package init(lenient json: JSONObject) {
        self.init()
        source = json
        var reader = LenientMemberReader(json: json)
        visitMembers(&reader)
    }

    var members: JSONMembers {
        var (copy, members) = (self, JSONMembers())
        copy.visitMembers(&members)
        return members
    }

    /// The payload as JSON text in UTF-8: the very bytes it was read from, unless it was changed.
    package func encoded() -> [UInt8] {
        let members = members.list
        guard let source else {
            let written = members.compactMap { key, value in value.map { (key: key, value: Array($0.encoded().utf8)) } }
            return JSONObject.text(of: written)
        }
        let read = (try? Self(source))?.members.list ?? []
        let changed = zip(members, read).filter { $0.value != $1.value }.map(\.0)
        if changed.isEmpty { return source.bytes }
        let changes = Dictionary(changed.map { ($0.key, $0.value) }, uniquingKeysWith: { _, last in last })
        let kept = source.writtenMembers.filter { changes[$0.key] == nil }
        let added = changed.compactMap { key, value in value.map { (key: key, value: Array($0.encoded().utf8)) } }
        return JSONObject.text(of: kept + added)
    }

    /// The payload as a JSON value. Integers beyond 64 bits read as doubles here; `encoded()` has all their digits.
    package var json: JSONValue {
        guard source == nil else { return (try? JSONValue(decoding: encoded())) ?? .object([:]) }
        let members = members.list.compactMap { key, value in value.map { (key, $0) } }
        return .object(Dictionary(members, uniquingKeysWith: { _, last in last }))
    }
}

/// Reads members strictly: a wrong type is an error.
private struct MemberReader: MemberVisitor {
    let json: JSONObject

    mutating func visit<Value: MemberValue>(_ key: StaticString, _ value: inout Value?) throws(JSONError) {
        value = try Value.read(key, in: json)
    }
}

private struct LenientMemberReader: MemberVisitor {
    let json: JSONObject

    mutating func visit<Value: MemberValue>(_ key: StaticString, _ value: inout Value?) {
        value = (try? Value.read(key, in: json)) ?? nil
    }
}

/// What a payload writes of its typed members, in the order of its declaration; nil writes none.
struct JSONMembers: MemberVisitor {
    private(set) var list: [(key: String, value: JSONValue?)] = []

    mutating func visit<Value: MemberValue>(_ key: StaticString, _ value: inout Value?) {
        list.append((key.description, value?.json))
    }
}

// MARK: - What a member holds

package protocol MemberValue {
    /// Nil for a missing member and for `null`.
    static func read(_ key: StaticString, in json: JSONObject) throws(JSONError) -> Self?
    var json: JSONValue { get }
}

/// What a list in a payload holds.
package protocol MemberElement: MemberValue {
    static func readAll(_ key: StaticString, in json: JSONObject) throws(JSONError) -> [Self]?
}

extension WrittenPayload {
    package static func read(_ key: StaticString, in json: JSONObject) throws(JSONError) -> Self? {
        try json.object(key).map { (object) throws(JSONError) in try Self(object) }
    }

    package static func readAll(_ key: StaticString, in json: JSONObject) throws(JSONError) -> [Self]? {
        try json.objects(key)?.map { (object) throws(JSONError) in try Self(object) }
    }
}

extension String: MemberElement {
    package static func read(_ key: StaticString, in json: JSONObject) throws(JSONError) -> String? {
        try json.string(key)
    }

    package static func readAll(_ key: StaticString, in json: JSONObject) throws(JSONError) -> [String]? {
        try json.strings(key)
    }

    package var json: JSONValue { .string(self) }
}

extension Int64: MemberValue {
    package static func read(_ key: StaticString, in json: JSONObject) throws(JSONError) -> Int64? {
        try json.int64(key)
    }

    package var json: JSONValue { .int(self) }
}

extension Int: MemberValue {
    package static func read(_ key: StaticString, in json: JSONObject) throws(JSONError) -> Int? { try json.int(key) }
    package var json: JSONValue { .int(Int64(self)) }
}

extension Bool: MemberValue {
    package static func read(_ key: StaticString, in json: JSONObject) throws(JSONError) -> Bool? { try json.bool(key) }
    package var json: JSONValue { .bool(self) }
}

extension Instant: MemberValue {
    package static func read(_ key: StaticString, in json: JSONObject) throws(JSONError) -> Instant? {
        try json.instant(key)
    }

    package var json: JSONValue { .int(milliseconds) }
}

extension Array: MemberValue where Element: MemberElement {
    package static func read(_ key: StaticString, in json: JSONObject) throws(JSONError) -> [Element]? {
        try Element.readAll(key, in: json)
    }

    package var json: JSONValue { .array(map(\.json)) }
}

extension JSONObject {
    /// Milliseconds since 1970; Xcode writes fractions of them, which are cut off downwards (facts/jws §1).
    func instant(_ key: StaticString) throws(JSONError) -> Instant? {
        try flooredInt64(key).map(Instant.init(milliseconds:))
    }
}
