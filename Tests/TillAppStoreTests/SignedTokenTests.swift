import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

@Suite("Signed tokens are verified only when everything matches")
struct SignedTokenTests {
    private static let authority = TestAuthority()
    private var authority: TestAuthority { Self.authority }

    @Test("A sound transaction is verified with its fields")
    func soundTransaction() throws {
        let transaction = try authority.verifier().transaction(authority.sign(TestPayloads.transaction()))
        #expect(transaction.id == TransactionID("2000000900000001"))
        #expect(transaction.productID == ProductID("com.example.learn.coins60"))
        #expect(transaction.quantity == 1)
        #expect(transaction.type == .consumable)
        #expect(transaction.environment == .production)
        #expect(transaction.appAccountToken == UniqueID("7e3fb20b-4cdb-47cc-936d-99d65f608138"))
        #expect(transaction.price == Money(amount: 600, currency: Currency("CNY")))
        #expect(transaction.storefront == "CHN")
        #expect(transaction.ownership == .purchased)
        #expect(transaction.transactionReason == .purchase)
        #expect(!transaction.isRevoked && !transaction.isUpgraded)
        #expect(transaction.signedDate == TestAuthority.today)
    }

    @Test("The third certificate of x5c is ignored; only the configured root counts")
    func thirdCertificate() throws {
        let other = TestAuthority()
        let certificates = authority.certificates
        let jws = authority.sign(TestPayloads.transaction(), x5c: [certificates[0], certificates[1], other.root.der])
        #expect(refusal { try authority.verifier().transaction(jws) } == nil)
        #expect(refusal { try other.verifier().transaction(jws) } == .chainUntrusted)
        let foreign = other.sign(TestPayloads.transaction(), x5c: other.certificates)
        #expect(refusal { try authority.verifier().transaction(foreign) } == .chainUntrusted)
    }

    @Test(
        "The algorithm is ES256, whatever the header says",
        arguments: ["none", "HS256", "ES384", "RS256", "es256", ""])
    func algorithm(name: String) throws {
        let jws = authority.sign(TestPayloads.transaction(), alg: name)
        #expect(refusal { try authority.verifier().transaction(jws) } == .malformed)
    }

    @Test("A header without certificates has another verdict than one with too few or too many")
    func chainLength() throws {
        let verifier = try authority.verifier()
        let certificates = authority.certificates
        let payload = TestPayloads.transaction()
        #expect(refusal { try verifier.transaction(authority.sign(payload, header: ["alg": "ES256"])) } == .missingX5C)
        #expect(refusal { try verifier.transaction(authority.sign(payload, x5c: [])) } == .missingX5C)
        #expect(refusal { try verifier.transaction(authority.sign(payload, x5c: [certificates[0]])) } == .chainLength)
        #expect(
            refusal { try verifier.transaction(authority.sign(payload, x5c: Array(certificates.prefix(2)))) }
                == .chainLength)
        #expect(
            refusal { try verifier.transaction(authority.sign(payload, x5c: certificates + [certificates[2]])) }
                == .chainLength)
    }

    @Test("Unreadable certificates are bad certificates")
    func badCertificates() throws {
        let verifier = try authority.verifier()
        let certificates = authority.certificates
        let trailing = [certificates[0] + [0], certificates[1], certificates[2]]
        #expect(
            refusal { try verifier.transaction(authority.sign(TestPayloads.transaction(), x5c: trailing)) }
                == .badCertificate)
        let texts: [JSONValue] = ["not base64!", .string(Base64.encode(certificates[1])), ""]
        let header: JSONValue = ["alg": "ES256", "x5c": .array(texts)]
        #expect(
            refusal { try verifier.transaction(authority.sign(TestPayloads.transaction(), header: header)) }
                == .badCertificate)
        let numbers: JSONValue = ["alg": "ES256", "x5c": [1, 2, 3]]
        #expect(
            refusal { try verifier.transaction(authority.sign(TestPayloads.transaction(), header: numbers)) }
                == .badCertificate)
    }

    @Test("Both marker extensions are required")
    func markers() throws {
        var flaws = TestAuthority.Flaws()
        flaws.leafMarker = "1.2.840.113635.100.6.11.2"
        let unmarkedLeaf = TestAuthority(flaws)
        #expect(
            refusal { try unmarkedLeaf.verifier().transaction(unmarkedLeaf.sign(TestPayloads.transaction())) }
                == .missingOID)
        flaws = TestAuthority.Flaws()
        flaws.intermediateMarker = nil
        let unmarked = TestAuthority(flaws)
        #expect(
            refusal { try unmarked.verifier().transaction(unmarked.sign(TestPayloads.transaction())) } == .missingOID)
    }

    @Test("An intermediate that may not issue, and a chain in the wrong order, are untrusted")
    func brokenChains() throws {
        var flaws = TestAuthority.Flaws()
        flaws.intermediateIsCA = false
        let broken = TestAuthority(flaws)
        #expect(
            refusal { try broken.verifier().transaction(broken.sign(TestPayloads.transaction())) } == .chainUntrusted)
        let swapped = [authority.certificates[1], authority.certificates[0], authority.certificates[2]]
        let jws = authority.sign(TestPayloads.transaction(), x5c: swapped)
        #expect(refusal { try authority.verifier().transaction(jws) } != nil)
    }

    @Test("Certificates are checked at the time of signing, to the second")
    func validity() throws {
        let validity = TestAuthority.validity
        let verifier = try authority.verifier()
        func verdict(_ seconds: Int64) -> Verdict? {
            let payload = TestPayloads.transaction(["signedDate": .int(seconds * 1_000)])
            return refusal { try verifier.transaction(authority.sign(payload)) }
        }
        for _ in 0..<2 {
            // The second round uses a cached chain and must have the same result.
            #expect(verdict(validity.lowerBound - 1) == .chainExpired)
            #expect(verdict(validity.lowerBound) == nil)
            #expect(verdict(validity.upperBound - 1) == nil)
            #expect(verdict(validity.upperBound) == .chainExpired)
            #expect(verdict(validity.upperBound + 1) == .chainExpired)
        }
        #expect(verifier.cachedChainCount == 1)
    }

    @Test("A leaf of another curve can't have an ES256 signature", arguments: [TestAuthority.Key.p384, .rsa])
    func otherKeys(key: TestAuthority.Key) throws {
        var flaws = TestAuthority.Flaws()
        flaws.leafKey = key
        let other = TestAuthority(flaws)
        #expect(refusal { try other.verifier().transaction(other.sign(TestPayloads.transaction())) } == .badSignature)
    }

    @Test("Signatures that are malformed, empty or out of range are bad")
    func signatures() throws {
        let verifier = try authority.verifier()
        let jws = authority.sign(TestPayloads.transaction())
        let parts = jws.split(separator: ".")
        let input = parts[0] + "." + parts[1]
        let order = bytesOfHexadecimal("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        let zero = [UInt8](repeating: 0, count: 32)
        let forms: [[UInt8]] = [
            [], zero, zero + zero, order + order, [UInt8](repeating: 0xFF, count: 64),
            authority.leaf.signDER(Array(input.utf8)), authority.leaf.signES256(Array(input.utf8)) + [0],
            authority.intermediate.signES256(Array(input.utf8)),
        ]
        for (index, signature) in forms.enumerated() {
            let forged = input + "." + Base64.encode(signature, .url)
            #expect(refusal { try verifier.transaction(String(forged)) } == .badSignature, "form \(index)")
        }
        #expect(verifier.cachedChainCount == 0, "a chain is remembered only after a good signature")
    }

    @Test("No token with a single flipped bit passes, nor any text other than the signed one")
    func everyByte() throws {
        let verifier = try authority.verifier()
        let jws = Array(authority.sign(TestPayloads.transaction()).utf8)
        _ = try verifier.transaction(jws)
        let payloadStart = (jws.firstIndex(of: UInt8(ascii: ".")) ?? 0) - 4
        // The header is long and slow to verify, so only every 13th of its bytes is tried; all of the rest.
        for position in Array(stride(from: 0, to: payloadStart, by: 13)) + Array(payloadStart..<jws.count) {
            for bit in position < payloadStart ? [0] : [0, 1, 5] {
                var damaged = jws
                damaged[position] ^= 1 << UInt8(bit)
                #expect(refusal { try verifier.transaction(damaged) } != nil, "byte \(position), bit \(bit)")
            }
        }
        let text = String(decoding: jws, as: UTF8.self)
        let cut = String(text.dropLast())
        for variant in [text + "=", text + "A", text + ".", " " + text, text + "\n", "." + text, cut] {
            #expect(refusal { try verifier.transaction(variant) } != nil)
        }
        #expect(refusal { try verifier.transaction([]) } == .malformed)
        #expect(refusal { try verifier.transaction("..") } == .malformed)
        let long = [UInt8](repeating: UInt8(ascii: "A"), count: SignedDataVerifier.tokenLimit + 1)
        #expect(refusal { try verifier.transaction(long) } == .malformed)
    }
}
