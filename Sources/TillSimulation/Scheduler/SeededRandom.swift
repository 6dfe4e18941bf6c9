/// FNV-1a: the same number for the same bytes in every process.
enum Fingerprint {
    static func of(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same decisions for the same seed in every process.
public struct SeededRandom: Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    /// A separate stream for a part of the world, so that its decisions do not depend on how often other parts draw.
    public init(seed: UInt64, stream: String) {
        var mixed = SeededRandom(seed: seed ^ Fingerprint.of(stream.utf8))
        state = mixed.next()
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    /// 0 up to but not including `limit`, which is at least 1.
    public mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(1, limit))) }

    public mutating func chance(_ probability: Double) -> Bool {
        Double(next() >> 11) / Double(1 << 53) < probability
    }

    public mutating func between(_ low: Int64, _ high: Int64) -> Int64 {
        low + Int64(next() % UInt64(max(1, high - low + 1)))
    }

    public mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }

    /// One of the values, with a probability proportional to its weight.
    public mutating func weighted<Value>(_ values: [(Value, Int)]) -> Value {
        var rest = below(values.reduce(0) { $0 + $1.1 })
        for (value, weight) in values {
            if rest < weight { return value }
            rest -= weight
        }
        return values[values.count - 1].0
    }

    public mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count { withUnsafeBytes(of: next().littleEndian) { bytes.append(contentsOf: $0) } }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
