import CTillOpenSSL

/// The real implementation of the entropy effect (DESIGN §5): libcrypto's generator, seeded by the kernel.
public enum RandomBytes {
    public static func make(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        return clearingErrors {
            var bytes = [UInt8](repeating: 0, count: count)
            // Without randomness nothing that follows would be safe, so there is nothing to recover to.
            guard RAND_bytes(&bytes, Int32(count)) == 1 else { fatalError("the system has no randomness") }
            return bytes
        }
    }
}
