import TillBilling

/// Everything a verification did, for people who ask why: what came, each check in its order with what it looked at,
/// the certificates and the date they were judged at. A value to look at; nothing can be granted on it.
public struct VerificationRecord: Equatable, Sendable {
    public internal(set) var kind: ProofInspection.Kind
    /// Length of what came, in bytes.
    public let size: Int
    /// SHA-256 of what came, 32 bytes.
    public let sha256: [UInt8]
    /// A code of `Verdict`, or `ok-unverified` or `extract-only` (see `ProofInspection.verdict`); `not-judged` for a
    /// token inside a notification that was refused before its turn came.
    public internal(set) var verdict = Verdict.ok.rawValue
    /// What failed, for people.
    public internal(set) var detail = ""
    /// When the certificates had to be valid; nil if no date was come to.
    public internal(set) var judgedAt: JudgedAt?
    /// Every check there is for the kind, once each, in the order of the checks.
    public internal(set) var checks: [Check] = []
    /// The chain from signer to root where one was found, or else the certificates that came and could be read.
    public internal(set) var certificates: [CertificateRecord] = []
    /// The tokens inside a notification, with checks of their own.
    public internal(set) var nested: [Nested] = []
    /// Lines of an old-style receipt that nobody signed, and that decide nothing (SCENARIOS, T8).
    public internal(set) var unsigned: [String: String] = [:]

    /// A date, and where it is from.
    public struct JudgedAt: Equatable, Sendable {
        public enum Source: String, Sendable {
            /// The payload's own `signedDate`.
            case signedDate
            /// An app transaction's `receiptCreationDate`.
            case receiptCreationDate
            /// An app receipt's attribute 12.
            case receiptAttribute = "receipt-attribute-12"
            /// An old-style receipt's purchase date: told, not judged.
            case purchaseDate
            /// The policy names it (`--at`).
            case policy
            /// The proof states none.
            case now
        }

        public let instant: Instant
        public let source: Source
    }

    public struct Check: Equatable, Sendable {
        public let code: CheckCode
        public internal(set) var outcome: Outcome
        /// SHA-256 of the octets that were looked at; nil where it was no octets, or not got to.
        public internal(set) var inputSHA256: [UInt8]?
        public internal(set) var expected: String?
        public internal(set) var found: String?
        /// OpenSSL's or our words for people; nothing is decided by them.
        public internal(set) var words: String?
    }

    public enum Outcome: Equatable, Sendable {
        case passed
        case failed(Verdict)
        case skipped(Reason)
    }

    public enum Reason: String, Sendable {
        /// The policy does not ask for it, or the proof has no such thing.
        case notAsked = "not_asked"
        /// An earlier check failed.
        case notReached = "not_reached"
        /// The chain broke at its dates before all of its signatures were looked at.
        case undecided
        /// Nobody signed what it would look at, so it decides nothing (SCENARIOS, T8).
        case unsigned
    }

    public struct Nested: Equatable, Sendable {
        /// The member that held the token: `signedTransactionInfo`, `signedRenewalInfo`, `signedAppTransactionInfo`.
        public let name: String
        public internal(set) var record: VerificationRecord
    }

    init(kind: ProofInspection.Kind, size: Int, sha256: [UInt8]) {
        self.kind = kind
        self.size = size
        self.sha256 = sha256
    }

    static let notJudged = "not-judged"

    public var isOK: Bool { verdict == Verdict.ok.rawValue }

    /// The check that made the verdict; nil if none failed.
    public var failed: Check? {
        checks.first { if case .failed = $0.outcome { true } else { false } }
    }
}

/// A certificate as it was found in a chain.
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
    /// Of the DER, 32 bytes.
    public let sha256: [UInt8]
    /// The first second of its validity.
    public let notBefore: Instant
    /// The last second of its validity, as it states it.
    public let notAfter: Instant
    /// `RSA 2048`, `EC P-256`, `EC P-384`, or what the key's object identifier is.
    public let key: String
    /// Apple's marker extensions that it carries, as dotted decimals.
    public let markers: [String]
}
