import TillCrypto
import TillJSON

/// Where a walk through pages stands, as a text that callers can only give back: `revision`, `paginationToken`. It
/// belongs to one question, and to none that differs in a word (facts/server-api §4.1).
struct PageToken: Sendable {
    /// Everything the question says, in one order.
    let question: JSONValue
    let apiKey: APIKey

    private static let checkLength = 12

    /// - Parameter place: the numbers by which the last item of the page is found again.
    func text(at place: [Int64]) -> String {
        let bytes = place.flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        }
        return Base64.encode(bytes + check(bytes), .url)
    }

    /// - Returns: nil for a text that is no token, or another question's.
    func place(_ text: String, of count: Int) -> [Int64]? {
        let length = count * 8
        guard text.utf8.count <= 2 * (length + Self.checkLength), let bytes = Base64.decode(text, .url),
            bytes.count == length + Self.checkLength,
            constantTimeEqual(bytes.suffix(Self.checkLength), check(Array(bytes.prefix(length))))
        else { return nil }
        return (0..<count).map { index in
            bytes[index * 8..<index * 8 + 8].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        }
    }

    private func check(_ place: [UInt8]) -> [UInt8] {
        let code = HMACSHA256.code(for: place + Array(question.encoded().utf8), key: apiKey.issuerID.bytes)
        return Array(code.prefix(Self.checkLength))
    }
}
