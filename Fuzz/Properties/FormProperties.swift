@testable import TillHTTP

/// The properties of every request target, query, form body and header field.
enum FormProperties {
    static func check(_ input: [UInt8]) throws(PropertyError) {
        try everyBytesCanBeWritten(input)
        try itemsReadBack(input)
        try targetsArePlain(input)
        try headersAreChecked(input)
    }

    /// `%XX` for each byte decodes to the bytes, if they are text without NUL.
    private static func everyBytesCanBeWritten(_ input: [UInt8]) throws(PropertyError) {
        let escaped = input.flatMap { escape($0) }
        let decoded = try? PercentEncoding.decode(escaped)
        let text = String(validating: input, as: UTF8.self).flatMap { text in
            input.contains(0) || !PercentEncoding.isComparable(text) ? nil : text
        }
        try hold(decoded.map { Array($0.utf8) } == text.map { Array($0.utf8) }, "escapes are bytes")
        for plusIsSpace in [false, true] {
            guard let read = try? PercentEncoding.decode(input, plusIsSpace: plusIsSpace) else { continue }
            try hold(!read.utf8.contains(0) && read.utf8.count <= input.count, "text has no NUL and is no longer")
            if !input.contains(UInt8(ascii: "%")), !plusIsSpace {
                try hold(read.utf8.elementsEqual(input), "plain is plain")
            }
        }
    }

    private static func itemsReadBack(_ input: [UInt8]) throws(PropertyError) {
        guard let items = try? PercentEncoding.items(input) else { return }
        try hold(items.count <= PercentEncoding.itemLimit, "items are bounded")
        let written = items.map { item in
            item.name.utf8.flatMap { escape($0) } + [UInt8(ascii: "=")] + item.value.utf8.flatMap { escape($0) }
        }
        let again = try held(
            try? PercentEncoding.items(Array(written.joined(separator: [UInt8(ascii: "&")]))), "items can be written")
        try hold(again.elementsEqual(items) { $0 == $1 }, "items read back")
    }

    private static func targetsArePlain(_ input: [UInt8]) throws(PropertyError) {
        guard
            let target = try? input.withUnsafeBufferPointer({ (raw) throws(HTTPRequestError) in
                try RequestTarget(raw: raw)
            })
        else { return }
        try hold(target.path.utf8.first == UInt8(ascii: "/"), "a path begins with a slash")
        try hold(target.path.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a path has no control characters")
        try hold(target.query.count <= PercentEncoding.itemLimit, "a query is bounded")
        let raw = input.prefix { $0 != UInt8(ascii: "?") }
        try hold(
            raw.count { $0 == UInt8(ascii: "/") } == target.path.utf8.count { $0 == UInt8(ascii: "/") },
            "decoding makes no slash")
    }

    /// Each line is one field: `name:value`.
    private static func headersAreChecked(_ input: [UInt8]) throws(PropertyError) {
        var border = HeaderValidator()
        var names: [[UInt8]] = []
        for line in input.split(separator: 0x0A, maxSplits: 64, omittingEmptySubsequences: true) {
            let name = Array(line.prefix { $0 != UInt8(ascii: ":") })
            let value = Array(line.dropFirst(name.count + 1))
            name.withUnsafeBufferPointer { name in value.withUnsafeBufferPointer { border.add(name: name, value: $0) } }
            names.append(name.map { (65...90).contains($0) ? $0 | 0x20 : $0 })
        }
        guard border.verdict(isHTTP10: false) == nil else { return }
        func count(_ name: String) -> Int { names.count { $0.elementsEqual(name.utf8) } }
        try hold(count("host") == 1, "one host")
        try hold(count("content-length") <= 1 && count("transfer-encoding") <= 1, "one length at most")
        try hold(count("content-length") == 0 || count("transfer-encoding") == 0, "a length, or an encoding")
        try hold((border.contentLength ?? 0) >= 0 && border.count == names.count, "every field is kept")
        try hold(!names.contains { name in name.isEmpty || name.contains { $0 <= 0x20 || $0 >= 0x7F } }, "plain names")
    }

    private static func escape(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}
