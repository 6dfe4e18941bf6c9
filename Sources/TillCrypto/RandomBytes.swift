import CTillOpenSSL

/// The production source of entropy: libcrypto's generator, seeded by the kernel.
public enum RandomBytes {
    public static func make(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        return clearingErrors {
            var bytes = [UInt8](repeating: 0, count: count)
            // The process cannot run safely without randomness, so a failure is fatal.
            guard RAND_bytes(&bytes, Int32(count)) == 1 else { fatalError("the system has no randomness") }
            return bytes
        }
    }
}
