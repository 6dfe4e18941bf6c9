import TillAPI
import TillBilling
import TillJSON

/// The members of a `Codable` type, read from its own `init(from:)`, so that no second list has to be kept in step.
struct CodableMembers {
    struct Member {
        let name: String
        let type: Any.Type
        let isOptional: Bool
    }

    /// Empty for a type that is not an object.
    static func of(_ type: any Decodable.Type) -> [Member] {
        let recorder = MemberRecorder()
        _ = try? type.init(from: recorder)
        return recorder.members
    }

    /// The schema that follows from a member's type.
    static func schema(of type: Any.Type) -> [String: JSONValue] {
        if let body = Body.of(type) { return OpenAPI.ref(body.name).object ?? [:] }
        if type == Bool.self { return ["type": "boolean"] }
        if type == Int.self || type == Int64.self { return ["type": "integer", "format": "int64"] }
        if type == Instant.self { return ["type": "string", "format": "date-time"] }
        if type == UniqueID.self { return ["type": "string", "format": "uuid"] }
        if let list = type as? any ListType.Type {
            return ["type": "array", "items": .object(schema(of: list.element))]
        }
        if let map = type as? any MapType.Type {
            return ["type": "object", "additionalProperties": .object(schema(of: map.value))]
        }
        if let values = type as? any CaseIterable.Type {
            return ["type": "string", "enum": .array(rawValues(values).map { .string($0) })]
        }
        return ["type": "string"]
    }

    private static func rawValues<Values: CaseIterable>(_: Values.Type) -> [String] {
        Values.allCases.compactMap { ($0 as? any RawRepresentable)?.rawValue as? String }
    }
}

private protocol ListType { static var element: Any.Type { get } }
extension Array: ListType { fileprivate static var element: Any.Type { Element.self } }

private protocol MapType { static var value: Any.Type { get } }
extension Dictionary: MapType where Key == String { fileprivate static var value: Any.Type { Value.self } }

// MARK: The recording decoder

/// Gives a type placeholders for every value and records which members it decodes.
private final class MemberRecorder: Decoder {
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]
    private(set) var members: [CodableMembers.Member] = []
    private var optional: Set<String> = []

    /// Bodies have no nested containers and no superclass.
    static let unsupported = DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: [], debugDescription: "nested containers are not supported"))

    func noteOptional(_ name: String) { optional.insert(name) }

    func note(_ name: String, _ type: Any.Type) {
        members.append(CodableMembers.Member(name: name, type: type, isOptional: optional.contains(name)))
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Members(recorder: self))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer { NoElements() }
    func singleValueContainer() -> any SingleValueDecodingContainer { Placeholder() }

    /// A value of the type. The known values are needed for types that don't accept every text.
    static func placeholder<Value: Decodable>(for type: Value.Type) throws -> Value {
        let known: [Any] = [
            "", 0, Int64(0), 0.0, false, UniqueID(high: 1, low: 2), Instant(milliseconds: 0), Metadata.null,
            OrderIDNonce(bytes: Array(repeating: 0, count: 16)) as Any, PlanLength("P1D") as Any,
        ]
        if let value = known.lazy.compactMap({ $0 as? Value }).first { return value }
        if let values = type as? any CaseIterable.Type, let first = first(of: values) as? Value { return first }
        return try Value(from: MemberRecorder())
    }

    private static func first<Values: CaseIterable>(of _: Values.Type) -> Any? { Values.allCases.first }

    private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let recorder: MemberRecorder
        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        func contains(_ key: Key) -> Bool { true }

        /// Called only for optional members.
        func decodeNil(forKey key: Key) -> Bool {
            recorder.noteOptional(key.stringValue)
            return false
        }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            recorder.note(key.stringValue, type)
            return try MemberRecorder.placeholder(for: type)
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> { throw MemberRecorder.unsupported }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            throw MemberRecorder.unsupported
        }
        func superDecoder() throws -> any Decoder { throw MemberRecorder.unsupported }
        func superDecoder(forKey key: Key) throws -> any Decoder { throw MemberRecorder.unsupported }
    }

    private struct NoElements: UnkeyedDecodingContainer {
        var codingPath: [any CodingKey] { [] }
        var count: Int? { 0 }
        var isAtEnd: Bool { true }
        var currentIndex: Int { 0 }

        mutating func decodeNil() -> Bool { false }
        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { throw MemberRecorder.unsupported }
        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) throws -> KeyedDecodingContainer<Nested> { throw MemberRecorder.unsupported }
        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            throw MemberRecorder.unsupported
        }
        mutating func superDecoder() throws -> any Decoder { throw MemberRecorder.unsupported }
    }

    private struct Placeholder: SingleValueDecodingContainer {
        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool { false }
        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try MemberRecorder.placeholder(for: type) }
    }
}
