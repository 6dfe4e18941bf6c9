/// What chance says about one request. A pure function of the seed, the endpoint and which of its requests it is, so
/// that neither other endpoints nor other dials, nor who asks when, change what strikes.
struct Dice {
    private let state: UInt64

    /// - Parameters:
    ///   - start: how often the store was opened before with this seed.
    ///   - stream: what the requests are counted in, an endpoint's name as a rule.
    ///   - number: which of them, from 1.
    init(seed: Int64, start: Int64, stream: String, number: Int64) {
        var state = UInt64(bitPattern: seed)
        for word in [UInt64(bitPattern: start), Self.word(stream), UInt64(bitPattern: number)] {
            state = Self.mixed(state ^ word)
        }
        self.state = state
    }

    /// A number from 0 up to, and without, 1.
    func roll(_ name: String) -> Double {
        Double(Self.mixed(state ^ Self.word(name)) >> 11) / Double(UInt64(1) << 53)
    }

    func number(_ name: String, in range: ClosedRange<Int64>) -> Int64 {
        let (width, overflows) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
        guard !overflows, width < .max else { return range.lowerBound }
        return range.lowerBound + min(Int64(roll(name) * Double(width + 1)), width)
    }

    func choice<Value>(_ name: String, of values: [Value]) -> Value? {
        values.isEmpty ? nil : values[Int(number(name, in: 0...Int64(values.count - 1)))]
    }

    /// One step of SplitMix64 (Steele, Lea and Flood, 2014): neighbouring numbers come out unlike each other.
    private static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// FNV-1a: the same in every process, which Swift's own hashes are not.
    private static func word(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
