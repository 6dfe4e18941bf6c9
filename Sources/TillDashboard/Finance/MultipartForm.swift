import TillHTTP
import TillLedger

/// A form with a file (RFC 7578) as browsers send it: the fields, and the file's name.
struct MultipartForm: Sendable {
    struct Part: Sendable {
        let name: String
        let fileName: String?
        let content: ArraySlice<UInt8>
    }

    private let parts: [Part]

    /// Till's forms have two fields.
    static let partLimit = 8
    /// RFC 2046 §5.1.1.
    static let boundaryLimit = 70
    private static let headerLimit = 2_000

    subscript(name: String) -> Part? { parts.first { $0.name == name } }

    func text(_ name: String) -> String? { self[name].map { String(decoding: $0.content, as: UTF8.self) } }

    /// - Throws: `invalid_field` if the body is not such a form.
    init(_ request: HTTPRequest) throws {
        guard let boundary = Self.boundary(request.headers["Content-Type"] ?? "") else {
            throw RefusalError(.invalidField, verbatim: "form")
        }
        let body = request.body
        let delimiter = Array("--\(boundary)".utf8)
        guard body.starts(with: delimiter) else { throw RefusalError(.invalidField, verbatim: "form") }
        let between = Array("\r\n".utf8) + delimiter
        var parts: [Part] = []
        var start = delimiter.count
        while !body[start...].starts(with: Array("--".utf8)) {
            guard parts.count < Self.partLimit, body[start...].starts(with: Array("\r\n".utf8)),
                let end = Self.find(between, in: body, from: start + 2),
                let part = Self.part(body[(start + 2)..<end])
            else { throw RefusalError(.invalidField, verbatim: "form") }
            parts.append(part)
            start = end + between.count
        }
        self.parts = parts
    }

    private static func boundary(_ type: String) -> String? {
        let pieces = type.utf8.count <= 1_000 ? type.split(separator: ";") : []
        guard pieces.first?.lowercased() == "multipart/form-data" else { return nil }
        let boundary = pieces.dropFirst().compactMap { Self.value("boundary", of: $0) }.first
        guard let boundary, (1...boundaryLimit).contains(boundary.utf8.count) else { return nil }
        return boundary
    }

    /// Reads `name=value` or `name="value"`.
    private static func value(_ name: String, of piece: Substring) -> String? {
        let pair = piece.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard pair.count == 2, pair[0].lowercased() == name else { return nil }
        let value = pair[1]
        return value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
            ? String(value.dropFirst().dropLast()) : String(value)
    }

    private static func part(_ bytes: ArraySlice<UInt8>) -> Part? {
        let blank = Array("\r\n\r\n".utf8)
        let head = Array(bytes.prefix(headerLimit))
        guard let end = find(blank, in: head, from: 0) else { return nil }
        let lines = String(decoding: head[..<end], as: UTF8.self).split(separator: "\r\n")
        guard let disposition = lines.first(where: { $0.lowercased().hasPrefix("content-disposition:") }) else {
            return nil
        }
        // Browsers write a quotation mark in a file name as %22, and the field names are Till's own.
        let pieces = disposition.split(separator: ";").dropFirst()
        guard let name = pieces.compactMap({ value("name", of: $0) }).first else { return nil }
        return Part(
            name: name, fileName: pieces.compactMap { value("filename", of: $0) }.first,
            content: bytes.dropFirst(end + blank.count))
    }

    /// Linear in the size of the body; the pattern's length is bounded.
    private static func find(_ pattern: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard let first = pattern.first, bytes.count >= pattern.count else { return nil }
        return bytes.withUnsafeBufferPointer { all in
            var place = start
            let last = all.count - pattern.count
            while place <= last {
                if all[place] == first, all[place..<(place + pattern.count)].elementsEqual(pattern) { return place }
                place += 1
            }
            return nil
        }
    }
}
