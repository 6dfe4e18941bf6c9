import TillBilling
import TillCrypto
import TillJSON

/// Everything a verification did, for people who investigate a verdict: the input, each check in order with its input,
/// the certificates and the date at which they were verified. Nothing can be granted on it.
public struct VerificationRecord: Equatable, Sendable {
    public internal(set) var kind: ProofInspection.Kind
    /// The length of the input, in bytes.
    public let size: Int
    /// The SHA-256 of the input, 32 bytes.
    public let sha256: [UInt8]
    /// A code of `Verdict`, or `ok-unverified` or `extract-only` (see `ProofInspection.verdict`); `not-verified` for a
    /// token inside a notification that was refused before the token was checked.
    public internal(set) var verdict = Verdict.ok.rawValue
    /// What failed, for people.
    public internal(set) var detail = ""
    /// The date at which the certificates had to be valid; nil if no date was determined.
    public internal(set) var verifiedAt: VerificationDate?
    /// Every check of the kind, once each, in order.
    public internal(set) var checks: [Check] = []
    /// The chain from signer to root if one was found, else the readable certificates of the proof.
    public internal(set) var certificates: [CertificateRecord] = []
    /// The tokens inside a notification, with their own checks.
    public internal(set) var nested: [Nested] = []
    /// The unsigned lines of an old-style receipt, which decide nothing.
    public internal(set) var unsigned: [String: String] = [:]

    /// A date, and its source.
    public struct VerificationDate: Equatable, Sendable {
        public enum Source: String, Sendable {
            /// The payload's own `signedDate`.
            case signedDate
            /// An app transaction's `receiptCreationDate`.
            case receiptCreationDate
            /// An app receipt's attribute 12.
            case receiptAttribute = "receipt-attribute-12"
            /// An old-style receipt's purchase date: reported, not verified.
            case purchaseDate
            /// The policy sets it (`--at`).
            case policy
            /// The proof states none, so the current time is used.
            case now
        }

        public let instant: Instant
        public let source: Source
    }

    public struct Check: Equatable, Sendable {
        public let code: CheckCode
        public internal(set) var outcome: Outcome
        /// SHA-256 of the checked bytes; nil if the check has no bytes or was not reached.
        public internal(set) var inputSHA256: [UInt8]?
        public internal(set) var expected: String?
        public internal(set) var found: String?
        /// OpenSSL's or Till's explanation for people. No decision depends on it.
        public internal(set) var explanation: String?
    }

    public enum Outcome: Equatable, Sendable {
        case passed
        case failed(Verdict)
        case skipped(Reason)
    }

    public enum Reason: String, Sendable {
        /// The policy does not require it, or the proof has nothing to check.
        case notAsked = "not_asked"
        /// An earlier check failed.
        case notReached = "not_reached"
        /// The chain failed on its dates before all of its signatures were checked.
        case undecided
        /// The checked value is unsigned, so the check decides nothing.
        case unsigned
    }

    public struct Nested: Equatable, Sendable {
        /// The member that contained the token: `signedTransactionInfo`, `signedRenewalInfo`,
        /// `signedAppTransactionInfo`.
        public let name: String
        public internal(set) var record: VerificationRecord
    }

    init(kind: ProofInspection.Kind, size: Int, sha256: [UInt8]) {
        self.kind = kind
        self.size = size
        self.sha256 = sha256
    }

    static let notVerified = "not-verified"

    public var isOK: Bool { verdict == Verdict.ok.rawValue }

    /// The check that determined the verdict; nil if none failed.
    public var failed: Check? {
        checks.first { if case .failed = $0.outcome { true } else { false } }
    }
}

/// A certificate found during a verification.
public struct CertificateRecord: Equatable, Sendable {
    public enum Position: String, Sendable {
        case leaf
        case intermediate
        /// One of the configured roots.
        case root
        /// It came with the proof, and no chain was found through it.
        case presented
    }

    public let position: Position
    /// RFC 4514 text, most specific part first.
    public let subject: String
    public let issuer: String
    /// Lower-case hexadecimal.
    public let serial: String
    /// SHA-256 of the DER, 32 bytes.
    public let sha256: [UInt8]
    /// The first second of its validity.
    public let notBefore: Instant
    /// The last second of its validity, as stated in the certificate.
    public let notAfter: Instant
    /// `RSA 2048`, `EC P-256`, `EC P-384`, or the object identifier of the key's kind.
    public let key: String
    /// Apple's marker extensions in the certificate, as dotted decimals.
    public let markers: [String]
}

/// Writes a `VerificationRecord` during a verification. A server uses one only when a person requests the record.
final class VerificationRecorder {
    private var record: VerificationRecord
    private var open: VerificationRecord.Check?
    private var nested: [(name: String, recorder: VerificationRecorder)] = []
    /// Whether all checks have been made.
    private var isComplete = false

    init(kind: ProofInspection.Kind, input: [UInt8]) {
        record = VerificationRecord(kind: kind, size: input.count, sha256: Digest.sha256.hash(input))
    }

    var kind: ProofInspection.Kind {
        get { record.kind }
        set { record.kind = newValue }
    }

    // MARK: - One check

    func begin(_ code: CheckCode) { open = VerificationRecord.Check(code: code, outcome: .passed) }

    func pass() {
        if let open { record.checks.append(open) }
        open = nil
    }

    func fail(_ failure: VerificationError) {
        open?.outcome = .failed(failure.verdict)
        if open?.explanation == nil, !failure.detail.isEmpty { open?.explanation = failure.detail }
        record.verdict = failure.verdict.rawValue
        record.detail = failure.detail
        pass()
    }

    /// Fails a check before it has any input.
    func refuse(_ code: CheckCode, _ failure: VerificationError) {
        begin(code)
        fail(failure)
    }

    /// Records the input of the check.
    func look(at input: some Collection<UInt8>) { open?.inputSHA256 = Digest.sha256.hash(input) }

    func compare(expected: String?, found: String?) {
        open?.expected = expected
        open?.found = found.map(bounded)
    }

    func explain(_ explanation: String) { open?.explanation = bounded(explanation) }
    func leaveUndecided() { open?.outcome = .skipped(.undecided) }

    /// Records a check whose input is unsigned.
    func skipUnsigned(_ code: CheckCode, expected: String?, found: String?) {
        record.checks.append(
            VerificationRecord.Check(
                code: code, outcome: .skipped(.unsigned), expected: expected, found: found.map(bounded)))
    }

    // MARK: - The whole

    func recordDate(at instant: Instant, from source: VerificationRecord.VerificationDate.Source) {
        record.verifiedAt = VerificationRecord.VerificationDate(instant: instant, source: source)
    }

    func found(chain: [Certificate]) { record.certificates = CertificateRecord.chain(chain) }

    func found(presented: [Certificate]) {
        record.certificates = presented.map { CertificateRecord($0, .presented) }
    }

    func found(unsigned: [String: String]) {
        let lines = unsigned.sorted { $0.key < $1.key }.prefix(Self.maximumUnsignedLines)
            .map { (bounded($0.key), bounded($0.value)) }
        record.unsigned = Dictionary(lines, uniquingKeysWith: { first, _ in first })
    }

    /// Real old-style receipts have three.
    private static let maximumUnsignedLines = 32

    /// Creates a journal for a token inside this proof.
    func nest(_ name: String, kind: ProofInspection.Kind, input: [UInt8]) -> VerificationRecorder {
        let recorder = VerificationRecorder(kind: kind, input: input)
        nested.append((name, recorder))
        return recorder
    }

    /// Marks the verification as complete.
    ///
    /// - Parameter verdict: replaces the verdict of the checks for a proof that was only decoded.
    func complete(_ verdict: String? = nil, _ detail: String? = nil) {
        isComplete = true
        if let verdict { record.verdict = verdict }
        if let detail { record.detail = detail }
    }

    /// The record, including the checks that were not made, in their places.
    func finished() -> VerificationRecord {
        var finished = record
        let isBroken = record.failed != nil
        if !isBroken, !isComplete { finished.verdict = VerificationRecord.notVerified }
        let codes = CheckCode.all(of: record.kind)
        let end = isBroken ? record.failed.flatMap { codes.firstIndex(of: $0.code) } ?? codes.count : codes.count
        var made = Dictionary(record.checks.map { ($0.code, $0) }, uniquingKeysWith: { _, last in last })
        finished.checks = codes.enumerated().map { index, code in
            if let check = made.removeValue(forKey: code) { return check }
            let reason: VerificationRecord.Reason = index > end || !isBroken && !isComplete ? .notReached : .notAsked
            return VerificationRecord.Check(code: code, outcome: .skipped(reason))
        }
        finished.nested = nested.map { VerificationRecord.Nested(name: $0.name, record: $0.recorder.finished()) }
        return finished
    }
}

/// The beginning of a text from outside: records are stored and shown, so their size must be limited.
func bounded(_ outside: String) -> String {
    let limit = 256
    guard outside.utf8.count > limit else { return outside }
    let scalars = outside.unicodeScalars.prefix(limit)
    return String(String.UnicodeScalarView(scalars)) + "…"
}

extension VerificationRecord {
    /// The record for programs: keys in camelCase, codes as strings, hashes in lower-case hexadecimal, times in RFC
    /// 3339 with milliseconds. Absent values have no key.
    public var json: JSONValue {
        var members: [String: JSONValue] = [
            "kind": .string(kind.rawValue), "size": .int(Int64(size)), "sha256": .string(hexadecimal(sha256)),
            "verdict": .string(verdict), "checks": .array(checks.map(\.json)),
            "certificates": .array(certificates.map(\.json)),
        ]
        if !detail.isEmpty { members["detail"] = .string(detail) }
        if let failed { members["failed"] = .string(failed.code.rawValue) }
        if let verifiedAt {
            members["verifiedAt"] = [
                "time": .string(verifiedAt.instant.rfc3339), "unixSeconds": .int(verifiedAt.instant.seconds),
                "source": .string(verifiedAt.source.rawValue),
            ]
        }
        if !nested.isEmpty {
            members["nested"] = .object(
                Dictionary(nested.map { ($0.name, $0.record.json) }, uniquingKeysWith: { first, _ in first }))
        }
        if !unsigned.isEmpty { members["unsigned"] = .object(unsigned.mapValues(JSONValue.string)) }
        return .object(members)
    }
}

extension VerificationRecord.Check {
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = ["code": .string(code.rawValue)]
        switch outcome {
        case .passed: members["outcome"] = "passed"
        case .failed(let verdict):
            members["outcome"] = "failed"
            members["verdict"] = .string(verdict.rawValue)
        case .skipped(let reason):
            members["outcome"] = "skipped"
            members["reason"] = .string(reason.rawValue)
        }
        members["inputSha256"] = inputSHA256.map { .string(hexadecimal($0)) }
        members["expected"] = expected.map(JSONValue.string)
        members["found"] = found.map(JSONValue.string)
        members["explanation"] = explanation.map(JSONValue.string)
        return .object(members)
    }
}

extension CertificateRecord {
    fileprivate var json: JSONValue {
        [
            "position": .string(position.rawValue), "subject": .string(subject), "issuer": .string(issuer),
            "serial": .string(serial), "sha256": .string(hexadecimal(sha256)),
            "notBefore": .string(notBefore.rfc3339), "notAfter": .string(notAfter.rfc3339), "key": .string(key),
            "markers": .array(markers.map(JSONValue.string)),
        ]
    }
}
