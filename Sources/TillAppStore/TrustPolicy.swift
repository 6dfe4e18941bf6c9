import TillBilling

/// What a verifier believes, and what it is for. It comes from configuration, never from a proof or a client
/// (DESIGN §4, invariant 7).
public struct TrustPolicy: Sendable {
    /// Trust anchors as DER: Apple's, unless a test installation names the emulator's root.
    public var roots: [[UInt8]] = AppleRoots.all
    /// The app; nil accepts any.
    public var bundleID: String?
    /// The app's number in the App Store, asked for in production only, where Apple states it; nil accepts any.
    public var appAppleID: Int64?
    /// Environments whose purchases are accepted; nil accepts both.
    public var environments: Set<Environment>?
    /// Judge certificates at this time instead of at the proof's own.
    public var at: Instant?
    /// Hold certificates to RFC 5280's finer rules too.
    public var isStrict = false
    /// Milliseconds for which a signer's chain need not be judged again: fifteen minutes, as long as Apple's own
    /// libraries remember one (facts/jws §2).
    public var chainLifetime: Int64 = 15 * 60 * 1_000
    /// The clock effect: for proofs that state no date, and for the age of cached chains.
    public var now: @Sendable () -> Instant

    public init(
        bundleID: String?, environments: Set<Environment>?, now: @escaping @Sendable () -> Instant
    ) {
        self.bundleID = bundleID
        self.environments = environments
        self.now = now
    }
}
