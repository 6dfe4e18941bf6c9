#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// JSON that the ledger keeps: the same value is always the same bytes.
enum SortedJSON {
    static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        // What the ledger keeps holds nothing that JSON lacks (no infinities, no keys but text).
        guard let data = try? encoder.encode(value) else { preconditionFailure("what the ledger keeps is JSON") }
        return [UInt8](data)
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}
