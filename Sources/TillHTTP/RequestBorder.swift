/// What is wrong with a request that breaks the rules of HTTP; the raw value is the stable `code` of the answer.
///
/// libmicrohttpd is lenient; two parties that read one request differently are how requests are smuggled past a proxy
/// (RFC 9112 §11.2), so whatever can be read in two ways is refused here, before the body is read.
public enum BadRequest: String, Error, Sendable, Hashable, CaseIterable {
    case missingHost = "missing_host"
    case repeatedHost = "repeated_host"
    case repeatedContentLength = "repeated_content_length"
    case badContentLength = "bad_content_length"
    case contentLengthBesideTransferEncoding = "content_length_beside_transfer_encoding"
    case badTransferEncoding = "bad_transfer_encoding"
    /// Two `Authorization` headers: a proxy may have looked at one and we at the other.
    case repeatedAuthorization = "repeated_authorization"
    case badHeaderName = "bad_header_name"
    case badHeaderValue = "bad_header_value"
    /// A line that readers read differently: ended by a bare LF, folded, with a NUL in it, or with more than one space
    /// between the parts of the request line.
    case ambiguousLines = "ambiguous_lines"
    /// The target does not begin with `/`, or holds a space, a control character or a fragment.
    case badTarget = "bad_target"
    /// A `%` without two hexadecimal digits.
    case badEscape = "bad_escape"
    /// The decoded target is not UTF-8, or holds control characters.
    case badTargetText = "bad_target_text"
    /// `%2F` in the path: decoded it would look like a border between two segments, so it is not decoded at all.
    case encodedSlash = "encoded_slash"
    /// A letter, a digit or one of `-._~` in the path is percent-encoded. It means the same as without (RFC 3986
    /// §6.2.2.2), but a proxy's rule for `/dashboard` does not see `/%64ashboard`.
    case encodedUnreserved = "encoded_unreserved"
    case tooManyQueryItems = "too_many_query_items"
}

/// The path and query of a request, decoded.
struct RequestTarget {
    var path: String
    var query: [(name: String, value: String)]

    init(raw: UnsafeBufferPointer<UInt8>) throws(BadRequest) {
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
        do throws(PercentEncoding.Fault) {
            path = try PercentEncoding.decode(pathBytes)
            query = if let question { try PercentEncoding.items(raw[(question + 1)...]) } else { [] }
        } catch {
            switch error {
            case .badEscape: throw .badEscape
            case .badText: throw .badTargetText
            case .tooManyItems: throw .tooManyQueryItems
            }
        }
        if escapes, path.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) { throw .badTargetText }
    }

    /// What the escape at this place stands for; nil where it is none.
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

/// The header list of a request as it is read, field by field, with what the rules need to know of it.
struct HeaderBorder {
    private(set) var headers = HTTPHeaders()
    private(set) var fault: BadRequest?
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
        // libmicrohttpd drops the blanks before a value; those behind it are no part of it either (RFC 9110 §5.5).
        let last = untrimmed.lastIndex { $0 != 0x20 && $0 != 0x09 }
        let value = UnsafeBufferPointer(rebasing: untrimmed[..<(last.map { $0 + 1 } ?? 0)])
        if name.isEmpty || !name.allSatisfy(Self.isTokenByte) { fault = fault ?? .badHeaderName }
        if value.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }) { fault = fault ?? .badHeaderValue }
        // Bytes above ASCII have no agreed meaning in a header; they become U+FFFD rather than a refused purchase.
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

    /// A field was there whose name could not be read.
    mutating func addNameless() { fault = fault ?? .badHeaderName }

    /// What is wrong with the whole list, if anything.
    func verdict(isHTTP10: Bool) -> BadRequest? {
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
        // Eighteen digits fit an Int and are more than anybody sends.
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
