import CTillOpenSSL

/// Seeds OpenSSL's own randomness: the same seed yields the same keys and signatures, and so the same lengths of
/// everything that contains one.
///
/// For processes that do nothing else: OpenSSL has one source of randomness for all of its threads, and this one
/// supports a single thread only.
public enum SeededSignatures {
    /// A global, because OpenSSL's callbacks carry no context; touched by a single thread only.
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
