/// A length of time as a person writes it: `30d`, `90s`, `12h`, `1d12h`.
public struct Span: Sendable, Hashable {
    /// Never negative, and a hundred years at most.
    public let milliseconds: Int64

    /// A hundred years: what a journey of the clock may take.
    public static let longest = Span(unchecked: 36_525 * 86_400_000)

    private init(unchecked milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Nil for less than nothing, and for more than ``longest``.
    public init?(milliseconds: Int64) {
        guard (0...Self.longest.milliseconds).contains(milliseconds) else { return nil }
        self.milliseconds = milliseconds
    }

    /// Largest first. A month is none of them: it has no length of its own.
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("w", 7 * 86_400_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1),
    ]

    /// Whole numbers, each with its unit (`w`, `d`, `h`, `m`, `s`, `ms`), the largest unit first and each once. Nil for
    /// anything else, and for more than ``longest``.
    public init?(_ text: String) {
        guard (2...40).contains(text.utf8.count) else { return nil }
        var rest = text.utf8[...]
        var units = Self.units[...]
        var total: Int64 = 0
        while !rest.isEmpty {
            let digits = rest.prefix { (48...57).contains($0) }
            rest = rest.dropFirst(digits.count)
            let name = rest.prefix { !(48...57).contains($0) }
            rest = rest.dropFirst(name.count)
            guard let count = Int64(Substring(digits)),
                let index = units.firstIndex(where: { $0.name.utf8.elementsEqual(name) })
            else { return nil }
            let part = count.multipliedReportingOverflow(by: units[index].milliseconds)
            let sum = total.addingReportingOverflow(part.partialValue)
            guard !part.overflow, !sum.overflow else { return nil }
            total = sum.partialValue
            units = units[(index + 1)...]
        }
        self.init(milliseconds: total)
    }
}
