import TillBilling
import TillCrypto
import TillJSON

/// The result of inspecting a proof: its kind, the verdict, all fields read from it, verified or not, and the record of
/// its checks. It is for people and scripts; nothing can be granted on it.
public struct ProofInspection: Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        case transaction = "jws-transaction"
        case renewal = "jws-renewal"
        case appTransaction = "jws-apptransaction"
        case notification = "jws-notification"
        case receipt = "pkcs7-receipt"
        case oldStyleReceipt = "old-style-receipt"
        /// A bare list of certificates, which is not a proof; only `chain(x5c:root:at:isStrict:)` returns it.
        case certificateChain = "cert-chain"
    }

    /// Damaged input counts as a notification if it has the dots of a JWS, else as a receipt.
    public var kind: Kind { record.kind }
    /// A code of `Verdict`; `ok-unverified` for a proof decoded without trust; `extract-only` for an old-style receipt
    /// whose signature is not in Apple's format.
    public var verdict: String { record.verdict }
    /// For people.
    public var detail: String { record.detail }
    /// The fields that were read before the verdict, under stable names.
    public let fields: [String: JSONValue]
    /// Each check with its input, and the certificates.
    public let record: VerificationRecord

    static let okUnverified = "ok-unverified"
    static let extractOnly = "extract-only"

    init(_ fields: [String: JSONValue], _ recorder: VerificationRecorder) {
        self.fields = fields
        record = recorder.finished()
    }

    /// Whether the proof passed every required check. False for a proof that was only decoded.
    public var isOK: Bool { record.isOK }

    /// `{"kind", "verdict", "detail", "fields", "record"}`, the output of `till verify --json`.
    public var json: JSONValue {
        [
            "kind": .string(kind.rawValue), "verdict": .string(verdict), "detail": .string(detail),
            "fields": .object(fields), "record": record.json,
        ]
    }

    /// Recognizes and checks a proof: a JWS; an app receipt as DER, PEM or base64; an old-style receipt as text or
    /// base64. White space around text is ignored.
    public static func inspect(_ bytes: [UInt8], policy: InspectionPolicy) -> ProofInspection {
        let verificationPolicy = VerificationPolicy(policy)
        func recorder(_ kind: Kind) -> VerificationRecorder { VerificationRecorder(kind: kind, input: bytes) }
        switch ProofFormat(bytes) {
        case .token(let text): return token(text, verificationPolicy, recorder(.notification))
        case .receipt(let der): return receipt(der, verificationPolicy, recorder(.receipt))
        case .oldStyleReceipt(let text): return oldStyleReceipt(text, verificationPolicy, recorder(.oldStyleReceipt))
        case .nothing(let detail):
            let recorder = recorder(.receipt)
            recorder.refuse(.parse, VerificationError(.malformed, detail))
            return ProofInspection([:], recorder)
        }
    }

    /// Checks a bare list of certificates as the `x5c` of a JWS: base64 of leaf, intermediate and any third
    /// certificate.
    ///
    /// - Parameters:
    ///   - root: base64 of the one trusted root.
    ///   - seconds: the date of verification, in seconds since 1970.
    public static func chain(x5c: [String], root: String, at seconds: Int64, isStrict: Bool) -> ProofInspection {
        let input = Array(x5c.joined(separator: "\n").utf8)
        let recorder = VerificationRecorder(kind: .certificateChain, input: input)
        var policy = InspectionPolicy { Instant(seconds: seconds) }
        // A root that is not base64 becomes an unreadable certificate.
        policy.roots = [Base64.decode(root) ?? []]
        policy.at = seconds
        policy.isStrict = isStrict
        let checks = ProofChecks(VerificationPolicy(policy), recorder: recorder)
        var fields: [String: JSONValue] = [:]
        do throws(VerificationError) {
            let date = checks.date(of: UnverifiedPayload(kind: .certificateChain), now: policy.now())
            if policy.roots == [[]] { _ = try checks.roots() }
            let chain = try checks.chain(x5c: x5c.map(JSONValue.string), at: date)
            fields["leafPublicKey"] = .string(Base64.encode(chain.leaf.publicKey?.der ?? []))
            recorder.complete()
        } catch {
            // The journal has recorded the failure.
        }
        return ProofInspection(fields, recorder)
    }
}

/// The outer form of a proof, recognized before any content is read.
enum ProofFormat {
    case token([UInt8])
    /// DER or BER.
    case receipt([UInt8])
    case oldStyleReceipt([UInt8])
    /// None of these forms; the text explains why, for people.
    case nothing(String)

    init(_ bytes: [UInt8]) {
        // The first byte of DER is also the character 0, which no JWS, and no base64 of the other forms, begins with.
        if bytes.first == 0x30, bytes.count > 1, bytes[1] & 0x80 != 0 {
            self = .receipt(bytes)
            return
        }
        // Some editors put a byte order mark before text.
        let text = ProofText.trimmed(bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes)
        if text.contains(UInt8(ascii: ".")), text.allSatisfy(Self.isTokenCharacter) {
            self = .token(text)
        } else if text.starts(with: "-----BEGIN ".utf8) {
            self = Self.armoured(text)
        } else if text.first == UInt8(ascii: "{") {
            self = .oldStyleReceipt(text)
        } else if let decoded = Base64.decode(text.filter { !ProofText.isBlank($0) }), let first = decoded.first {
            let isOldStyle = first != 0x30 && decoded.withUnsafeBufferPointer(JSONText.isUTF8)
            self = isOldStyle ? .oldStyleReceipt(decoded) : .receipt(decoded)
        } else {
            self = .nothing("the data is not DER, PEM, base64 or JWS")
        }
    }

    private static func armoured(_ text: [UInt8]) -> ProofFormat {
        // Tools write PKCS7, CMS, "PKCS #7 SIGNED DATA" and other labels; the content decides.
        let text = String(decoding: text, as: UTF8.self)
        let opening = text.prefix { !$0.isNewline }.dropFirst("-----BEGIN ".count)
        guard opening.hasSuffix("-----"), let der = PEM.decode(text, label: String(opening.dropLast(5))) else {
            return .nothing("PEM")
        }
        return .receipt(der)
    }

    private static func isTokenCharacter(_ unit: UInt8) -> Bool {
        switch unit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}

/// What an inspection (`till verify`) checks a proof against. Nil values are not checked.
public struct InspectionPolicy: Sendable {
    /// Trust anchors, DER or PEM; nil means Apple's.
    public var roots: [[UInt8]]?
    public var bundleID: String?
    public var appAppleID: Int64?
    /// `Production`, `Sandbox`, or a local one (`Xcode`, `LocalTesting`), whose proofs are decoded without trust.
    /// Servers cannot choose those: `SignedDataVerifier` supports Apple's two environments only.
    public var environment: String?
    /// Verify certificates at this second since 1970 instead of at the proof's own date.
    public var at: Int64?
    public var isStrict = false
    /// The device that a receipt must have been made for.
    public var device: [UInt8]?
    /// Whether a receipt's intermediate needs Apple's marker. False only for generated test certificates without it.
    public var requiresIntermediateMarker = true
    /// The current time, for proofs without a date.
    public var now: @Sendable () -> Instant

    public init(now: @escaping @Sendable () -> Instant) { self.now = now }

    /// Environments of proofs that a developer's own Xcode signs. Their signatures carry no trust.
    static let localEnvironments: Set<String> = ["Xcode", "LocalTesting"]

    var isLocal: Bool { environment.map(Self.localEnvironments.contains) ?? false }
    var anchors: [[UInt8]] { roots ?? AppleRoots.all }
}
