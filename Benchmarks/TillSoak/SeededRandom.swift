/// Random numbers from a seed (SplitMix64), so that the soak's own decisions are reproducible. The behaviour of
/// processes and sockets is not.
struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// - Parameter player: each player has its own sequence, independent of the others' use.
    init(seed: UInt64, player: String) {
        // FNV-1a, because the standard library's hash differs between processes.
        state = player.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func occurs(_ chance: Double) -> Bool { Double.random(in: 0..<1, using: &self) < chance }

    mutating func pick<Value>(_ values: [Value]) -> Value? { values.randomElement(using: &self) }

    /// A random duration; the range is in seconds.
    mutating func duration(_ range: ClosedRange<Double>) -> Duration {
        .milliseconds(Int(Double.random(in: range, using: &self) * 1_000))
    }
}
