import TillBilling
import TillSQL

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A value that lies in one column as JSON: written and read whole, never searched for by what is in it.
enum StoredDocument {
    static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// - Throws: `DatabaseError`, corrupt, for a text this version can't read.
    static func read<Value: Decodable>(_ type: Value.Type, from text: String) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(text.utf8))
        } catch {
            throw DatabaseError(.corrupt, "the emulator's database holds a \(type) that can't be read: \(error)")
        }
    }
}

extension SQLValue {
    static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
    static func optional(_ number: Int64?) -> SQLValue { number.map { .integer($0) } ?? .null }
    static func flag(_ truth: Bool) -> SQLValue { .integer(truth ? 1 : 0) }
}

extension Row {
    func flag(_ column: StaticString) -> Bool { integer(column) != 0 }
}
