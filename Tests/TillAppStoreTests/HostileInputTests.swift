import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

/// Numbers that look random and are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

@Suite("Data from outside never crashes the verifier or passes it")
struct HostileInputTests {
    private static let authority = TestAuthority()
    private static let receiptAuthority = TestAuthority(keys: .rsa)

    @Test("Damaged proofs of every kind are refused or change nothing", arguments: 1...4 as ClosedRange<UInt64>)
    func damaged(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed)
        let transaction = Array(Self.authority.sign(TestPayloads.transaction()).utf8)
        let receipt = Self.receiptAuthority.receipt(TestReceipts.content())
        let content = TestReceipts.content()
        let verifier = try Self.authority.verifier()
        let receiptVerifier = try Self.receiptAuthority.verifier()
        let policy = InspectionPolicy { TestAuthority.today }
        for _ in 0..<120 {
            let token = Self.damage(transaction, &generator)
            #expect(token == transaction || refusal { try verifier.transaction(token) } != nil)
            let container = Self.damage(receipt, &generator)
            if let verified = try? receiptVerifier.receipt(container) {
                #expect(verified.transactions.map(\.id.text) == ["2000000900000001"])
            }
            let resigned = Self.receiptAuthority.receipt(Self.damage(content, &generator))
            _ = try? receiptVerifier.receipt(resigned)
            #expect(!ProofInspection.inspect(container, policy: policy).isOK, "its root is not Apple's")
            #expect(!ProofInspection.inspect(token, policy: policy).isOK)
        }
    }

    @Test("Signed payloads full of rubbish are refused or read")
    func rubbishPayloads() throws {
        var generator = SeededGenerator(state: 99)
        let verifier = try Self.authority.verifier()
        let header: JSONValue = [
            "alg": "ES256", "x5c": .array(Self.authority.certificates.map { .string(Base64.encode($0)) }),
        ]
        let headerBytes = Array(header.encoded().utf8)
        let payload = Array(TestPayloads.transaction().encoded().utf8)
        for _ in 0..<400 {
            let damaged = Self.damage(payload, &generator)
            let jws = Array(Self.authority.sign(payload: damaged, header: headerBytes).utf8)
            if let transaction = try? verifier.transaction(jws) {
                #expect(transaction.bundleID == "com.example.learn" && transaction.quantity >= 1)
            }
            _ = try? JSONValue(decoding: damaged)
            _ = ProofInspection.inspect(jws, policy: InspectionPolicy { TestAuthority.today })
        }
    }

    @Test("Random bytes and texts are no proof")
    func random() {
        var generator = SeededGenerator(state: 7)
        let policy = InspectionPolicy { TestAuthority.today }
        let starts: [[UInt8]] = [
            [], [0x30], [0x30, 0x80], [0x30, 0x82, 0x10], Array("{".utf8), Array("e30.".utf8), Array("MII".utf8),
            Array("-----BEGIN PKCS7-----\n".utf8), Array("ey.e.".utf8), [0x31, 0x84, 0xFF],
        ]
        for start in starts {
            for _ in 0..<60 {
                let count = Int.random(in: 0...300, using: &generator)
                let bytes = start + (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
                let text = start + (0..<count).map { _ in UInt8.random(in: 0x2B...0x7A, using: &generator) }
                #expect(!ProofInspection.inspect(bytes, policy: policy).isOK)
                #expect(!ProofInspection.inspect(text, policy: policy).isOK)
            }
        }
    }

    @Test("A verifier can't be created with unreadable roots")
    func badRoots() {
        var policy = TrustPolicy(bundleID: nil, environments: nil) { TestAuthority.today }
        policy.roots = [[1, 2, 3]]
        #expect(refusal { try SignedDataVerifier(policy: policy) } == .badRoot)
        policy.roots = []
        #expect(refusal { try SignedDataVerifier(policy: policy) } == .badRoot)
        let good = Self.authority.certificates.map { Base64.encode($0) }
        let day = TestAuthority.today.seconds
        for root in ["!", Base64.encode([1, 2, 3])] {
            #expect(ProofInspection.chain(x5c: good, root: root, at: day, isStrict: false).verdict == "bad_root")
        }
        #expect(ProofInspection.chain(x5c: good, root: good[2], at: day, isStrict: false).isOK)
    }

    @Test("The pinned roots have the fingerprints that Apple publishes")
    func pinnedRoots() throws {
        let fingerprints = [
            "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179",
            "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024",
        ]
        for (der, fingerprint) in zip(AppleRoots.all, fingerprints) {
            let root = try #require(Certificate(der: der))
            #expect(root.sha256 == bytesOfHexadecimal(fingerprint))
            #expect(root.subject == root.issuer)
        }
        #expect(AppleRoots.g3.count == 583)
        #expect(
            Certificate(der: AppleRoots.g3)?.subject
                == "C=US,O=Apple Inc.,OU=Apple Certification Authority,CN=Apple Root CA - G3")
        #expect(Certificate(der: AppleRoots.rootCA)?.notAfter == 2_054_670_036)
    }

    /// One to three small changes: a byte changed, removed or doubled, or the end cut off.
    private static func damage(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var damaged = bytes
        for _ in 0..<Int.random(in: 1...3, using: &generator) where !damaged.isEmpty {
            let position = Int.random(in: damaged.indices, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: damaged[position] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1: damaged[position] = UInt8.random(in: 0...255, using: &generator)
            case 2: damaged.remove(at: position)
            case 3: damaged.insert(damaged[position], at: position)
            default: damaged.removeLast(min(damaged.count, Int.random(in: 0...40, using: &generator)))
            }
        }
        return damaged
    }
}
