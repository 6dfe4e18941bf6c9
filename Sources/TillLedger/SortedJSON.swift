#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// JSON for storage in the ledger: equal values encode to equal bytes.
enum SortedJSON {
    static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        // Stored values contain only what JSON can represent (no infinities, only text as keys).
        guard let data = try? encoder.encode(value) else { preconditionFailure("what the ledger keeps is JSON") }
        return [UInt8](data)
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}
