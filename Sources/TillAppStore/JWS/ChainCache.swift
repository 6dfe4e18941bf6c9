import TillBilling
import TillCrypto
import TillThreads

/// Signers whose chain was verified recently, looked up by the bytes of the JWS header or of a receipt's certificates:
/// building a chain costs about thirty times as much as the signature check after it.
///
/// An entry is added only after a complete verification, including the signature, so an outsider cannot fill the cache.
/// A cached chain also answers for dates outside the validity of its certificates: it has expired.
final class ChainCache: Sendable {
    /// Apple uses one or two leaf certificates at a time.
    static let capacity = 8

    private struct Entry {
        let headerPrefix: [UInt8]
        let chain: SigningChain
        let verifier: ES256Verifier
        let verifiedAt: Instant

    }

    /// Milliseconds (`TrustPolicy.chainLifetime`).
    private let lifetime: Int64

    init(lifetime: Int64) { self.lifetime = lifetime }

    private func isFresh(_ verifiedAt: Instant, at now: Instant) -> Bool {
        let (age, overflows) = now.milliseconds.subtractingReportingOverflow(verifiedAt.milliseconds)
        return !overflows && 0 <= age && age < lifetime
    }

    /// Most recently used first.
    private let entries = Locked<[Entry]>([])

    /// The verifier of signatures under this token's header, if its chain is cached.
    func verifier(
        for token: CompactToken, now: Instant
    ) -> (verifier: ES256Verifier, chain: SigningChain)? {
        entries.withLock { entries in
            guard let index = entries.firstIndex(where: { token.hasHeaderPrefix($0.headerPrefix) }) else { return nil }
            guard isFresh(entries[index].verifiedAt, at: now) else {
                entries.remove(at: index)
                return nil
            }
            if index > 0 { entries.insert(entries.remove(at: index), at: 0) }
            return (entries[0].verifier, entries[0].chain)
        }
    }

    /// Whether the chain of this token's header is cached.
    func knows(_ token: [UInt8], now: Instant) -> Bool {
        entries.withLock { entries in
            entries.contains { entry in
                isFresh(entry.verifiedAt, at: now) && CompactToken.begins(token, with: entry.headerPrefix)
            }
        }
    }

    func remember(_ chain: SigningChain, _ verifier: ES256Verifier, of token: CompactToken, now: Instant) {
        let entry = Entry(
            headerPrefix: Array(token.headerPrefix), chain: chain, verifier: verifier, verifiedAt: now)
        entries.withLock { entries in
            entries.removeAll { token.hasHeaderPrefix($0.headerPrefix) || !isFresh($0.verifiedAt, at: now) }
            if entries.count >= Self.capacity { entries.removeLast() }
            entries.insert(entry, at: 0)
        }
    }

    var count: Int { entries.withLock { $0.count } }

    // MARK: Receipts

    private struct ReceiptEntry {
        let certificates: [[UInt8]]
        let chain: SigningChain
        let verifiedAt: Instant
    }

    /// Most recently remembered first.
    private let receiptEntries = Locked<[ReceiptEntry]>([])

    /// The cached chain of these certificates, the signer's first, if it is valid at this second. Receipts outlive
    /// certificates, so another date is verified in full.
    func receiptChain(of certificates: [[UInt8]], at seconds: Int64, now: Instant) -> SigningChain? {
        let known = receiptEntries.withLock { entries in entries.first { $0.certificates == certificates } }
        guard let known, isFresh(known.verifiedAt, at: now), known.chain.isValid(at: seconds) else { return nil }
        return known.chain
    }

    /// Only certificates of the chain are remembered. No signature covers a receipt's list of certificates, so a
    /// stranger could add others to a genuine receipt, again and again.
    func remember(_ chain: SigningChain, ofReceipt certificates: [[UInt8]], now: Instant) {
        let links = chain.certificates.map(\.der)
        guard certificates.count <= links.count, certificates.allSatisfy(links.contains) else { return }
        let entry = ReceiptEntry(certificates: certificates, chain: chain, verifiedAt: now)
        receiptEntries.withLock { entries in
            entries.removeAll { $0.certificates == certificates || !isFresh($0.verifiedAt, at: now) }
            if entries.count >= Self.capacity { entries.removeLast() }
            entries.insert(entry, at: 0)
        }
    }

    var receiptCount: Int { receiptEntries.withLock { $0.count } }
}

/// The chain that Apple's signatures require: [leaf, WWDR intermediate, root], each link verified (facts/jws §2). The
/// chain of Xcode's local tests is one certificate, which is its own root.
struct SigningChain: Sendable {
    let certificates: [Certificate]
    /// The first second at which the whole chain is valid.
    let notBefore: Int64
    /// The first second at which a part of it is no longer valid.
    let notAfter: Int64
    /// The OCSP questions about its certificates.
    let questions: [OCSPRequest]

    /// Marker of the certificate that may sign App Store proofs.
    static let leafMarker = "1.2.840.113635.100.6.11.1"
    /// Marker of the Worldwide Developer Relations intermediates.
    static let intermediateMarker = "1.2.840.113635.100.6.2.1"

    var leaf: Certificate { certificates[0] }
    var root: Certificate { certificates[certificates.count - 1] }

    /// Nil unless the certificates are leaf, intermediate and root.
    init?(_ certificates: [Certificate]) {
        guard certificates.count == 3 else { return nil }
        self.certificates = certificates
        notBefore = certificates.map(\.notBefore).max() ?? .max
        notAfter = certificates.map(\.notAfter).min() ?? .min
        questions = Self.questions(along: certificates)
    }

    /// The chain of a configured test certificate. No authority answers questions about it.
    init(testCertificate certificate: Certificate) {
        certificates = [certificate]
        notBefore = certificate.notBefore
        notAfter = certificate.notAfter
        questions = []
    }

    /// Whether every certificate is valid by OpenSSL's rule: not before its first second, and before its last.
    func isValid(at seconds: Int64) -> Bool { notBefore <= seconds && seconds < notAfter }

    /// Why the chain is invalid at this second, in OpenSSL's words; nil if it is valid.
    func error(at seconds: Int64) -> VerificationError? {
        if isValid(at: seconds) { return nil }
        let reason = seconds < notBefore ? "certificate is not yet valid" : "certificate has expired"
        return VerificationError(.chainExpired, reason, zh: "签名当时证书不在有效期内")
    }

    /// The dates that certificates can state, the years 1 to 9999: OpenSSL fails for others, and a proof may state any
    /// date.
    private static let dates: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    static func path(
        leaf: Certificate, others: [Certificate], trust: TrustStore, at seconds: Int64
    ) throws(VerificationError) -> [Certificate] {
        do {
            let date = min(max(seconds, dates.lowerBound), dates.upperBound)
            return try trust.chain(leaf: leaf, intermediates: others, at: date)
        } catch {
            throw error.isOutsideValidity
                ? VerificationError(.chainExpired, error.reason, zh: "签名当时证书不在有效期内")
                : VerificationError(.chainUntrusted, error.reason, zh: "证书链不通向受信任的根证书")
        }
    }
}
