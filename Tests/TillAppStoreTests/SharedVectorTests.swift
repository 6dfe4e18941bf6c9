import Testing
import TillAppStore
import TillBilling

@Suite("Real proofs have the verdicts of the manifest", .enabled(if: SharedVectors.arePresent, SharedVectors.absence))
struct SharedVectorTests {
    @Test("There are proofs to verify")
    func manifestIsThere() {
        #expect(SharedVectors.proofs.count >= 60)
        #expect(SharedVectors.proofs.allSatisfy { !$0.bytes.isEmpty })
    }

    @Test("Every JWS, receipt and chain has its verdict and kind", arguments: SharedVectors.proofs)
    func verdict(row: SharedVectors.Row) {
        let inspection = row.inspect()
        if row.expect == "reject" {
            #expect(!inspection.isOK && inspection.verdict != "ok-unverified")
        } else {
            #expect(inspection.verdict == row.expect, "\(inspection.detail)")
        }
        #expect(inspection.kind.rawValue == row.kind)
    }

    @Test("A real sandbox transaction is verified with all its fields")
    func realTransaction() throws {
        var policy = TrustPolicy(bundleID: "Com.VoiceRecording.Telephone", environments: [.sandbox]) { testNow }
        policy.isStrict = true
        let verifier = try SignedDataVerifier(policy: policy)
        let transaction = try verifier.transaction(ProofBytes.of("gopay-subscription-transaction"))
        #expect(transaction.id.text == "2000000191896422")
        #expect(transaction.originalID.text == "2000000184445477")
        #expect(transaction.webOrderLineItemID == "2000000014019133")
        #expect(transaction.type == .autoRenewable)
        #expect(transaction.environment == .sandbox)
        #expect(transaction.source == .signedTransaction)
        #expect(transaction.appAccountToken != nil)
        #expect(transaction.expiresDate.map { $0 > transaction.purchaseDate } == true)
        #expect(verifier.cachedChainCount == 1)
    }

    @Test("A real renewal notification carries its verified transaction and renewal")
    func realNotification() throws {
        let row = try SharedVectors.row("gopay-did-renew")
        var policy = TrustPolicy(bundleID: row.policy["bundleId"]?.string, environments: [.sandbox]) { testNow }
        policy.at = row.policy["at"]?.int.map { Instant(seconds: $0) }
        let notification = try SignedDataVerifier(policy: policy).notification(ProofBytes.of("gopay-did-renew"))
        #expect(notification.type == .didRenew)
        #expect(notification.transaction?.bundleID == policy.bundleID)
        #expect(notification.renewalInfo?.payload.autoRenewStatus != nil)
        #expect(notification.renewalInfo?.originalTransactionID == notification.transaction?.originalID)
        #expect(notification.signedDate == nil)
    }

    @Test("The same notification verified today is refused: it has no date, and its signer has expired")
    func realNotificationToday() throws {
        let policy = TrustPolicy(bundleID: nil, environments: nil) { testNow }
        let verifier = try SignedDataVerifier(policy: policy)
        #expect(refusal { try verifier.notification(ProofBytes.of("gopay-did-renew")) } == .chainExpired)
    }

    @Test("A sandbox transaction is no production purchase")
    func environmentOfConfiguration() throws {
        let policy = TrustPolicy(bundleID: nil, environments: [.production]) { testNow }
        let verifier = try SignedDataVerifier(policy: policy)
        #expect(refusal { try verifier.transaction(ProofBytes.of("gopay-transaction")) } == .wrongEnvironment)
    }

    @Test("Xcode's transactions are decoded by an inspection, and by no server")
    func xcode() throws {
        let bytes = ProofBytes.of("apple-xcode-signed-transaction")
        var inspection = InspectionPolicy { testNow }
        inspection.environment = "Xcode"
        #expect(ProofInspection.inspect(bytes, policy: inspection).verdict == "ok-unverified")
        inspection.environment = nil
        #expect(ProofInspection.inspect(bytes, policy: inspection).verdict == "chain_length")
        let verifier = try SignedDataVerifier(policy: TrustPolicy(bundleID: nil, environments: nil) { testNow })
        #expect(refusal { try verifier.transaction(bytes) } == .chainLength)
    }

    @Test("A real receipt's purchases become transactions")
    func realReceipt() throws {
        let policy = TrustPolicy(bundleID: "com.hannesoid.PurchasingExperiments", environments: [.sandbox]) { testNow }
        let verifier = try SignedDataVerifier(policy: policy)
        let device = bytesOfHexadecimal("e618109862dd433fbb94675d3815d263")
        let text = try String(decoding: SharedVectors.row("ideas-purchasing-sandbox").bytes, as: UTF8.self)
        let receipt = try verifier.receipt(base64: text, device: device)
        #expect(Set(receipt.transactions.map(\.id.text)) == ["2000000284164152", "2000000284164527"])
        let subscription = try #require(receipt.transaction(TransactionID("2000000284164527")))
        #expect(subscription.webOrderLineItemID == "2000000021470597")
        #expect(subscription.source == .receipt)
        #expect(subscription.signedDate == receipt.creationDate)
        #expect(subscription.appAccountToken == nil && subscription.price == nil)
        #expect(receipt.transaction(TransactionID("2000000284164528")) == nil)
        let other = [UInt8](repeating: 0, count: 16)
        #expect(refusal { try verifier.receipt(base64: text, device: other) } == .wrongDevice)
    }

    @Test("A real production receipt without purchases is valid and grants nothing")
    func emptyReceipt() throws {
        let verifier = try SignedDataVerifier(
            policy: TrustPolicy(bundleID: "com.apple.dt.Xcode", environments: [.production]) { testNow })
        let receipt = try verifier.receipt(SharedVectors.row("kvitto-xcode-app").bytes)
        #expect(receipt.environment == .production)
        #expect(receipt.transactions.isEmpty)
    }

    @Test("A receipt's 54 purchases are all read, and damage to any byte causes no crash and no false acceptance")
    func damagedReceipt() throws {
        let bytes = try SharedVectors.row("imdhemy-asn1").bytes
        let verifier = try SignedDataVerifier(
            policy: TrustPolicy(bundleID: "com.twigano.fashion", environments: [.sandbox]) { testNow })
        let receipt = try verifier.receipt(bytes)
        #expect(receipt.payload.purchases.count == 54)
        #expect(Set(receipt.transactions.map(\.id)).count == 54)
        let content = receipt.payload.purchases.count * 380
        for position in stride(from: 60, to: content, by: 211) {
            var damaged = bytes
            damaged[position] ^= 0x01
            #expect(refusal { try verifier.receipt(damaged) } != nil, "byte \(position)")
        }
        for count in stride(from: 0, to: bytes.count, by: 487) {
            #expect(refusal { try verifier.receipt(Array(bytes.prefix(count))) } == .malformed, "\(count) bytes")
        }
    }

    @Test("Removing the unsigned environment line of an old-style receipt makes it read as production, and no more")
    func oldStyleEnvironment() throws {
        let row = try SharedVectors.row("mbaasy-tx-sandbox")
        let decoded = try #require(Base64Text.decode(row.bytes))
        let changed = decoded.replacing("\"environment\" = \"Sandbox\";", with: "")
        #expect(changed != decoded)
        let inspection = ProofInspection.inspect(Array(changed.utf8), policy: InspectionPolicy { testNow })
        #expect(inspection.kind == .oldStyleReceipt)
        #expect(inspection.isOK)
        #expect(inspection.fields["environment"] == "Production")
        #expect(inspection.fields["transaction_id"] == "1000000181298734")
        #expect(inspection.fields["chain_to_apple_root"] == "ok")
    }

    @Test("An old-style receipt with an altered purchase has a bad signature")
    func oldStyleAltered() throws {
        let row = try SharedVectors.row("mbaasy-tx-sandbox")
        let outer = try #require(Base64Text.decode(row.bytes))
        let info = try #require(outer.firstMatch(of: /"purchase-info" = "([^"]*)"/)?.1)
        let purchase = try #require(Base64Text.decode(Array(info.utf8)))
        let altered = purchase.replacing("\"quantity\" = \"1\"", with: "\"quantity\" = \"9\"")
        #expect(altered != purchase)
        let forged = outer.replacing(info, with: Base64Text.encode(altered))
        let inspection = ProofInspection.inspect(Array(forged.utf8), policy: InspectionPolicy { testNow })
        #expect(inspection.verdict == "bad_signature")
    }
}
