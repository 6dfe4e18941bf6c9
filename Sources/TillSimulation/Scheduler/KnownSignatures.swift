import CTillOpenSSL

/// The ECDSA signatures that this world's programs have made or found valid. A check of one of them needs no
/// arithmetic: the same key, digest and signature give the same result. Every other signature, such as a forged one, is
/// checked.
///
/// For processes that do nothing else, like `SeededSignatures`.
enum KnownSignatures {
    /// A global, because OpenSSL's callbacks carry no context; touched by a single thread only.
    private nonisolated(unsafe) static var known: Set<[UInt8]> = []
    private nonisolated(unsafe) static var isInstalled = false

    /// Forgets those of the world before, so that no world depends on another.
    static func begin() {
        known = []
        guard !isInstalled else { return }
        isInstalled = true
        till_remember_signatures(
            till_known_signatures(
                contain: { bytes, count in KnownSignatures.contain(bytes, count) ? 1 : 0 },
                insert: { bytes, count in KnownSignatures.insert(bytes, count) }))
    }

    private static func contain(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Bool {
        known.contains(Array(UnsafeBufferPointer(start: bytes, count: count)))
    }

    private static func insert(_ bytes: UnsafePointer<UInt8>?, _ count: Int) {
        known.insert(Array(UnsafeBufferPointer(start: bytes, count: count)))
    }
}
