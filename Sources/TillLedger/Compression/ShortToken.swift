import TillCrypto
import TillSQL

/// A signed text as a database with one server stores it: the payload decoded, and in place of each header the number
/// of its row in `proof_headers`, because headers contain the certificates, and one signer's are all the same. The
/// tokens in a notification's payload keep their payloads encoded:
///
///     #7.{"notificationType":…,"data":{…,"signedTransactionInfo":"#7.eyJ0cmFu….cDm6W2…"}}.k3Jh…
///
/// It gives the text back byte for byte: strict base64url has one text for each payload, and a payload that contains
/// the mark after a quotation mark is stored as it is. A header begins with no such mark, so it shows which form a text
/// has.
struct ShortToken {
    private static let mark = UInt8(ascii: "#")
    private static let quote = UInt8(ascii: "\"")
    private static let dot = UInt8(ascii: ".")
    /// How the header of a token in JSON begins: `{"` in base64.
    private static let opening = Array("eyJ".utf8)

    private let connection: any Connection
    private let headers: ProofHeaderTable

    init(_ connection: any Connection, knowing known: KnownProofHeaders?) {
        self.connection = connection
        headers = ProofHeaderTable(connection, knowing: known)
    }

    // MARK: Storing

    /// The text to store. Servers of an earlier release, which may share a database, do not know the short form.
    func stored(_ text: [UInt8]) throws -> [UInt8] {
        guard !connection.isShared, let token = CompactToken(text), let (outer, _) = try headers.header(of: text) else {
            return text
        }
        let payload = token.payload
        let reference = Self.reference(outer.rowID)
        var short = reference
        short.reserveCapacity(text.count / 4)
        var (written, position) = (0, 0)
        while let quote = CompactToken.first(Self.quote, in: payload, from: position) {
            position = quote + 1
            guard position < payload.count else { break }
            if payload[position] == Self.mark { return text }
            guard let (inner, next) = try header(of: payload, at: position, outer, reference) else { continue }
            short += payload[written..<position]
            short += inner
            (written, position) = (next, next)
        }
        short += payload[written...]
        short.append(Self.dot)
        short += token.signatureText
        return short
    }

    /// The reference to a header in a payload, and where the payload goes on. Nil unless the header has a row: what
    /// else looks like one is part of the payload.
    private func header(
        of payload: [UInt8], at start: Int, _ outer: KnownProofHeaders.Header, _ reference: [UInt8]
    ) throws -> (reference: [UInt8], next: Int)? {
        guard CompactToken.begins(payload, at: start, with: Self.opening) else { return nil }
        if CompactToken.begins(payload, at: start, with: outer.bytes) { return (reference, start + outer.bytes.count) }
        guard let dot = CompactToken.first(Self.dot, in: payload, from: start),
            let rowID = try headers.row(of: Array(payload[start...dot]))
        else { return nil }
        return (Self.reference(rowID), dot + 1)
    }

    private static func reference(_ rowID: Int64) -> [UInt8] { [mark] + String(rowID).utf8 + [dot] }

    /// The same for a column of text.
    func storedText(_ text: [UInt8]) throws -> String {
        String(validating: try stored(text), as: UTF8.self) ?? String(decoding: text, as: UTF8.self)
    }

    // MARK: Reading

    /// The text that was stored.
    func whole(_ stored: String) throws -> String { String(decoding: try whole(Array(stored.utf8)), as: UTF8.self) }

    func whole(_ stored: [UInt8]) throws -> [UInt8] {
        guard stored.first == Self.mark else { return stored }
        guard let end = stored.lastIndex(of: Self.dot), let (outer, start) = try header(in: stored, at: 0), start <= end
        else { throw Self.damage("is not complete") }
        var payload: [UInt8] = []
        var (written, position) = (start, start)
        while let quote = CompactToken.first(Self.quote, in: stored, from: position), quote < end {
            position = quote + 1
            guard position < end, stored[position] == Self.mark else { continue }
            guard let (inner, next) = try header(in: stored, at: position), next <= end else {
                throw Self.damage("is not complete")
            }
            payload += stored[written..<position]
            payload += inner
            (written, position) = (next, next)
        }
        payload += stored[written..<end]
        return outer + Base64.encode(payload, .url).utf8 + stored[end...]
    }

    /// The header that a reference names, and where the text goes on.
    private func header(in stored: [UInt8], at start: Int) throws -> (header: [UInt8], next: Int)? {
        guard let dot = stored[start...].firstIndex(of: Self.dot),
            let rowID = Int64(String(decoding: stored[(start + 1)..<dot], as: UTF8.self))
        else { return nil }
        guard let header = try headers.find(rowID) else { throw Self.damage("names header \(rowID), which is missing") }
        return (header, dot + 1)
    }

    private static func damage(_ what: String) -> DatabaseError {
        DatabaseError(.corrupt, "a stored token \(what); restore it from a backup")
    }
}
