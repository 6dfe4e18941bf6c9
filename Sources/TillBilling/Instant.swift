/// A moment in milliseconds since 1970-01-01T00:00:00Z, as Apple counts them. Always UTC.
public struct Instant: Hashable, Comparable, Sendable {
    public let milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Values out of range become the nearest representable moment: dates come from outside and must not trap.
    public init(seconds: Int64) {
        self.init(milliseconds: Self.saturating(seconds.multipliedReportingOverflow(by: 1_000), seconds))
    }

    /// Whole seconds, rounded down.
    public var seconds: Int64 { Self.floored(milliseconds, by: 1_000).quotient }

    public static func < (left: Instant, right: Instant) -> Bool { left.milliseconds < right.milliseconds }

    public func adding(milliseconds more: Int64) -> Instant {
        Instant(milliseconds: Self.saturating(milliseconds.addingReportingOverflow(more), more))
    }

    public func adding(seconds more: Int64) -> Instant { adding(milliseconds: Instant(seconds: more).milliseconds) }

    private static func saturating(_ result: (partialValue: Int64, overflow: Bool), _ sign: Int64) -> Int64 {
        result.overflow ? (sign < 0 ? .min : .max) : result.partialValue
    }

    private static func floored(_ value: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    /// `2026-03-01T08:30:00.123Z`: RFC 3339, UTC, always with milliseconds.
    public var rfc3339: String {
        let (day, remainder) = Self.floored(milliseconds, by: 86_400_000)
        let rest = Int(remainder)
        let date = CivilDate(daysSinceEpoch: Int(day))
        if (0...9_999).contains(date.year) { return Self.text(of: date, rest) }
        func padded(_ value: Int, _ width: Int) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
        }
        let time = "\(padded(rest / 3_600_000, 2)):\(padded(rest / 60_000 % 60, 2)):\(padded(rest / 1_000 % 60, 2))"
        let calendarDay = "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
        return "\(calendarDay)T\(time).\(padded(rest % 1_000, 3))Z"
    }

    /// Without texts for the parts: answers and events contain many dates.
    private static func text(of date: CivilDate, _ rest: Int) -> String {
        String(unsafeUninitializedCapacity: 24) { text in
            var end = 0
            func append(_ value: Int, _ width: Int, _ separator: Unicode.Scalar) {
                var value = value
                for place in (end..<(end + width)).reversed() {
                    text[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10)
                    value /= 10
                }
                text[end + width] = UInt8(ascii: separator)
                end += width + 1
            }
            append(date.year, 4, "-")
            append(date.month, 2, "-")
            append(date.day, 2, "T")
            append(rest / 3_600_000, 2, ":")
            append(rest / 60_000 % 60, 2, ":")
            append(rest / 1_000 % 60, 2, ".")
            append(rest % 1_000, 3, "Z")
            return end
        }
    }

    /// Parses RFC 3339 with `Z` or a numeric offset (`+03:00` or `+0300`), with or without a fraction of a second. Nil
    /// for any other text.
    public init?(rfc3339 text: some StringProtocol) {
        var reader = DigitReader(Array(text.utf8))
        guard let year = reader.digits(4), reader.take("-"), let month = reader.digits(2), reader.take("-"),
            let day = reader.digits(2), reader.take("T") || reader.take("t") || reader.take(" "),
            let hour = reader.digits(2), reader.take(":"), let minute = reader.digits(2), reader.take(":"),
            let second = reader.digits(2), hour < 24, minute < 60, second <= 60,
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        var fraction = 0
        if reader.take(".") {
            guard let thousandths = reader.fraction() else { return nil }
            fraction = thousandths
        }
        var offset = 0
        if !(reader.take("Z") || reader.take("z")) {
            let sign = reader.take("+") ? 1 : reader.take("-") ? -1 : 0
            guard sign != 0, let hours = reader.digits(2) else { return nil }
            _ = reader.take(":")
            guard let minutes = reader.digits(2), hours < 24, minutes < 60 else { return nil }
            offset = sign * (hours * 60 + minutes) * 60
        }
        guard reader.isAtEnd else { return nil }
        let total = date.daysSinceEpoch * 86_400 + hour * 3_600 + minute * 60 + second - offset
        self.init(milliseconds: Int64(total) * 1_000 + Int64(fraction))
    }
}

extension Instant: CustomStringConvertible {
    public var description: String { rfc3339 }
}

extension Instant: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let instant = Instant(rfc3339: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an RFC 3339 time")
        }
        self = instant
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rfc3339)
    }
}

private struct DigitReader {
    private let units: [UInt8]
    private var position = 0

    init(_ units: [UInt8]) { self.units = units }

    var isAtEnd: Bool { position == units.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < units.count, units[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func digits(_ count: Int) -> Int? {
        guard position + count <= units.count else { return nil }
        var value = 0
        for unit in units[position..<position + count] {
            guard (48...57).contains(unit) else { return nil }
            value = value * 10 + Int(unit - 48)
        }
        position += count
        return value
    }

    /// Digits of a fraction, as thousandths; further digits are dropped.
    mutating func fraction() -> Int? {
        var value = 0
        var count = 0
        while position < units.count, (48...57).contains(units[position]) {
            if count < 3 { value = value * 10 + Int(units[position] - 48) }
            count += 1
            position += 1
        }
        guard count > 0, count <= 12 else { return nil }
        for _ in min(count, 3)..<3 { value *= 10 }
        return value
    }
}
