import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON
import TillThreads

@Suite("Verified chains are cached, and the cache changes no verdict")
struct ChainCacheTests {
    /// A clock that a test sets.
    private final class Clock: Sendable {
        private let instant = Locked(TestAuthority.today)
        var now: Instant { instant.withLock { $0 } }
        func advance(minutes: Int64) { instant.withLock { $0 = $0.adding(seconds: minutes * 60) } }
    }

    /// RSA keys are slow to generate.
    private static let (ours, theirs) = (TestAuthority(keys: .rsa), TestAuthority(keys: .rsa))

    private func verifier(_ authority: TestAuthority, clock: Clock) throws -> SignedDataVerifier {
        var policy = TrustPolicy(bundleID: nil, environments: nil) { clock.now }
        policy.roots = [authority.root.der]
        return try SignedDataVerifier(policy: policy)
    }

    @Test("An entry lives fifteen minutes, and not through a clock that goes back")
    func lifetime() throws {
        let authority = TestAuthority()
        let clock = Clock()
        let verifier = try verifier(authority, clock: clock)
        let jws = authority.sign(TestPayloads.transaction())
        _ = try verifier.transaction(jws)
        #expect(verifier.cachedChainCount == 1)
        let forged = jws.dropLast(3) + "AAA"
        clock.advance(minutes: 16)
        #expect(refusal { try verifier.transaction(String(forged)) } != nil)
        #expect(verifier.cachedChainCount == 0, "too old, and the forged token did not renew it")
        _ = try verifier.transaction(jws)
        clock.advance(minutes: -60)
        #expect(refusal { try verifier.transaction(String(forged)) } != nil)
        #expect(verifier.cachedChainCount == 0)
    }

    @Test("The latest eight signers are cached")
    func capacity() throws {
        let authority = TestAuthority()
        let verifier = try verifier(authority, clock: Clock())
        for number in 0..<20 {
            let certificates = authority.certificates.map { JSONValue.string(Base64.encode($0)) }
            let header: JSONValue = ["alg": "ES256", "x5c": .array(certificates), "n": .int(Int64(number))]
            _ = try verifier.transaction(authority.sign(TestPayloads.transaction(), header: header))
            #expect(verifier.cachedChainCount == min(number + 1, 8))
        }
    }

    @Test("A known header does not validate a signature by another key")
    func forgedUnderKnownHeader() throws {
        let authority = TestAuthority()
        let verifier = try verifier(authority, clock: Clock())
        let jws = authority.sign(TestPayloads.transaction())
        _ = try verifier.transaction(jws)
        let other = TestAuthority()
        let forged = other.sign(TestPayloads.transaction(["quantity": 9]), x5c: authority.certificates)
        #expect(forged.split(separator: ".").first == jws.split(separator: ".").first)
        #expect(refusal { try verifier.transaction(forged) } == .badSignature)
    }

    @Test("A receipt's chain is cached after a complete verification, for dates at which it is valid")
    func receipts() throws {
        let authority = Self.ours
        let clock = Clock()
        let verifier = try verifier(authority, clock: clock)
        let sound = authority.receipt(TestReceipts.content())
        var forged = sound
        forged[forged.count - 1] ^= 1
        #expect(refusal { try verifier.receipt(forged) } == .badSignature)
        #expect(verifier.cachedReceiptChainCount == 0)
        for _ in 0..<2 {
            _ = try verifier.receipt(sound)
            #expect(verifier.cachedReceiptChainCount == 1)
            #expect(refusal { try verifier.receipt(forged) } == .badSignature)
            let late = authority.receipt(TestReceipts.content(created: "2026-01-02T00:00:00Z"))
            #expect(refusal { try verifier.receipt(late) } == .chainExpired)
            let foreign = Self.theirs.receipt(TestReceipts.content())
            #expect(refusal { try verifier.receipt(foreign) } == .chainUntrusted)
            clock.advance(minutes: 16)
        }
        #expect(verifier.cachedChainCount == 0, "a receipt does not vouch for tokens")
    }

    @Test("The use of a receipt's cached chain does not prolong its fifteen minutes")
    func receiptLifetime() throws {
        let (first, second) = (Self.ours, Self.theirs)
        let clock = Clock()
        var policy = TrustPolicy(bundleID: nil, environments: nil) { clock.now }
        policy.roots = [first.root.der, second.root.der]
        let verifier = try SignedDataVerifier(policy: policy)
        for minutes in [0, 10] as [Int64] {
            clock.advance(minutes: minutes)
            _ = try verifier.receipt(first.receipt(TestReceipts.content()))
        }
        clock.advance(minutes: 6)
        _ = try verifier.receipt(second.receipt(TestReceipts.content()))
        #expect(verifier.cachedReceiptChainCount == 1, "the first signer's chain is sixteen minutes old")
    }

    @Test("Certificates that a stranger adds to a genuine receipt take no place in the cache")
    func strangersCertificates() throws {
        let (authority, stranger) = (Self.ours, Self.theirs)
        let verifier = try verifier(authority, clock: Clock())
        for others in [[stranger.root], [authority.root, stranger.root], [stranger.intermediate]] {
            let receipt = authority.leaf.signCMS(
                TestReceipts.content(), others: [authority.intermediate] + others, hasSignedAttributes: false,
                sha1: false)
            _ = try verifier.receipt(receipt)
            #expect(verifier.cachedReceiptChainCount == 0)
        }
        _ = try verifier.receipt(authority.receipt(TestReceipts.content()))
        #expect(verifier.cachedReceiptChainCount == 1)
        let forged = stranger.leaf.signCMS(
            TestReceipts.content(), others: [authority.leaf, authority.intermediate, authority.root],
            hasSignedAttributes: false, sha1: false)
        #expect(refusal { try verifier.receipt(forged) } == .chainUntrusted)
    }

    @Test("Many threads share a verifier, with good and bad tokens of several signers")
    func concurrency() async throws {
        let first = TestAuthority()
        let second = TestAuthority()
        let clock = Clock()
        var policy = TrustPolicy(bundleID: "com.example.learn", environments: [.production]) { clock.now }
        policy.roots = [first.root.der, second.root.der]
        let verifier = try SignedDataVerifier(policy: policy)
        var tokens: [(jws: String, id: String?)] = []
        for (index, authority) in [first, second, first, second].enumerated() {
            for number in 0..<6 {
                let id = "\(index)\(number)"
                let jws = authority.sign(TestPayloads.transaction(["transactionId": .string(id)]))
                tokens.append((jws, id))
                tokens.append((String(jws.dropLast(4)) + (jws.hasSuffix("AAAA") ? "BBBA" : "AAAA"), nil))
            }
        }
        let shared = tokens
        let wrong = await withTaskGroup(of: Int.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    var wrong = 0
                    for round in 0..<60 {
                        let token = shared[(round &* 7 &+ thread &* 5) % shared.count]
                        let id = (try? verifier.transaction(token.jws))?.id.text
                        if id != token.id { wrong += 1 }
                        if round % 20 == 0 { clock.advance(minutes: 10) }
                    }
                    return wrong
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
        #expect((1...2).contains(verifier.cachedChainCount))
    }
}
