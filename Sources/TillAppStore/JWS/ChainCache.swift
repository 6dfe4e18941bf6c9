import TillBilling
import TillCrypto

/// Signers whose chain was verified a little while ago, found again by the bytes of the JWS header: building a chain
/// costs about thirty times the signature check that it precedes.
///
/// An entry goes in only after a whole verification, its signature included, so an outsider cannot fill the list.
/// For effective dates outside the validity of a certificate of its chain the answer is known as well: it has expired.
final class ChainCache: Sendable {
    /// Apple signs with a leaf or two at a time.
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

    private func isFresh(_ entry: Entry, at now: Instant) -> Bool {
        let (age, overflows) = now.milliseconds.subtractingReportingOverflow(entry.verifiedAt.milliseconds)
        return !overflows && 0 <= age && age < lifetime
    }

    /// Most recently used first.
    private let entries = Locked<[Entry]>([])

    /// What checks signatures under this token's header, if its chain is known.
    func verifier(
        for token: CompactToken, now: Instant
    ) -> (verifier: ES256Verifier, chain: SigningChain)? {
        entries.withLock { entries in
            guard let index = entries.firstIndex(where: { token.hasHeaderPrefix($0.headerPrefix) }) else { return nil }
            guard isFresh(entries[index], at: now) else {
                entries.remove(at: index)
                return nil
            }
            if index > 0 { entries.insert(entries.remove(at: index), at: 0) }
            return (entries[0].verifier, entries[0].chain)
        }
    }

    /// Whether the chain of this token's header is known.
    func knows(_ token: [UInt8], now: Instant) -> Bool {
        entries.withLock { entries in
            entries.contains { entry in
                isFresh(entry, at: now) && CompactToken.begins(token, with: entry.headerPrefix)
            }
        }
    }

    func remember(_ chain: SigningChain, _ verifier: ES256Verifier, of token: CompactToken, now: Instant) {
        let entry = Entry(
            headerPrefix: Array(token.headerPrefix), chain: chain, verifier: verifier, verifiedAt: now)
        entries.withLock { entries in
            entries.removeAll { token.hasHeaderPrefix($0.headerPrefix) || !isFresh($0, at: now) }
            if entries.count >= Self.capacity { entries.removeLast() }
            entries.insert(entry, at: 0)
        }
    }

    var count: Int { entries.withLock { $0.count } }
}
