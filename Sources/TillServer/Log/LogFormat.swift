import TillBilling
import TillLedger

/// The form of a log line.
public enum LogFormat: String, Sendable, CaseIterable {
    /// `2026-03-01T08:30:00.123Z INFO request method=GET …`, for a person at a terminal.
    case text
    /// One JSON object, for a collector.
    case json
}

/// Writes lines as bytes. Values may come from outside: a line stays one line, and nothing in it controls a terminal.
struct LineFormatter {
    let format: LogFormat
    /// The text of the current second: formatting a date costs more than the rest of a short line.
    private var second: (number: Int64, text: [UInt8]) = (.min, [])

    /// Bytes of one text. Longer ones are cut: a cause is a sentence, not a document.
    static let textLimit = 600

    init(_ format: LogFormat) { self.format = format }

    mutating func append(_ line: Log.Line, at now: Instant, to bytes: inout [UInt8]) {
        switch format {
        case .json: appendJSON(line, at: now, to: &bytes)
        case .text: appendText(line, at: now, to: &bytes)
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    private mutating func appendJSON(_ line: Log.Line, at now: Instant, to bytes: inout [UInt8]) {
        bytes.append(constant: #"{"ts":""#)
        appendTime(now, to: &bytes)
        bytes.append(constant: #"","level":""#)
        bytes.append(text: line.event.level.rawValue)
        bytes.append(constant: #"","event":""#)
        bytes.append(text: line.event.rawValue)
        bytes.append(UInt8(ascii: "\""))
        Self.eachMember(of: line) { name, value in
            bytes.append(constant: #",""#)
            bytes.append(text: name)
            bytes.append(constant: #"":"#)
            switch value {
            case .text(let text):
                bytes.append(UInt8(ascii: "\""))
                LineText.append(text, escapes: .json, to: &bytes)
                bytes.append(UInt8(ascii: "\""))
            case .decimal(let number) where !number.isFinite: bytes.append(constant: "null")
            default: bytes.append(text: Self.plain(value))
            }
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func appendText(_ line: Log.Line, at now: Instant, to bytes: inout [UInt8]) {
        appendTime(now, to: &bytes)
        bytes.append(UInt8(ascii: " "))
        bytes.append(text: line.event.level.rawValue.uppercased())
        bytes.append(UInt8(ascii: " "))
        bytes.append(text: line.event.rawValue)
        Self.eachMember(of: line) { name, value in
            bytes.append(UInt8(ascii: " "))
            bytes.append(text: name)
            bytes.append(UInt8(ascii: "="))
            guard case .text(let text) = value else { return bytes.append(text: Self.plain(value)) }
            let isWord = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"\\=".utf8.contains($0) }
            if !isWord { bytes.append(UInt8(ascii: "\"")) }
            LineText.append(text, escapes: .text, to: &bytes)
            if !isWord { bytes.append(UInt8(ascii: "\"")) }
        }
    }

    private static func eachMember(of line: Log.Line, _ body: (_ name: String, _ value: Log.Value) -> Void) {
        // Read where they are: a loop over the array counts references to each.
        line.fields.withUnsafeBufferPointer { fields in
            for index in fields.indices { body(fields[index].name, fields[index].value) }
        }
        guard let request = line.request else { return }
        body("requestId", .text(request.requestID))
        if let traceID = request.traceID { body("traceId", .text(traceID)) }
    }

    private static func plain(_ value: Log.Value) -> String {
        switch value {
        case .text(let text): text
        case .integer(let number): String(number)
        case .decimal(let number): String(number)
        case .bool(let bool): bool ? "true" : "false"
        }
    }

    private mutating func appendTime(_ now: Instant, to bytes: inout [UInt8]) {
        let number = now.seconds
        if second.number != number {
            second = (number, Array(Instant(seconds: number).rfc3339.utf8.dropLast(4)))
        }
        bytes += second.text
        let fraction = Int(now.milliseconds - number * 1_000)
        for divisor in [100, 10, 1] { bytes.append(UInt8(ascii: "0") + UInt8(fraction / divisor % 10)) }
        bytes.append(UInt8(ascii: "Z"))
    }
}

extension [UInt8] {
    /// Appends a constant of the program; `+=` with a string's `utf8` costs several times as much.
    fileprivate mutating func append(constant text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    fileprivate mutating func append(text: String) {
        if text.utf8.withContiguousStorageIfAvailable({ append(contentsOf: $0) }) == nil { self += text.utf8 }
    }
}

/// Escapes texts in lines.
enum LineText {
    enum Escapes {
        /// `\n`, `\u001b`
        case json
        /// `\n`, `\u{1b}`
        case text
    }

    static func append(_ text: String, escapes: Escapes, to bytes: inout [UInt8]) {
        var text = text
        let isPlain = text.withUTF8 { buffer in
            guard buffer.count <= LineFormatter.textLimit else { return false }
            for byte in buffer where byte < 0x20 || byte >= 0x7F || byte == 0x22 || byte == 0x5C { return false }
            bytes.append(contentsOf: buffer)
            return true
        }
        guard !isPlain else { return }
        var length = 0
        for scalar in text.unicodeScalars {
            length += UTF8.width(scalar)
            guard length <= LineFormatter.textLimit else {
                bytes += "…".utf8
                return
            }
            append(scalar, escapes, to: &bytes)
        }
    }

    private static func append(_ scalar: Unicode.Scalar, _ escapes: Escapes, to bytes: inout [UInt8]) {
        switch scalar {
        case "\"", "\\":
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(UInt8(scalar.value))
        case "\n": bytes += "\\n".utf8
        case "\r": bytes += "\\r".utf8
        case "\t": bytes += "\\t".utf8
        case _ where isControl(scalar):
            let digits = String(scalar.value, radix: 16)
            switch escapes {
            case .text: bytes += "\\u{\(digits)}".utf8
            case .json: bytes += ("\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits).utf8
            }
        default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        }
    }

    /// Controls of terminals, line ends of Unicode, and marks that change the order in which text is shown.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}
