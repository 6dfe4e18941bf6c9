/// Checks whether a text is in Unicode's normalization form C (UAX #15). Characters that are newer than the table count
/// as normalized.
struct Normalization: Sendable {
    private let excluded: [ClosedRange<UInt32>]
    private let classes: [UInt32: UInt8]
    private let wholes: [UInt64: UInt32]
    private let parts: [UInt32: (first: UInt32, second: UInt32)]

    static let standard = Normalization()

    private init() {
        excluded = Self.words(of: NormalizationTable.excluded).map(Self.range)
        var (classes, held): ([UInt32: UInt8], UInt8) = ([:], 0)
        for word in Self.words(of: NormalizationTable.classes) {
            if word.first == "#" {
                held = UInt8(word.dropFirst())!
            } else {
                for point in Self.range(word) { classes[point] = held }
            }
        }
        self.classes = classes
        var (wholes, second): ([UInt64: UInt32], UInt32) = ([:], 0)
        var parts: [UInt32: (first: UInt32, second: UInt32)] = [:]
        for word in Self.words(of: NormalizationTable.compositions) {
            if word.first == "+" {
                second = Self.number(word.dropFirst())
            } else {
                let sides = word.split(separator: "=")
                let (first, whole) = (Self.number(sides[0]), Self.number(sides[1]))
                wholes[Self.pair(first, second)] = whole
                parts[whole] = (first, second)
            }
        }
        self.wholes = wholes
        self.parts = parts
    }

    func isNormalized(_ text: String) -> Bool {
        let points = text.unicodeScalars.map(\.value)
        guard points.allSatisfy({ !isExcluded($0) }) else { return false }
        return composed(ordered(points.flatMap(decomposed))) == points
    }

    private func isExcluded(_ point: UInt32) -> Bool {
        var (low, high) = (0, excluded.count)
        while low < high {
            let middle = (low + high) / 2
            if excluded[middle].upperBound < point { low = middle + 1 } else { high = middle }
        }
        return low < excluded.count && excluded[low].contains(point)
    }

    // MARK: Decomposition

    private static let syllables: ClosedRange<UInt32> = 0xAC00...0xD7A3

    private func decomposed(_ point: UInt32) -> [UInt32] {
        if Self.syllables.contains(point) {
            let index = point - 0xAC00
            let tail = index % 28 == 0 ? [] : [0x11A7 + index % 28]
            return [0x1100 + index / 588, 0x1161 + index % 588 / 28] + tail
        }
        guard let (first, second) = parts[point] else { return [point] }
        return decomposed(first) + [second]
    }

    /// Marks sorted by combining class; marks of one class keep their order.
    private func ordered(_ points: [UInt32]) -> [UInt32] {
        var (ordered, marks): ([UInt32], [UInt32]) = ([], [])
        func sorted() -> [UInt32] {
            marks.enumerated().sorted { (classes[$0.element]!, $0.offset) < (classes[$1.element]!, $1.offset) }
                .map(\.element)
        }
        for point in points {
            if classes[point] != nil {
                marks.append(point)
            } else {
                ordered += sorted() + [point]
                marks = []
            }
        }
        return ordered + sorted()
    }

    // MARK: Composition

    private func composed(_ points: [UInt32]) -> [UInt32] {
        var result: [UInt32] = []
        var starter: Int?
        var last: UInt8 = 0
        for point in points {
            let held = classes[point] ?? 0
            if let starter, last < held || (last == 0 && result.count - 1 == starter),
                let whole = composed(result[starter], point)
            {
                result[starter] = whole
                continue
            }
            if held == 0 { starter = result.count }
            last = held
            result.append(point)
        }
        return result
    }

    private func composed(_ first: UInt32, _ second: UInt32) -> UInt32? {
        if (0x1100..<0x1113).contains(first), (0x1161..<0x1176).contains(second) {
            return 0xAC00 + ((first - 0x1100) * 21 + second - 0x1161) * 28
        }
        if Self.syllables.contains(first), (first - 0xAC00) % 28 == 0, (0x11A8..<0x11C3).contains(second) {
            return first + second - 0x11A7
        }
        return wholes[Self.pair(first, second)]
    }

    // MARK: The table's text

    private static func words(of text: String) -> [Substring] { text.split(separator: " ") }
    private static func number(_ text: Substring) -> UInt32 { UInt32(text, radix: 16)! }
    private static func pair(_ first: UInt32, _ second: UInt32) -> UInt64 { UInt64(first) << 32 | UInt64(second) }

    private static func range(_ text: Substring) -> ClosedRange<UInt32> {
        let ends = text.split(separator: "-").map(number)
        return ends[0]...ends[ends.count - 1]
    }
}
