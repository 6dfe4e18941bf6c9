import TillAppStore
import TillHTTP
import TillJSON
import TillLedger

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The JSON of Till's own API. TillAppStore reads Apple's signed JSON.
enum JSONText {
    /// Members are sorted by name, so that equal values give equal text.
    static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        // The bodies contain nothing that JSON lacks (no infinities, no non-text keys), so encoding can't fail.
        guard let data = try? encoder.encode(value) else { preconditionFailure("a body of ours is always JSON") }
        return [UInt8](data)
    }

    /// - Parameter check: checks the bounds of the members, after their types have been checked.
    /// - Throws: `RefusalError` with the invalid member.
    static func decode<Value: Decodable>(
        _ type: Value.Type, from body: [UInt8], check: (JSONValue) throws -> Void = { _ in }
    ) throws -> Value {
        // Till's own reader runs first: it refuses text that Foundation would hash for minutes
        // (`CombiningMarkCounter`).
        guard let json = try? JSONValue(decoding: body) else { throw RefusalError(malformed: body) }
        do {
            let value = try JSONDecoder().decode(type, from: Data(body))
            try check(json)
            return value
        } catch let refused as RefusalError {
            throw refused
        } catch let error as DecodingError {
            switch error {
            case .keyNotFound(let key, let context):
                throw RefusalError(
                    .invalidField, "\(path(context.codingPath + [key])): missing",
                    zh: "\(path(context.codingPath + [key]))：缺失")
            case .typeMismatch(_, let context), .valueNotFound(_, let context):
                throw RefusalError(
                    .invalidField, "\(path(context.codingPath)): wrong type", zh: "\(path(context.codingPath))：类型不正确")
            case .dataCorrupted(let context) where !context.codingPath.isEmpty:
                throw RefusalError(
                    .invalidField, "\(path(context.codingPath)): \(context.debugDescription.prefix(100))",
                    zh: "\(path(context.codingPath))：取值无效")
            default: throw RefusalError(.malformedJSON)
            }
        } catch {
            throw RefusalError(.malformedJSON)
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.isEmpty ? "body" : keys.map(\.stringValue).joined(separator: ".")
    }

    static func response(_ status: Int, _ value: JSONValue) -> HTTPResponse {
        response(status, text: value.encodedBytes())
    }

    static func response(_ status: Int, _ value: some Encodable) -> HTTPResponse {
        response(status, text: encode(value))
    }

    static func response(_ status: Int, text: [UInt8]) -> HTTPResponse {
        HTTPResponse(status: status, headers: HTTPHeaders([("Content-Type", "application/json")]), body: text)
    }
}

extension RefusalError {
    /// A body that is not JSON, with the place of the mistake.
    init(malformed body: [UInt8]) { self.init(.malformedJSON, detail: JSONMistake(in: body)?.sentence) }
}
