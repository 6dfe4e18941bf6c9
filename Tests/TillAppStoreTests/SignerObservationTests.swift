import Testing
import TillAppStore
import TillBilling
import TillCrypto

@Suite("The signers that a verification relies on") struct SignerObservationTests {
    private static let urls = [RevocationResponder.leafURL, RevocationResponder.intermediateURL]

    @Test("Every signature of a notification is reported with its own date, with a cached chain as with a new one")
    func notification() throws {
        let authority = RevocationResponder().authority
        let verifier = try authority.verifier()
        let transaction = authority.sign(TestPayloads.transaction(["signedDate": 1_748_700_000_000]))
        let renewal = authority.sign(TestPayloads.renewal())
        let jws = Array(
            authority.sign(
                TestPayloads.notification(data: [
                    "signedTransactionInfo": .string(transaction), "signedRenewalInfo": .string(renewal),
                ])
            ).utf8)
        for _ in 0..<2 {
            let (_, observations) = try verifier.observingSigners { verifier throws(VerificationError) in
                try verifier.notification(jws)
            }
            #expect(observations.map(\.signedAt?.milliseconds).contains(1_748_700_000_000))
            #expect(observations.count == 3)
            for observation in observations { #expect(observation.questions.map(\.responderURL) == Self.urls) }
        }
        #expect(verifier.cachedChainCount == 1)
    }

    @Test("A receipt's chain is reported with the receipt's own date, also when it is cached")
    func receipt() throws {
        let urls = TestAuthority.Flaws(
            leafOCSP: RevocationResponder.leafURL, intermediateOCSP: RevocationResponder.intermediateURL)
        let authority = TestAuthority(keys: .rsa, urls)
        let verifier = try authority.verifier()
        for _ in 0..<2 {
            let (receipt, observations) = try verifier.observingSigners { verifier throws(VerificationError) in
                try verifier.receipt(authority.receipt(TestReceipts.content()))
            }
            #expect(observations.count == 1)
            #expect(observations.first?.signedAt == receipt.creationDate)
            #expect(observations.first?.questions.map(\.responderURL) == Self.urls)
        }
        #expect(verifier.cachedReceiptChainCount == 1)
    }

    @Test("A failed verification reports no signer: outsiders can't choose the addresses of OCSP requests")
    func failures() throws {
        let (ours, theirs) = (RevocationResponder().authority, RevocationResponder().authority)
        let verifier = try ours.verifier()
        let good = ours.sign(TestPayloads.transaction())
        for jws in [theirs.sign(TestPayloads.transaction()), String(good.dropLast(4)) + "AAAA"] {
            var seen: SignedDataVerifier?
            #expect(throws: VerificationError.self) {
                try verifier.observingSigners { watching throws(VerificationError) in
                    seen = watching
                    return try watching.transaction(jws)
                }
            }
            #expect(seen != nil)
        }
        #expect(verifier.cachedChainCount == 0)
    }
}
