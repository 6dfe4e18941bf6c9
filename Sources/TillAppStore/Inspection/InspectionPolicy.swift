import TillBilling

/// What an inspection (`till verify`) checks a proof against. Whatever is nil is not checked.
public struct InspectionPolicy: Sendable {
    /// Trust anchors, DER or PEM; nil means Apple's.
    public var roots: [[UInt8]]?
    public var bundleID: String?
    public var appAppleID: Int64?
    /// `Production`, `Sandbox`, or a local one (`Xcode`, `LocalTesting`), under which proofs are decoded without any
    /// trust. No server has that choice: `SignedDataVerifier` knows Apple's two environments only.
    public var environment: String?
    /// Judge certificates at this second since 1970 instead of at the proof's own date.
    public var at: Int64?
    public var isStrict = false
    /// The device a receipt must have been made for.
    public var device: [UInt8]?
    /// Whether a receipt's intermediate needs Apple's marker. Off only for generated test certificates without it.
    public var requiresIntermediateMarker = true
    /// The clock effect, for proofs without a date.
    public var now: @Sendable () -> Instant

    public init(now: @escaping @Sendable () -> Instant) { self.now = now }

    /// Environments of proofs that a developer's own Xcode signs, which anybody can make.
    static let localEnvironments: Set<String> = ["Xcode", "LocalTesting"]

    var isLocal: Bool { environment.map(Self.localEnvironments.contains) ?? false }
    var anchors: [[UInt8]] { roots ?? AppleRoots.all }
}
