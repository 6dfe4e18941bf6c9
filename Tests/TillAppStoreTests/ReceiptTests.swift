import Testing
import TillAppStore
import TillBilling
import TillCrypto

@Suite("App receipts are verified only when everything matches")
struct ReceiptTests {
    private static let authority = TestAuthority(keys: .rsa)
    private var authority: TestAuthority { Self.authority }

    @Test("A sound receipt is verified, with or without signed attributes, with SHA-256 or SHA-1")
    func sound() throws {
        for (attributes, sha1) in [(false, false), (true, false), (false, true), (true, true)] {
            let bytes = authority.receipt(TestReceipts.content(), hasSignedAttributes: attributes, sha1: sha1)
            let receipt = try authority.verifier().receipt(bytes, device: TestReceipts.device)
            #expect(receipt.environment == .production)
            let transaction = try #require(receipt.transaction(TransactionID("2000000900000001")))
            #expect(transaction.quantity == 2)
            #expect(transaction.type == .consumable)
            #expect(transaction.source == .receipt)
            #expect(transaction.signedDate.rfc3339 == "2025-06-01T00:00:00.000Z")
            #expect(transaction.expiresDate == nil && !transaction.isRevoked)
        }
    }

    @Test("A cancelled record is revoked, also when the receipt lists it twice")
    func cancelled() throws {
        let cancelled = TestReceipts.purchase("7", cancelled: "2025-05-31T23:59:59Z")
        let content = TestReceipts.content(purchases: [TestReceipts.purchase("7"), cancelled])
        let receipt = try authority.verifier().receipt(authority.receipt(content))
        #expect(receipt.transaction(TransactionID("7"))?.isRevoked == true)
    }

    @Test(
        "The receipt's type gives the environment, and a missing type is not production",
        arguments: [
            ("Production", StoreEnvironment.production), ("ProductionVPP", .production),
            ("ProductionSandbox", .sandbox),
            ("ProductionVPPSandbox", .sandbox), ("Xcode", nil), ("", nil), (nil, nil),
        ] as [(String?, StoreEnvironment?)])
    func environments(type: String?, environment: StoreEnvironment?) throws {
        let bytes = authority.receipt(TestReceipts.content(type: type))
        for accepted in [StoreEnvironment.production, .sandbox] {
            let verdict = refusal { try authority.verifier(environments: [accepted]).receipt(bytes) }
            #expect(verdict == (accepted == environment ? nil : .wrongEnvironment))
        }
        #expect(
            refusal { try authority.verifier(environments: nil).receipt(bytes) }
                == (environment == nil ? .wrongEnvironment : nil))
    }

    @Test("Another app's receipt, and another device's, are refused")
    func appAndDevice() throws {
        let verifier = try authority.verifier()
        let other = authority.receipt(TestReceipts.content(bundleID: "com.example.other"))
        #expect(refusal { try verifier.receipt(other) } == .wrongApp)
        let sound = authority.receipt(TestReceipts.content())
        #expect(refusal { try verifier.receipt(sound, device: [1, 2, 3, 4, 5, 6]) } == .wrongDevice)
    }

    @Test("Certificates are checked at the receipt's creation date")
    func validity() throws {
        let verifier = try authority.verifier()
        let late = authority.receipt(TestReceipts.content(created: "2026-01-02T00:00:00Z"))
        #expect(refusal { try verifier.receipt(late) } == .chainExpired)
        let early = authority.receipt(TestReceipts.content(created: "2023-12-31T23:59:59Z"))
        #expect(refusal { try verifier.receipt(early) } == .chainExpired)
        let offset = authority.receipt(TestReceipts.content(created: "2025-06-01T03:00:00+0300"))
        #expect(try verifier.receipt(offset).creationDate.rfc3339 == "2025-06-01T00:00:00.000Z")
        let undated = authority.receipt(TestReceipts.content(created: ""))
        #expect(refusal { try verifier.receipt(undated) } == .malformed)
    }

    @Test("Foreign chains, and certificates without Apple's markers, are refused")
    func chains() throws {
        let other = TestAuthority(keys: .rsa)
        let bytes = other.receipt(TestReceipts.content())
        #expect(refusal { try authority.verifier().receipt(bytes) } == .chainUntrusted)
        var flaws = TestAuthority.Flaws()
        flaws.leafMarker = nil
        let unmarkedLeaf = TestAuthority(keys: .rsa, flaws)
        #expect(
            refusal { try unmarkedLeaf.verifier().receipt(unmarkedLeaf.receipt(TestReceipts.content())) }
                == .missingOID)
        flaws = TestAuthority.Flaws()
        flaws.intermediateMarker = nil
        let unmarked = TestAuthority(keys: .rsa, flaws)
        let receipt = unmarked.receipt(TestReceipts.content())
        #expect(refusal { try unmarked.verifier().receipt(receipt) } == .missingOID)
        var policy = InspectionPolicy { TestAuthority.today }
        policy.roots = [unmarked.root.der]
        #expect(ProofInspection.inspect(receipt, policy: policy).verdict == "missing_oid")
        policy.requiresIntermediateMarker = false
        #expect(ProofInspection.inspect(receipt, policy: policy).isOK)
    }

    @Test("A content in one more octet string is read, and so is one in pieces")
    func wrapped() throws {
        let content = TestReceipts.content()
        let half = content.count / 2
        let pieces = TestASN1.element(0x04, Array(content[..<half])) + TestASN1.element(0x04, Array(content[half...]))
        let forms = [TestASN1.element(0x04, content), TestASN1.element(0x24, pieces), [0x24, 0x80] + pieces + [0, 0]]
        for wrapped in forms {
            let receipt = try authority.verifier().receipt(authority.receipt(wrapped))
            #expect(receipt.transactions.count == 1)
        }
    }

    @Test("Contents that are not a set of attributes are malformed")
    func malformedContents() throws {
        let verifier = try authority.verifier()
        let sound = TestReceipts.content()
        let integer = TestASN1.integer(2)
        func quantity(_ value: [UInt8]) -> [UInt8] {
            TestASN1.attribute(17, TestASN1.set([TestASN1.attribute(1701, value)]))
        }
        let cases: [String: [UInt8]] = [
            "empty": [], "text": Array("hello".utf8), "trailing": sound + [0],
            "a length beyond the end": [0x31, 0x84, 0x7F, 0xFF, 0xFF, 0xFF],
            "an endless length": [0x31, 0xFF] + [UInt8](repeating: 0xFF, count: 200),
            "nested without end": [UInt8](repeating: 0, count: 400).indices.flatMap { _ in [0x31, 0x80] as [UInt8] },
            "no sequence": TestASN1.element(0x31, integer),
            "two fields": TestASN1.set([TestASN1.element(0x30, integer + integer)]),
            "four fields": TestASN1.set([
                TestASN1.element(0x30, integer + integer + TestASN1.element(0x04, []) + integer)
            ]),
            "a huge number": TestReceipts.content(purchases: [
                quantity(TestASN1.element(0x02, [UInt8](repeating: 0x7F, count: 9)))
            ]),
            "a number as text": TestReceipts.content(purchases: [quantity(TestASN1.utf8("7"))]),
            "broken text": TestReceipts.content(extra: [
                TestASN1.attribute(19, TestASN1.element(0x0C, [0xC0, 0x80]))
            ]),
            "no date": TestReceipts.content(extra: [TestASN1.attribute(21, TestASN1.ia5("yesterday"))]),
            "a purchase that is none": TestReceipts.content(extra: [TestASN1.attribute(17, [0x31, 0x05])]),
        ]
        for (name, content) in cases {
            #expect(refusal { try verifier.receipt(authority.receipt(content)) } == .malformed, "\(name)")
        }
        for harmless in [TestASN1.attribute(9_999, [1, 2, 3]), TestASN1.attribute(1, [0xFF])] {
            let content = TestReceipts.content(extra: [harmless])
            #expect(refusal { try verifier.receipt(authority.receipt(content)) } == nil)
        }
    }

    @Test("No flipped bit of a receipt passes unless it changes no trusted data", arguments: [false, true])
    func everyByte(hasSignedAttributes: Bool) throws {
        let verifier = try authority.verifier()
        let bytes = authority.receipt(TestReceipts.content(), hasSignedAttributes: hasSignedAttributes)
        let purchases = try verifier.receipt(bytes).transactions.map(\.id)
        var refused = 0
        for position in stride(from: 0, to: bytes.count, by: 7) {
            var damaged = bytes
            damaged[position] ^= 0x10
            // The enclosed root is not trusted, so nothing may depend on its bytes.
            guard let receipt = try? verifier.receipt(damaged) else {
                refused += 1
                continue
            }
            #expect(receipt.transactions.map(\.id) == purchases)
            #expect(receipt.bundleID == "com.example.learn" && receipt.environment == .production)
        }
        #expect(refused > bytes.count / 7 / 2)
        #expect(refusal { try verifier.receipt(bytes + [0, 0, 0, 0]) } == .malformed)
        #expect(refusal { try verifier.receipt([1, 2, 3, 4]) } == .malformed)
        #expect(refusal { try verifier.receipt([]) } == .malformed)
        for count in stride(from: 0, to: bytes.count, by: 11) {
            #expect(refusal { try verifier.receipt(Array(bytes.prefix(count))) } == .malformed)
        }
    }

    @Test("A thousand purchases are read, and receipts may be base64 with line feeds or PEM")
    func large() throws {
        let content = TestReceipts.content(purchases: (1...1_000).map { TestReceipts.purchase(String($0)) })
        let bytes = authority.receipt(content)
        #expect(try authority.verifier().receipt(bytes).transactions.count == 1_000)
        let lines = PEM.encode(bytes, label: "PKCS7")
        let text = lines.split(separator: "\n").dropFirst().dropLast().joined(separator: "\r\n ")
        #expect(try authority.verifier().receipt(base64: text).transactions.count == 1_000)
        #expect(refusal { try authority.verifier().receipt(base64: "MIIT*") } == .malformed)
        var policy = InspectionPolicy { TestAuthority.today }
        policy.roots = [Array(PEM.encode(authority.root.der, label: "CERTIFICATE").utf8)]
        for form in [bytes, Array(text.utf8), Array(lines.utf8)] {
            let inspection = ProofInspection.inspect(form, policy: policy)
            #expect(inspection.isOK && inspection.kind == .receipt)
            #expect(inspection.fields["in_app"]?.array?.count == 1_000)
        }
    }
}
