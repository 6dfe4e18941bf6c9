import CTillOpenSSL

/// OpenSSL's own randomness, seeded: keys and signatures come out the same for a seed, and so does the length of
/// everything that has one inside (DESIGN §5).
///
/// For a process that does nothing else: OpenSSL has one source of randomness for all of its threads, and this one may
/// be used by a single thread only.
public enum SeededSignatures {
    /// Read by OpenSSL's calls, which bring nothing along that could hold it.
    private nonisolated(unsafe) static var random = SeededRandom(seed: 0)
    private nonisolated(unsafe) static var isInstalled = false

    public static func begin(seed: UInt64) {
        random = SeededRandom(seed: seed, stream: "openssl")
        guard !isInstalled else { return }
        isInstalled = true
        till_take_randomness_from { buffer, count in SeededSignatures.fill(buffer, count) }
    }

    private static func fill(_ buffer: UnsafeMutablePointer<UInt8>?, _ count: Int32) -> Int32 {
        guard let buffer, count > 0 else { return 1 }
        for (index, byte) in random.bytes(Int(count)).enumerated() { buffer[index] = byte }
        return 1
    }
}
