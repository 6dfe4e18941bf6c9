import TillBilling
import TillHTTP
import TillJSON
import TillLedger

/// The members of a body that released apps post: JSON with text or whole numbers, or a form.
enum PostedFields {
    /// The first character tells JSON from a form: released apps don't set `Content-Type` reliably.
    ///
    /// - Parameter base64: the member that holds base64.
    /// - Throws: `RefusalError` with the member that has a wrong type.
    static func read(_ request: HTTPRequest, _ names: [String], base64: String) throws -> [String: String] {
        guard let first = request.body.first(where: { $0 > 0x20 }) else { throw RefusalError(.malformedJSON) }
        guard first == UInt8(ascii: "{") else {
            var fields = try request.form()
            // A form decodes `+` as a space. Base64 contains no spaces, and a line feed arrives as itself: so each
            // space was a `+` that the client forgot to encode, the classic cause of receipts that "can't be read".
            fields[base64] = fields[base64].map { text in
                String(decoding: text.utf8.map { $0 == 0x20 ? UInt8(ascii: "+") : $0 }, as: UTF8.self)
            }
            return fields
        }
        guard let members = (try? JSONValue(decoding: request.body))?.object else {
            throw RefusalError(malformed: request.body)
        }
        var fields: [String: String] = [:]
        for name in names {
            switch members[name] {
            case nil, .null?: break
            case .string(let text)?: fields[name] = text
            case .int(let number)?: fields[name] = String(number)
            default: throw RefusalError(.invalidField, "\(name): wrong type", zh: "\(name)：类型不正确")
            }
        }
        return fields
    }
}
