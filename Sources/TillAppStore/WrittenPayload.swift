import TillBilling
import TillJSON

/// A typed view of one JSON object of Apple's that can be written again without losing what it has no type for.
///
/// The text it was read from is kept as it is, which costs the reader nothing. Writing takes every member from that
/// text and puts in those that were changed since; so unknown members and values, fractions and numbers of any size
/// come out as they went in (facts/jws §1).
protocol WrittenPayload: Sendable {
    init(_ json: JSONObject) throws(JSONError)

    /// What the payload was read from; nil if it was put together here.
    var source: JSONObject? { get }
    /// Every member that has a type here, known or not just now.
    var members: JSONMembers { get }
}

extension WrittenPayload {
    /// The payload as JSON text in UTF-8: the very bytes it was read from, unless it was changed.
    var writtenText: [UInt8] {
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

    /// The payload as a JSON value. Integers beyond 64 bits read as doubles here; `writtenText` has all their digits.
    var writtenValue: JSONValue { (try? JSONValue(decoding: writtenText)) ?? .object([:]) }
}

/// What a payload writes of its typed members, in the order of its declaration; nil writes none.
struct JSONMembers {
    private(set) var list: [(key: String, value: JSONValue?)] = []

    mutating func add(contentsOf other: JSONMembers) { list += other.list }
    mutating func add(_ key: String, _ text: String?) { list.append((key, text.map(JSONValue.string))) }
    mutating func add(_ key: String, _ number: Int64?) { list.append((key, number.map(JSONValue.int))) }
    mutating func add(_ key: String, _ number: Int?) { add(key, number.map(Int64.init)) }
    mutating func add(_ key: String, _ truth: Bool?) { list.append((key, truth.map(JSONValue.bool))) }
    mutating func add(_ key: String, _ instant: Instant?) { add(key, instant?.milliseconds) }
    mutating func add(_ key: String, _ texts: [String]?) {
        list.append((key, texts.map { .array($0.map(JSONValue.string)) }))
    }

    mutating func add<Value: RawRepresentable<String>>(_ key: String, _ value: Value?) { add(key, value?.rawValue) }
    mutating func add<Value: RawRepresentable<Int>>(_ key: String, _ value: Value?) { add(key, value?.rawValue) }

    mutating func add<Payload: WrittenPayload>(_ key: String, _ payload: Payload?) {
        list.append((key, payload?.writtenValue))
    }

    mutating func add<Payload: WrittenPayload>(_ key: String, _ payloads: [Payload]?) {
        list.append((key, payloads.map { .array($0.map(\.writtenValue)) }))
    }
}

extension JSONObject {
    /// Milliseconds since 1970; Xcode writes fractions of them, which are cut off downwards (facts/jws §1).
    func instant(_ key: StaticString) throws(JSONError) -> Instant? {
        try flooredInt64(key).map(Instant.init(milliseconds:))
    }
}
