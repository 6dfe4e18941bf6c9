import TillAppStore
import TillBilling
import TillCrypto

@testable import TillJSON

/// The result of a proof.
enum Outcome: Equatable, Sendable {
    case refused(Verdict)
    /// Everything that was verified, as text; and the part of it that a grant uses.
    case accepted(content: String, meaning: String)
}

/// Submits proofs to a verifier, at the entry they are for or at any other.
struct CorpusVerifier: Sendable {
    let policy: TrustPolicy
    let inspectionPolicy: InspectionPolicy
    /// Has verified the good proofs, so their chains are cached.
    let warm: SignedDataVerifier

    init(_ corpus: HostileCorpus) throws {
        var policy = TrustPolicy(bundleID: CorpusContent.bundle, environments: [.production]) { TestAuthority.today }
        policy.roots = corpus.authority.roots
        policy.appAppleID = 1_234_567_890
        self.policy = policy
        var inspection = InspectionPolicy { TestAuthority.today }
        inspection.roots = policy.roots
        inspection.bundleID = policy.bundleID
        inspection.appAppleID = policy.appAppleID
        inspection.environment = "Production"
        inspectionPolicy = inspection
        warm = try SignedDataVerifier(policy: policy)
        for proof in corpus.good.values { _ = Self.outcome(proof.bytes, as: proof.kind, warm) }
    }

    func cold() throws -> SignedDataVerifier { try SignedDataVerifier(policy: policy) }

    static func outcome(_ bytes: [UInt8], as kind: ProofKind, _ verifier: SignedDataVerifier) -> Outcome {
        do throws(VerificationError) {
            switch kind {
            case .transaction:
                let transaction = try verifier.transaction(bytes)
                return .accepted(content: described(transaction), meaning: meaning(of: transaction))
            case .renewal: return try accepted(verifier.renewalInfo(bytes))
            case .appTransaction: return try accepted(verifier.appTransaction(bytes))
            case .notification: return try accepted(verifier.notification(bytes))
            case .receipt: return try accepted(verifier.receipt(bytes))
            case .receiptText, .oldStyle:
                return try accepted(verifier.receipt(base64: String(decoding: bytes, as: UTF8.self)))
            }
        } catch {
            return .refused(error.verdict)
        }
    }

    private static func accepted(_ verified: some Sendable) -> Outcome {
        let content = described(verified)
        return .accepted(content: content, meaning: content)
    }

    /// Every member by its name, except the text that a payload was read from, because equal payloads have different
    /// texts.
    private static func described(_ value: Any) -> String {
        let mirror = Mirror(reflecting: value)
        guard !mirror.children.isEmpty else { return String(describing: value) }
        let members = mirror.children.compactMap { child -> String? in
            let isText = child.label == "source" && String(describing: type(of: child.value)).contains("JSONObject")
            return isText ? nil : "\(child.label ?? ""): \(described(child.value))"
        }
        return "(\(members.joined(separator: ", ")))"
    }

    /// A receipt's set of types has no order, so it is described by its parts.
    private static func accepted(_ receipt: VerifiedReceipt) -> Outcome {
        let purchases = receipt.transactions
        let meaning = purchases.map { "\($0.id.text) \($0.productID.text) × \($0.quantity)" }.joined(separator: ", ")
        return .accepted(
            content: "\(receipt.bundleID) \(receipt.environment) \(receipt.creationDate) \(purchases)",
            meaning: "\(receipt.bundleID) \(receipt.environment): \(meaning)".trimmingBlanks)
    }

    private static func meaning(of transaction: VerifiedTransaction) -> String {
        let price = transaction.payload.priceMilliunits.map(String.init) ?? "none"
        let words: [String] = [
            transaction.id.text, transaction.productID.text, "×", String(transaction.quantity),
            transaction.payload.typeText ?? "none", String(describing: transaction.environment), "price", price,
            transaction.storefront ?? "none", "token", transaction.appAccountTokenText ?? "none",
            "at", String(transaction.purchaseDate.milliseconds), "signed", String(transaction.signedDate.milliseconds),
        ]
        return words.joined(separator: " ")
    }

    // MARK: One case

    /// The wrong answers to one case; empty if all are right.
    func complaints(about hostile: HostileCase, good: Outcome) throws -> [String] {
        var complaints: [String] = []
        let outcome = Self.outcome(hostile.bytes, as: hostile.kind, try cold())
        let remembered = Self.outcome(hostile.bytes, as: hostile.kind, warm)
        if outcome != remembered { complaints.append("\(outcome) cold, \(remembered) with chains remembered") }
        if let complaint = complaint(about: outcome, of: hostile, good: good) { complaints.append(complaint) }
        let isRefused = hostile.family.isRefused
        for kind in ProofKind.allCases where kind != hostile.kind && kind != .oldStyle {
            // Entries for the same format always; for the other format, which fail at the first octet, a sample.
            guard kind.isToken == hostile.kind.isToken || hostile.sha256[0] & 3 == 0 else { continue }
            guard case .accepted = Self.outcome(hostile.bytes, as: kind, warm) else { continue }
            // A token that names neither app nor kind is a renewal info: only the payload identifies it.
            let isNameless = kind == .renewal && hostile.family.mayPassInspection
            let isOtherSpelling = [hostile.kind, kind].allSatisfy { [.receipt, .receiptText].contains($0) }
            if !isNameless, !(isOtherSpelling && !isRefused) { complaints.append("accepted as \(kind)") }
        }
        let inspection = ProofInspection.inspect(hostile.bytes, policy: inspectionPolicy)
        // An inspection ignores white space around a text, and a byte order mark before it.
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = hostile.bytes.starts(with: mark) ? hostile.bytes.dropFirst(3) : hostile.bytes[...]
        let trimmed = text.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed()
        // Armour is removed whatever its label is.
        let isOnlyFramed = trimmed.elementsEqual(hostile.base.bytes) || text.starts(with: "-----BEGIN ".utf8)
        if inspection.isOK, !hostile.family.mayPassInspection, !isOnlyFramed { complaints.append("inspection says ok") }
        return complaints
    }

    private func complaint(about outcome: Outcome, of hostile: HostileCase, good: Outcome) -> String? {
        switch (hostile.family.ending, outcome) {
        case (.refused(let allowed), .refused(let verdict)), (.refusedOrSame(let allowed), .refused(let verdict)):
            if let expected = hostile.verdict, expected != verdict { return "\(verdict) instead of \(expected)" }
            return allowed.isEmpty || allowed.contains(verdict) ? nil : "\(verdict) is not in the family's table"
        case (.same, .accepted), (.refusedOrSame, .accepted):
            return outcome == good ? nil : "accepted as something else: \(outcome)"
        case (.stated, .accepted(_, let meaning)):
            return meaning == hostile.meaning ? nil : "means “\(meaning)” and not “\(hostile.meaning ?? "")”"
        case (.refused, .accepted): return "ACCEPTED"
        case (.same, .refused(let verdict)), (.stated, .refused(let verdict)): return "refused: \(verdict)"
        }
    }
}

extension String {
    fileprivate var trimmingBlanks: String { hasSuffix(" ") ? String(dropLast()) : self }
}
