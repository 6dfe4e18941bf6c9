import TillBilling
import TillCrypto

/// What is asked of a proof, in one form for servers (`TrustPolicy`) and for inspections (`InspectionPolicy`), so that
/// both hold proofs to it with the same code.
final class ProofDemands: Sendable {
    /// Nil if a configured root cannot be read.
    let trust: TrustStore?
    /// Nil accepts any app.
    let bundleID: String?
    /// Nil accepts any number.
    let appAppleID: Int64?
    let environment: EnvironmentDemand
    /// The time that certificates are judged at instead of the proof's own.
    let at: Instant?
    /// Off only for what a developer's own Xcode signs, which is decoded and believed by nobody.
    let wantsTrust: Bool
    let requiresIntermediateMarker: Bool
    /// Whether what a settlement cannot do without must be there.
    let isForSettlement: Bool
    /// Nil leaves the device unasked.
    let device: [UInt8]?
    let now: @Sendable () -> Instant

    enum EnvironmentDemand: Sendable {
        case unasked
        /// One of Apple's two that is in the set.
        case among(Set<Environment>)
        /// This very one, which may be a local test's.
        case exactly(String)

        func accepts(_ environment: String?) -> Bool {
            switch self {
            case .unasked: true
            case .among(let environments):
                environment.flatMap(Environment.init(rawValue:)).map(environments.contains) ?? false
            case .exactly(let expected): environment == expected
            }
        }

        /// Apple states the app's number in production only; a proof of an accepted sandbox has none (facts/jws §2).
        func asksForAppNumber(of environment: String?) -> Bool {
            switch self {
            case .unasked: environment == Environment.production.rawValue
            case .among(let environments):
                environments.contains(.production)
                    && !(environment == Environment.sandbox.rawValue && environments.contains(.sandbox))
            case .exactly(let expected): expected == Environment.production.rawValue
            }
        }

        /// For people.
        var words: String {
            switch self {
            case .unasked: ""
            case .among(let environments): environments.map(\.rawValue).sorted().joined(separator: ", ")
            case .exactly(let expected): expected
            }
        }
    }

    /// A server's.
    init(_ policy: TrustPolicy, trust: TrustStore, device: [UInt8]? = nil) {
        self.trust = trust
        bundleID = policy.bundleID
        appAppleID = policy.appAppleID
        var accepted = policy.environments
        #if PLANTED_MISTAKES
            if PlantedMistake.believesStatedEnvironment.isPlanted { accepted = nil }
        #endif
        environment = .among(accepted ?? [.production, .sandbox])
        at = policy.at
        wantsTrust = true
        requiresIntermediateMarker = true
        isForSettlement = true
        self.device = device
        now = policy.now
    }

    /// An inspection's.
    init(_ policy: InspectionPolicy) {
        trust = SignedDataVerifier.trustStore(roots: policy.anchors, isStrict: policy.isStrict)
        bundleID = policy.bundleID
        appAppleID = policy.appAppleID
        environment = policy.environment.map(EnvironmentDemand.exactly) ?? .unasked
        at = policy.at.map { Instant(seconds: $0) }
        wantsTrust = !policy.isLocal
        requiresIntermediateMarker = policy.requiresIntermediateMarker
        isForSettlement = false
        device = policy.device
        now = policy.now
    }

    /// The same demands of a token inside a notification, which must be of the notification's app and environment.
    init(_ outer: ProofDemands, inside claims: ProofClaims) {
        trust = outer.trust
        bundleID = outer.bundleID ?? claims.bundleID
        appAppleID = outer.appAppleID
        environment = claims.environment.map(EnvironmentDemand.exactly) ?? outer.environment
        at = outer.at
        wantsTrust = outer.wantsTrust
        requiresIntermediateMarker = outer.requiresIntermediateMarker
        isForSettlement = outer.isForSettlement
        device = outer.device
        now = outer.now
    }
}

/// What a proof says of itself that the checks look at. It is believed no sooner than its signature.
struct ProofClaims {
    var kind: ProofInspection.Kind
    var bundleID: String?
    var appAppleID: Int64?
    /// `Production`, `Sandbox`, a local test's, or what Apple adds.
    var environment: String?
    /// When the certificates had to be valid; nil if it says nothing.
    var date: Instant?
    var dateSource = VerificationRecord.JudgedAt.Source.signedDate

    var statesApp: Bool { kind != .renewal }
    var statesAppNumber: Bool { kind == .notification || kind == .appTransaction }
}
