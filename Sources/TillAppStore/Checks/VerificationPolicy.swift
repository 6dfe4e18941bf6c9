import TillBilling
import TillCrypto

/// The requirements a proof must meet, in one form for servers (`TrustPolicy`) and for inspections
/// (`InspectionPolicy`), so that the same code checks both.
final class VerificationPolicy: Sendable {
    /// Nil if a configured root cannot be read.
    let trust: TrustStore?
    /// If there are any, tokens must be signed by one of these certificates alone, and the roots do not count.
    let testCertificates: [[UInt8]]
    /// Nil accepts any app.
    let bundleID: String?
    /// Nil accepts any number.
    let appAppleID: Int64?
    let environment: EnvironmentRequirement
    /// The time at which certificates are verified, instead of the proof's own.
    let at: Instant?
    /// False only for proofs signed by a developer's own Xcode, which are decoded and never trusted.
    let requiresTrust: Bool
    let requiresIntermediateMarker: Bool
    /// Whether the fields that processing a purchase needs must be present.
    let isForGranting: Bool
    /// Nil skips the check of the device.
    let device: [UInt8]?
    let now: @Sendable () -> Instant

    enum EnvironmentRequirement: Sendable {
        case any
        /// One of the environments in the set.
        case among(Set<StoreEnvironment>)
        /// Exactly this environment, which may be a local test's.
        case exactly(String)

        func accepts(_ environment: String?) -> Bool {
            switch self {
            case .any: true
            case .among(let environments):
                environment.flatMap(StoreEnvironment.init(rawValue:)).map(environments.contains) ?? false
            case .exactly(let expected): environment == expected
            }
        }

        /// Apple states the app's number in production only; a proof from an accepted sandbox has none (facts/jws §2).
        func requiresAppNumber(of environment: String?) -> Bool {
            switch self {
            case .any: environment == StoreEnvironment.production.rawValue
            case .among(let environments):
                environments.contains(.production)
                    && !(environment == StoreEnvironment.sandbox.rawValue && environments.contains(.sandbox))
            case .exactly(let expected): expected == StoreEnvironment.production.rawValue
            }
        }

        /// For people.
        var text: String {
            switch self {
            case .any: ""
            case .among(let environments): environments.map(\.rawValue).sorted().joined(separator: ", ")
            case .exactly(let expected): expected
            }
        }
    }

    /// The requirements of a server.
    init(_ policy: TrustPolicy, trust: TrustStore, device: [UInt8]? = nil) {
        self.trust = trust
        testCertificates = policy.environments == [.xcode] ? policy.testCertificates : []
        bundleID = policy.bundleID
        appAppleID = policy.appAppleID
        var accepted = policy.environments
        #if PLANTED_MISTAKES
            if PlantedMistake.trustsStatedEnvironment.isPlanted { accepted = nil }
        #endif
        environment = .among(accepted ?? [.production, .sandbox])
        at = policy.at
        requiresTrust = true
        requiresIntermediateMarker = true
        isForGranting = true
        self.device = device
        now = policy.now
    }

    /// The requirements of an inspection.
    init(_ policy: InspectionPolicy) {
        trust = SignedDataVerifier.trustStore(roots: policy.anchors, isStrict: policy.isStrict)
        testCertificates = []
        bundleID = policy.bundleID
        appAppleID = policy.appAppleID
        environment = policy.environment.map(EnvironmentRequirement.exactly) ?? .any
        at = policy.at.map { Instant(seconds: $0) }
        requiresTrust = !policy.isLocal
        requiresIntermediateMarker = policy.requiresIntermediateMarker
        isForGranting = false
        device = policy.device
        now = policy.now
    }

    /// The requirements of a token inside a notification, which must belong to the notification's app and environment.
    init(_ outer: VerificationPolicy, inside unverified: UnverifiedPayload) {
        trust = outer.trust
        testCertificates = outer.testCertificates
        bundleID = outer.bundleID ?? unverified.bundleID
        appAppleID = outer.appAppleID
        environment = unverified.environment.map(EnvironmentRequirement.exactly) ?? outer.environment
        at = outer.at
        requiresTrust = outer.requiresTrust
        requiresIntermediateMarker = outer.requiresIntermediateMarker
        isForGranting = outer.isForGranting
        device = outer.device
        now = outer.now
    }
}

/// The fields of a proof that the checks read. They are untrusted until the signature is verified.
struct UnverifiedPayload {
    var kind: ProofInspection.Kind
    var bundleID: String?
    var appAppleID: Int64?
    /// `Production`, `Sandbox`, a local test's, or a value that Apple adds later.
    var environment: String?
    /// The date at which the certificates must be valid; nil if the proof states none.
    var date: Instant?
    var dateSource = VerificationRecord.VerificationDate.Source.signedDate

    var hasApp: Bool { kind != .renewal }
    var hasAppNumber: Bool { kind == .notification || kind == .appTransaction }
}
