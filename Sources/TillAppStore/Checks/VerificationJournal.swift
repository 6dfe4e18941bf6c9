import TillBilling
import TillCrypto

/// Writes a `VerificationRecord` while a verification goes on. A server has none unless somebody asks why.
final class VerificationJournal {
    private var record: VerificationRecord
    private var open: VerificationRecord.Check?
    private var nested: [(name: String, journal: VerificationJournal)] = []
    /// Whether everything that was to be checked has been.
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

    func fail(_ failure: VerificationFailure) {
        open?.outcome = .failed(failure.verdict)
        if open?.words == nil, !failure.detail.isEmpty { open?.words = failure.detail }
        record.verdict = failure.verdict.rawValue
        record.detail = failure.detail
        pass()
    }

    /// A check that fails before anything can be looked at.
    func refuse(_ code: CheckCode, _ failure: VerificationFailure) {
        begin(code)
        fail(failure)
    }

    /// What the check looks at.
    func look(at input: some Collection<UInt8>) { open?.inputSHA256 = Digest.sha256.hash(input) }

    func compare(expected: String?, found: String?) {
        open?.expected = expected
        open?.found = found.map(bounded)
    }

    func explain(_ words: String) { open?.words = bounded(words) }
    func leaveUndecided() { open?.outcome = .skipped(.undecided) }

    /// A check that has nothing signed to look at.
    func skipUnsigned(_ code: CheckCode, expected: String?, found: String?) {
        record.checks.append(
            VerificationRecord.Check(
                code: code, outcome: .skipped(.unsigned), expected: expected, found: found.map(bounded)))
    }

    // MARK: - The whole

    func judge(at instant: Instant, from source: VerificationRecord.JudgedAt.Source) {
        record.judgedAt = VerificationRecord.JudgedAt(instant: instant, source: source)
    }

    func found(chain: [Certificate]) { record.certificates = CertificateRecord.chain(chain) }

    func found(presented: [Certificate]) {
        record.certificates = presented.map { CertificateRecord($0, .presented) }
    }

    func found(unsigned: [String: String]) {
        let lines = unsigned.sorted { $0.key < $1.key }.prefix(Self.mostUnsignedLines)
            .map { (bounded($0.key), bounded($0.value)) }
        record.unsigned = Dictionary(lines, uniquingKeysWith: { first, _ in first })
    }

    /// Real old-style receipts have three.
    private static let mostUnsignedLines = 32

    /// A journal for a token inside this proof.
    func nest(_ name: String, kind: ProofInspection.Kind, input: [UInt8]) -> VerificationJournal {
        let journal = VerificationJournal(kind: kind, input: input)
        nested.append((name, journal))
        return journal
    }

    /// Nothing is left to check.
    ///
    /// - Parameter verdict: another than what the checks said, where there was nothing to believe.
    func complete(_ verdict: String? = nil, _ detail: String? = nil) {
        isComplete = true
        if let verdict { record.verdict = verdict }
        if let detail { record.detail = detail }
    }

    /// The record, with the checks that were not made in their places.
    func finished() -> VerificationRecord {
        var finished = record
        let isBroken = record.failed != nil
        if !isBroken, !isComplete { finished.verdict = VerificationRecord.notJudged }
        let codes = CheckCode.all(of: record.kind)
        let end = isBroken ? record.failed.flatMap { codes.firstIndex(of: $0.code) } ?? codes.count : codes.count
        var made = Dictionary(record.checks.map { ($0.code, $0) }, uniquingKeysWith: { _, last in last })
        finished.checks = codes.enumerated().map { index, code in
            if let check = made.removeValue(forKey: code) { return check }
            let reason: VerificationRecord.Reason = index > end || !isBroken && !isComplete ? .notReached : .notAsked
            return VerificationRecord.Check(code: code, outcome: .skipped(reason))
        }
        finished.nested = nested.map { VerificationRecord.Nested(name: $0.name, record: $0.journal.finished()) }
        return finished
    }
}

/// The beginning of a text from outside: a record is kept and shown, so nobody shall fill it.
func bounded(_ outside: String) -> String {
    let limit = 256
    guard outside.utf8.count > limit else { return outside }
    let scalars = outside.unicodeScalars.prefix(limit)
    return String(String.UnicodeScalarView(scalars)) + "…"
}
