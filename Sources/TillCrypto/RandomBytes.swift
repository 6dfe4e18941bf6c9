import CTillOpenSSL
import TillThreads

/// The production source of entropy: libcrypto's generator, seeded by the kernel.
public enum RandomBytes {
    /// The generator's cost is that of a call, not that of its bytes, and every request takes sixteen.
    private static let few = 64
    private static let pool = Locked<[UInt8]>([])

    /// Bytes that no other call returns.
    public static func make(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        guard count <= few else { return draw(count) }
        return pool.withLock { pool in
            if pool.count < count { pool = draw(few * 32) }
            defer { pool.removeLast(count) }
            return Array(pool.suffix(count))
        }
    }

    private static func draw(_ count: Int) -> [UInt8] {
        clearingErrors {
            var bytes = [UInt8](repeating: 0, count: count)
            // The process cannot run safely without randomness, so a failure is fatal.
            guard RAND_bytes(&bytes, Int32(count)) == 1 else { fatalError("the system has no randomness") }
            return bytes
        }
    }
}
