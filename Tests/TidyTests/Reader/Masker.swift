/// Reads a Swift file byte by byte and sorts each byte into code, comment or the inside of a literal.
struct Masker {
    let bytes: [UInt8]
    private(set) var code: [UInt8]
    private(set) var comments: [UInt8]
    private var position = 0
    /// The last byte of code other than white space: it decides whether a `/` may begin a regex literal.
    private var lastSign: UInt8 = UInt8(ascii: "\n")

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        let blank = bytes.map { $0 == UInt8(ascii: "\n") ? $0 : UInt8(ascii: " ") }
        code = blank
        comments = blank
    }

    mutating func run() {
        while position < bytes.count {
            readCode(inInterpolation: false)
            // An extra closing parenthesis: the file does not compile, but the rest of it is still code.
            keep()
        }
    }

    /// Reads to the end, or in an interpolation to the parenthesis that closes it.
    private mutating func readCode(inInterpolation: Bool) {
        var depth = 0
        while position < bytes.count {
            let byte = bytes[position]
            if byte != UInt8(ascii: "/"), byte != UInt8(ascii: "\""), byte != UInt8(ascii: "#") {
                if inInterpolation, byte == UInt8(ascii: "(") { depth += 1 }
                if inInterpolation, byte == UInt8(ascii: ")") {
                    if depth == 0 { return }
                    depth -= 1
                }
                keep()
            } else if starts("//") {
                readLineComment()
            } else if starts("/*") {
                readBlockComment()
            } else if let opening = stringOpening() {
                readString(opening)
            } else if let end = regexEnd() {
                position = end
                lastSign = UInt8(ascii: "/")
            } else {
                keep()
            }
        }
    }

    private mutating func readLineComment() {
        while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { keepAsComment() }
    }

    /// Block comments nest.
    private mutating func readBlockComment() {
        var depth = 0
        repeat {
            if starts("/*") {
                depth += 1
                keepAsComment()
            } else if starts("*/") {
                depth -= 1
                keepAsComment()
            }
            keepAsComment()
        } while depth > 0 && position < bytes.count
    }

    private struct StringOpening {
        let hashes: Int
        let isMultiLine: Bool
    }

    private func stringOpening() -> StringOpening? {
        let hashes = count(of: "#", at: position)
        guard at(position + hashes) == UInt8(ascii: "\"") else { return nil }
        let quotes = count(of: "\"", at: position + hashes)
        // `#"""#` is one quote inside a raw string; a multi-line string breaks the line after its three quotes.
        let isMultiLine = quotes >= 3 && isLineEnd(position + hashes + 3)
        return StringOpening(hashes: hashes, isMultiLine: isMultiLine)
    }

    private mutating func readString(_ opening: StringOpening) {
        let quotes = opening.isMultiLine ? 3 : 1
        for _ in 0..<opening.hashes + quotes { keep() }
        while position < bytes.count {
            if isClosing(opening, quotes: quotes) {
                for _ in 0..<quotes + opening.hashes { keep() }
                return
            }
            if bytes[position] == UInt8(ascii: "\n"), !opening.isMultiLine { return }
            if bytes[position] == UInt8(ascii: "\\"), count(of: "#", at: position + 1) >= opening.hashes {
                position += 1 + opening.hashes
                if at(position) == UInt8(ascii: "(") {
                    keep()
                    readCode(inInterpolation: true)
                    keep()
                } else if at(position) != UInt8(ascii: "\n") {
                    position += 1
                }
            } else {
                position += 1
            }
        }
    }

    private func isClosing(_ opening: StringOpening, quotes: Int) -> Bool {
        count(of: "\"", at: position) >= quotes && count(of: "#", at: position + quotes) >= opening.hashes
    }

    /// The end of the regex literal that begins here: `#/…/#` always, `/…/` only where a division can't stand.
    private func regexEnd() -> Int? {
        let hashes = count(of: "#", at: position)
        guard at(position + hashes) == UInt8(ascii: "/") else { return nil }
        if hashes == 0 {
            let beforeALiteral = Array("\n(,=:[{;!&|?>".utf8).contains(lastSign)
            let next = at(position + 1)
            guard beforeALiteral, next != UInt8(ascii: " "), next != UInt8(ascii: ")") else { return nil }
        }
        var end = position + hashes + 1
        while end < bytes.count, hashes > 0 || bytes[end] != UInt8(ascii: "\n") {
            if bytes[end] == UInt8(ascii: "\\") {
                end += 2
            } else if bytes[end] == UInt8(ascii: "/"), count(of: "#", at: end + 1) >= hashes {
                return end + 1 + hashes
            } else {
                end += 1
            }
        }
        return nil
    }

    // MARK: Bytes

    private mutating func keep() {
        guard position < bytes.count else { return }
        let byte = bytes[position]
        code[position] = byte
        if byte != UInt8(ascii: " "), byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\t") { lastSign = byte }
        position += 1
    }

    private mutating func keepAsComment() {
        guard position < bytes.count else { return }
        comments[position] = bytes[position]
        position += 1
    }

    private func at(_ index: Int) -> UInt8? { index < bytes.count ? bytes[index] : nil }

    private func starts(_ text: StaticString) -> Bool {
        (0..<text.utf8CodeUnitCount).allSatisfy { at(position + $0) == text.utf8Start[$0] }
    }

    private func count(of sign: Unicode.Scalar, at index: Int) -> Int {
        var end = index
        while at(end) == UInt8(ascii: sign) { end += 1 }
        return end - index
    }

    private func isLineEnd(_ index: Int) -> Bool {
        var end = index
        while at(end) == UInt8(ascii: " ") || at(end) == UInt8(ascii: "\r") { end += 1 }
        return at(end) == nil || at(end) == UInt8(ascii: "\n")
    }
}
