import TillBilling
import TillJSON

/// A typed view of one of Apple's JSON objects, which can be written again without losing members that have no type
/// here.
///
/// A payload lists its members once, in `visitMembers`; strict reading, lenient reading and writing are visitors of
/// that list. The original text is kept. Writing copies every member from it and replaces those that were changed
/// since, so unknown members, fractions and numbers of any size are preserved (facts/jws §1).
package protocol JSONPayload: Equatable, Sendable, MemberElement {
    /// An empty payload.
    init()
    /// The JSON that the payload was read from; nil for a payload built in memory.
    var source: JSONObject? { get set }
    /// Visits every typed member in the order of declaration.
    mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure)
    /// The payload as JSON text in UTF-8: the original bytes, unless it was changed. A payload that was built in memory
    /// has its members in the order of declaration. A requirement, so that it is compiled for each payload.
    func encoded() -> [UInt8]
}

/// Visits the members of a payload, and sets or reads their values.
package protocol MemberVisitor {
    associatedtype Failure: Error
    mutating func visit<Value: MemberValue>(_ key: StaticString, _ value: inout Value?) throws(Failure)
}

extension MemberVisitor {
    /// Visits a value that Apple may add cases to: an unknown raw value survives.
    package mutating func visit<Value: RawRepresentable>(
        _ key: StaticString, _ value: inout Value?
    ) throws(Failure) where Value.RawValue: MemberValue {
        var raw = value?.rawValue
        try visit(key, &raw)
        value = raw.flatMap { Value(rawValue: $0) }
    }
}

extension JSONPayload {
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

    /// Reads leniently: a member of a wrong type counts as absent. For values that are shown and that no decision uses.
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

    package func encoded() -> [UInt8] {
        guard let source else {
            var copy = self
            return JSONWriter { copy.visitMembers(&$0) }.bytes
        }
        let read = (try? Self(source))?.members.list ?? []
        let changed = zip(members.list, read).filter { $0.value != $1.value }.map(\.0)
        if changed.isEmpty { return source.bytes }
        let names = Set(changed.map(\.key.description))
        let kept = source.writtenMembers.filter { !names.contains($0.key) }
        let added = changed.compactMap { key, value in
            value.map { (key: key.description, value: $0.encodedBytes()) }
        }
        return JSONObject.text(of: kept + added)
    }

    /// The payload as a JSON value. Integers beyond 64 bits become doubles here; `encoded()` preserves all their
    /// digits.
    package var json: JSONValue {
        guard source == nil else { return (try? JSONValue(decoding: encoded())) ?? .object([:]) }
        let members = members.list.compactMap { key, value in value.map { (key.description, $0) } }
        return .object(Dictionary(members, uniquingKeysWith: { _, last in last }))
    }
}

/// Reads members strictly: a wrong type throws.
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

/// Collects the JSON values of the typed members, in the order of declaration; nil omits a member.
struct JSONMembers: MemberVisitor {
    private(set) var list: [(key: StaticString, value: JSONValue?)] = []

    mutating func visit<Value: MemberValue>(_ key: StaticString, _ value: inout Value?) {
        list.append((key, value?.json))
    }
}

/// Writes the typed members; nil omits a member.
extension JSONWriter: MemberVisitor {
    package mutating func visit<Value: MemberValue>(_ key: StaticString, _ value: inout Value?) {
        if let value { self.value(key, value.json) }
    }
}

// MARK: - Types of members

package protocol MemberValue {
    /// Nil for a missing member and for `null`.
    static func read(_ key: StaticString, in json: JSONObject) throws(JSONError) -> Self?
    var json: JSONValue { get }
}

/// An element type of lists in payloads.
package protocol MemberElement: MemberValue {
    static func readAll(_ key: StaticString, in json: JSONObject) throws(JSONError) -> [Self]?
}

extension JSONPayload {
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
    /// Milliseconds since 1970; Xcode writes fractions of them, which are rounded down (facts/jws §1).
    func instant(_ key: StaticString) throws(JSONError) -> Instant? {
        try flooredInt64(key).map(Instant.init(milliseconds:))
    }
}
