/// Counts combining marks in a row, of which no text in use has more than thirty: Unicode's Stream-Safe Text Format
/// (UAX #15 §13).
///
/// Swift compares and hashes texts in their canonical order, and puts a run of marks into that order in quadratic time:
/// one key of 160 KB took half a minute. So a longer run is refused where texts come in, before anybody compares them.
package struct CombiningRun {
    static let limit = 30

    private var length = 0

    /// False if this is one mark too many.
    mutating func takes(_ scalar: Unicode.Scalar) -> Bool {
        length = Self.isMark(scalar) ? length + 1 : 0
        return length <= Self.limit
    }

    package static func isBounded(_ scalars: some Sequence<Unicode.Scalar>) -> Bool {
        var run = CombiningRun()
        return scalars.allSatisfy { run.takes($0) }
    }

    /// Marks by their class, and the three that are none but fall apart into two.
    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x300: false
        case 0xF73, 0xF75, 0xF81: true
        default: scalar.properties.canonicalCombiningClass != .notReordered
        }
    }

    /// Whether a byte of UTF-8 may begin a mark. Chinese does without: nothing from U+4000 to U+9FFF is one.
    static func mayBegin(at unit: UInt8) -> Bool { unit >= 0xCC && !(0xE4...0xE9).contains(unit) }
}
