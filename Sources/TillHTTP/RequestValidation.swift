/// How a request breaks the rules of HTTP; the raw value is the stable `code` of the response.
///
/// Two parties that parse one request differently make request smuggling past a proxy possible (RFC 9112 §11.2), and
/// libmicrohttpd is lenient. Every request that can be parsed in two ways is therefore refused before its body is read.
public enum HTTPRequestError: String, Error, Sendable, Hashable, CaseIterable {
    case missingHost = "missing_host"
    case repeatedHost = "repeated_host"
    case repeatedContentLength = "repeated_content_length"
    case badContentLength = "bad_content_length"
    case contentLengthBesideTransferEncoding = "content_length_beside_transfer_encoding"
    case badTransferEncoding = "bad_transfer_encoding"
    /// Two `Authorization` headers: a proxy may have checked one, and this server would check the other.
    case repeatedAuthorization = "repeated_authorization"
    case badHeaderName = "bad_header_name"
    case badHeaderValue = "bad_header_value"
    /// A line that parsers read differently: ended by a bare LF, folded, containing a NUL, or with more than one space
    /// between the parts of the request line.
    case ambiguousLines = "ambiguous_lines"
    /// The target does not begin with `/`, or contains a space, a control character or a fragment.
    case badTarget = "bad_target"
    /// A `%` without two hexadecimal digits.
    case badEscape = "bad_escape"
    /// The decoded target or form is not UTF-8, contains control characters, or has too many combining marks in a row.
    case badTargetText = "bad_target_text"
    /// `%2F` in the path. Decoded, it would look like a separator of two segments.
    case encodedSlash = "encoded_slash"
    /// A percent-encoded letter, digit or one of `-._~` in the path. It is equivalent to the plain character (RFC 3986
    /// §6.2.2.2), but a proxy's rule for `/dashboard` does not match `/%64ashboard`.
    case encodedUnreserved = "encoded_unreserved"
    case tooManyQueryItems = "too_many_query_items"
}

/// The path and query of a request, decoded.
struct RequestTarget {
    var path: String
    var query: [(name: String, value: String)]

    init(raw: UnsafeBufferPointer<UInt8>) throws(HTTPRequestError) {
        guard raw.first == UInt8(ascii: "/") else { throw .badTarget }
        var question: Int?
        var escapes = false
        for (index, byte) in raw.enumerated() {
            switch byte {
            case 0...0x20, 0x7F, UInt8(ascii: "#"): throw .badTarget
            case UInt8(ascii: "?") where question == nil: question = index
            case UInt8(ascii: "%") where question == nil:
                escapes = true
                if let byte = Self.decoded(raw, at: index) {
                    if byte == UInt8(ascii: "/") { throw .encodedSlash }
                    if Self.isUnreserved(byte) { throw .encodedUnreserved }
                }
            default: break
            }
        }
        let pathBytes = raw[..<(question ?? raw.endIndex)]
        path = try PercentEncoding.decode(pathBytes)
        query = if let question { try PercentEncoding.items(raw[(question + 1)...]) } else { [] }
        if escapes, path.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) { throw .badTargetText }
    }

    /// The byte that the escape at this index encodes; nil if there is no escape.
    private static func decoded(_ raw: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt8? {
        guard index + 2 < raw.count, let high = PercentEncoding.hexadecimal(raw[index + 1]),
            let low = PercentEncoding.hexadecimal(raw[index + 2])
        else { return nil }
        return high << 4 | low
    }

    /// RFC 3986 §2.3.
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

/// The header fields of a request, collected one by one, with the facts that the rules need.
struct HeaderValidator {
    private(set) var headers = HTTPHeaders()
    private(set) var fault: HTTPRequestError?
    private(set) var contentLength: Int?
    private(set) var isChunked = false
    private(set) var expectsContinue = false
    private(set) var acceptLanguage: String?
    private var hosts = 0
    private var authorizations = 0
    private var encodings = 0

    var count: Int { headers.fields.count }
    /// Whether body bytes follow the header.
    var announcesBody: Bool { isChunked || encodings > 0 || (contentLength ?? 0) > 0 }

    mutating func add(name: UnsafeBufferPointer<UInt8>, value untrimmed: UnsafeBufferPointer<UInt8>) {
        // libmicrohttpd drops the blanks before a value; those after it do not belong to it either (RFC 9110 §5.5).
        let last = untrimmed.lastIndex { $0 != 0x20 && $0 != 0x09 }
        let value = UnsafeBufferPointer(rebasing: untrimmed[..<(last.map { $0 + 1 } ?? 0)])
        if name.isEmpty || !name.allSatisfy(Self.isTokenByte) { fault = fault ?? .badHeaderName }
        if value.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }) { fault = fault ?? .badHeaderValue }
        // Bytes above ASCII have no agreed meaning in a header; they become U+FFFD, so that a purchase is not refused
        // for them.
        let text = String(decoding: value, as: UTF8.self)
        if !PercentEncoding.isComparable(text) { fault = fault ?? .badHeaderValue }
        headers.add(String(decoding: name, as: UTF8.self), text)
        switch name.count {
        case 4 where Self.equals(name, "host"): hosts += 1
        case 6 where Self.equals(name, "expect"): expectsContinue = Self.equals(value, "100-continue")
        case 13 where Self.equals(name, "authorization"): authorizations += 1
        case 14 where Self.equals(name, "content-length"): addLength(value)
        case 15 where Self.equals(name, "accept-language"): acceptLanguage = acceptLanguage ?? text
        case 17 where Self.equals(name, "transfer-encoding"):
            encodings += 1
            isChunked = Self.equals(value, "chunked")
        default: break
        }
    }

    /// Records a field whose name could not be parsed.
    mutating func addNameless() { fault = fault ?? .badHeaderName }

    /// The first rule that the complete list breaks, if any.
    func verdict(isHTTP10: Bool) -> HTTPRequestError? {
        if let fault { return fault }
        if hosts > 1 { return .repeatedHost }
        if hosts == 0, !isHTTP10 { return .missingHost }
        if authorizations > 1 { return .repeatedAuthorization }
        if encodings > 0 {
            if contentLength != nil { return .contentLengthBesideTransferEncoding }
            if encodings > 1 || !isChunked || isHTTP10 { return .badTransferEncoding }
        }
        return nil
    }

    private mutating func addLength(_ value: UnsafeBufferPointer<UInt8>) {
        if contentLength != nil { fault = fault ?? .repeatedContentLength }
        // Eighteen digits fit an Int and exceed every real length.
        guard !value.isEmpty, value.count <= 18, value.allSatisfy({ (48...57).contains($0) }) else {
            fault = fault ?? .badContentLength
            contentLength = contentLength ?? 0
            return
        }
        contentLength = value.reduce(0) { $0 * 10 + Int($1 - 48) }
    }

    /// RFC 9110 §5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
    }

    private static func equals(_ bytes: UnsafeBufferPointer<UInt8>, _ lowercase: StaticString) -> Bool {
        bytes.count == lowercase.utf8CodeUnitCount
            && bytes.indices.allSatisfy { index in
                let byte = bytes[index]
                let lower = (65...90).contains(byte) ? byte | 0x20 : byte
                return lower == lowercase.utf8Start[index]
            }
    }
}
