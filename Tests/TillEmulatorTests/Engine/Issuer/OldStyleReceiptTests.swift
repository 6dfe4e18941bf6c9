import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Old-style receipts of single transactions, created and verified (facts/verify-receipt §9)")
struct OldStyleReceiptTests {
    private func ask(
        _ world: EmulatedWorld, _ receipt: String, path: String = "/verifyReceipt", _ more: [String: JSONValue] = [:]
    ) async -> JSONValue {
        await world.ask(.post, path, .object(more.merging(["receipt-data": .string(receipt)]) { $1 })).json
    }

    private func inspect(_ text: String, _ roots: [[UInt8]]?) throws -> ProofInspection {
        var policy = InspectionPolicy { EmulatedWorld.start }
        policy.roots = roots
        policy.bundleID = EmulatedWorld.bundleID
        return ProofInspection.inspect(Array(text.utf8), policy: policy)
    }

    @Test("The receipt is property-list text that verifies with the store's root and with no other")
    func verifies() async throws {
        let world = try await EmulatedWorld()
        let other = try await EmulatedWorld()
        let id = try #require(try await world.buy("points60", ["quantity": 3])["transactionId"]?.string)
        let text = try await world.transactionReceipt(id)
        let root = world.emulator.issuer.rootCertificate
        let inspection = try inspect(text, [root])
        #expect(inspection.kind == .oldStyleReceipt)
        #expect(inspection.verdict == "ok", "\(inspection.detail)")
        #expect(inspection.fields["blob_version"] == 2)
        #expect(inspection.fields["signature_valid"] == true)
        #expect(inspection.fields["leaf_valid_at_purchase"] == true)
        #expect(inspection.fields["leaf_signed_by_itunes_ca"] == false)
        #expect(inspection.fields["outer"] == ["environment": "Sandbox", "pod": "100", "signing-status": "0"])
        #expect(try inspect(text, nil).verdict == "chain_untrusted")
        #expect(try inspect(text, [other.emulator.issuer.rootCertificate]).verdict == "chain_untrusted")
        let receipt = try #require(OldStyleReceipt(Base64.decode(text) ?? []))
        #expect(receipt.purchase.transactionID == id)
        #expect(receipt.purchase.quantity == 3)
        #expect(receipt.purchase.bundleID == EmulatedWorld.bundleID)
        #expect(receipt.purchase.purchaseDate == EmulatedWorld.start)
        #expect(receipt.purchase.uniqueIdentifier?.count == 40)
        await world.remove()
        await other.remove()
    }

    @Test("OpenSSL verifies its signature: SHA-1 with RSA over the version and the purchase")
    func openSSL() async throws {
        let world = try await EmulatedWorld()
        let id = try #require(try await world.buy()["transactionId"]?.string)
        let text = String(decoding: Base64.decode(try await world.transactionReceipt(id)) ?? [], as: UTF8.self)
        #expect(text.hasPrefix("{\n\t\"signature\" = \"") && text.hasSuffix("\t\"signing-status\" = \"0\";\n}"))
        func line(_ key: String) -> [UInt8] {
            let match = text.firstMatch(of: try! Regex("\"\(key)\" = \"([^\"]*)\";"))
            return Base64.decode(String(match?.output[1].substring ?? "")) ?? []
        }
        let (blob, info) = (line("signature"), line("purchase-info"))
        try #require(blob.count > 133)
        #expect(blob[0] == 2)
        let length = blob[129..<133].reduce(0) { $0 << 8 | Int($1) }
        #expect(blob.count == 133 + length)
        try Data(blob[1..<129]).write(to: world.directory.appendingPathComponent("signature"))
        try Data([2] + info).write(to: world.directory.appendingPathComponent("signed"))
        try Data(blob[133...]).write(to: world.directory.appendingPathComponent("leaf.der"))
        try Data(world.emulator.issuer.rootCertificate).write(to: world.directory.appendingPathComponent("root.der"))
        let script = """
            openssl x509 -inform DER -in leaf.der -out leaf.pem && openssl x509 -inform DER -in root.der -out root.pem \
            && openssl x509 -in leaf.pem -pubkey -noout > key.pem \
            && openssl dgst -sha1 -verify key.pem -signature signature signed \
            && openssl verify -auth_level 0 -attime \(world.now.seconds) -CAfile root.pem leaf.pem
            """
        let ran = try run(["sh", "-c", script], in: world.directory)
        #expect(ran.status == 0 && ran.output.contains("Verified OK"), "\(ran.output)")
        await world.remove()
    }

    @Test("A consumable's answer is flat, with every key of the purchase written with underscores")
    func consumable() async throws {
        let world = try await EmulatedWorld()
        let id = try #require(try await world.buy("points60", ["quantity": 2])["transactionId"]?.string)
        let answer = await ask(world, try await world.transactionReceipt(id))
        #expect(Set(answer.object?.keys ?? [:].keys) == ["status", "receipt"])
        #expect(answer["status"] == 0)
        let receipt = try #require(answer["receipt"]?.object)
        let expected: [String: JSONValue] = [
            "transaction_id": .string(id), "original_transaction_id": .string(id), "quantity": "2",
            "product_id": "com.example.learnpoints.points60", "bid": "com.example.learnpoints", "bvrs": "1",
            "purchase_date": "2026-03-01 08:30:00 Etc/GMT", "purchase_date_ms": "1772353800123",
            "purchase_date_pst": "2026-03-01 00:30:00 America/Los_Angeles",
            "original_purchase_date": "2026-03-01 08:30:00 Etc/GMT", "original_purchase_date_ms": "1772353800123",
            "original_purchase_date_pst": "2026-03-01 00:30:00 America/Los_Angeles",
        ]
        for (name, value) in expected { #expect(receipt[name] == value, "\(name)") }
        let others = Set(receipt.keys).subtracting(expected.keys)
        #expect(others == ["item_id", "unique_identifier", "unique_vendor_identifier"])
        let typed = try VerifyReceiptResponse(decoding: Array(answer.encoded().utf8))
        #expect(typed.legacy?.receipt?.transactionID == id)
        #expect(typed.legacy?.receipt?.other.isEmpty == true && typed.other.isEmpty)
        await world.remove()
    }

    @Test("A subscriber's answer has the newest transaction while active, 21006 after expiry, 0 after a resubscription")
    func subscriber() async throws {
        let world = try await EmulatedWorld()
        let first = try await world.plant("member.monthly", kind: .autoRenewable) {
            $0.offer = StoreTransaction.Offer(kind: .introductory, discount: .freeTrial, period: "P1M")
        }
        try await world.plantSubscription(first)
        let receipt = try await world.transactionReceipt(first.id.text)
        var answer = await ask(world, receipt)
        #expect(answer["status"] == 0)
        #expect(answer["auto_renew_status"] == 1)
        #expect(answer["auto_renew_product_id"]?.string == first.productID.text)
        #expect(answer["receipt"]?["is_trial_period"] == "true")
        #expect(answer["receipt"]?["expires_date"] == "1774945800123")
        #expect(answer["receipt"]?["expires_date_formatted"] == "2026-03-31 08:30:00 Etc/GMT")
        #expect(answer["receipt"]?["expires_date_formatted_pst"] == "2026-03-31 01:30:00 America/Los_Angeles")
        #expect(answer["latest_receipt_info"]?["transaction_id"]?.string == first.id.text)
        #expect(answer["expiration_intent"] == nil && answer["latest_expired_receipt_info"] == nil)
        world.advance(seconds: 29 * 86_400)
        let renewal = try await world.plant("member.monthly", kind: .autoRenewable) {
            ($0.original, $0.reason, $0.firstPurchased) = (first.original, "RENEWAL", first.purchased)
        }
        try await world.plantSubscription(renewal)
        answer = await ask(world, receipt)
        #expect(answer["receipt"]?["transaction_id"]?.string == first.id.text)
        #expect(answer["latest_receipt_info"]?["transaction_id"]?.string == renewal.id.text)
        let latest = try #require(answer["latest_receipt"]?.string)
        #expect(await ask(world, latest)["receipt"]?["transaction_id"]?.string == renewal.id.text)
        world.advance(seconds: 31 * 86_400)
        try await world.plantSubscription(renewal) {
            ($0.state, $0.renews, $0.expirationIntent) = (.expired, false, 1)
        }
        answer = await ask(world, receipt)
        #expect(answer["status"] == 21006)
        #expect(answer["latest_expired_receipt_info"]?["transaction_id"]?.string == renewal.id.text)
        #expect(answer["latest_receipt"] == nil && answer["latest_receipt_info"] == nil)
        #expect(answer["auto_renew_status"] == 0 && answer["expiration_intent"] == "1")
        let typed = try VerifyReceiptResponse(decoding: Array(answer.encoded().utf8))
        #expect(typed.legacy?.latestExpired?.transactionID == renewal.id.text)
        try await world.plantSubscription(renewal) {
            ($0.state, $0.expirationIntent, $0.graceExpires) = (.gracePeriod, 2, $0.expires.adding(seconds: 9_999_999))
        }
        answer = await ask(world, receipt)
        #expect(answer["status"] == 0 && answer["is_in_billing_retry_period"] == "1")
        let back = try await world.plant("member.monthly", kind: .autoRenewable) { $0.original = first.original }
        try await world.plantSubscription(back)
        #expect(await ask(world, receipt)["status"] == 0)
        let refund = StoreTransaction.Revocation(date: world.now, reason: 1, type: "REFUND_FULL", percentage: 100_000)
        try await world.emulator.store.change { change in
            var refunded = back
            refunded.revocation = refund
            try TransactionTable.update(refunded, change.connection)
        }
        answer = await ask(world, receipt)
        #expect(answer["status"] == 21006 && answer["cancellation_reason"] == "1")
        #expect(
            answer["latest_expired_receipt_info"]?["cancellation_date_ms"]?.string == String(world.now.milliseconds))
        await world.remove()
    }

    @Test("Forged, altered, foreign and broken ones are refused; the secret and the host apply to them too")
    func refusals() async throws {
        var configuration = EmulatorConfiguration()
        configuration.sharedSecret = "secret"
        let world = try await EmulatedWorld(configuration)
        let other = try await EmulatedWorld(configuration)
        let id = try #require(try await world.buy()["transactionId"]?.string)
        let receipt = try await world.transactionReceipt(id)
        #expect(await ask(world, receipt)["status"] == 0)
        #expect(await ask(world, receipt, ["password": "x"])["status"] == 21004)
        #expect(await ask(world, receipt, path: "/production/verifyReceipt") == ["status": 21007])
        #expect(await ask(other, receipt) == ["status": 21003])
        let text = String(decoding: Base64.decode(receipt) ?? [], as: UTF8.self)
        let info = try #require(text.firstMatch(of: /"purchase-info" = "([^"]*)"/)?.1)
        let purchase = String(decoding: Base64.decode(String(info)) ?? [], as: UTF8.self)
        let dearer = Base64.encode(Array(purchase.replacing("points60", with: "points680").utf8))
        func encoded(_ text: String) -> String { Base64.encode(Array(text.utf8)) }
        #expect(await ask(world, encoded(text.replacing(info, with: dearer))) == ["status": 21003])
        #expect(await ask(world, encoded(text.replacing("signature", with: "sign"))) == ["status": 21003])
        #expect(await ask(world, encoded(text.replacing("purchase-info", with: "purchase"))) == ["status": 21002])
        #expect(await ask(world, encoded("{}")) == ["status": 21002])
        #expect(await ask(world, encoded("{ \"a\" = ")) == ["status": 21002])
        // The line that names the environment is not signed, so nothing depends on it.
        let claimed = encoded(text.replacing("\t\"environment\" = \"Sandbox\";\n", with: ""))
        #expect(await ask(world, claimed)["status"] == 0)
        let member = try await world.plant("member.monthly", kind: .autoRenewable)
        try await world.plantSubscription(member)
        let subscriber = try await world.transactionReceipt(member.id.text)
        #expect(await ask(world, subscriber) == ["status": 21004])
        #expect(await ask(world, subscriber, ["password": "secret"])["status"] == 0)
        let waiting = try await world.buy("points60", ["outcome": "deferred"])["transactionId"]?.string ?? ""
        #expect(await world.ask(.get, "/emulator/transactions/\(waiting)/receipt").json["code"] == "not_purchased")
        #expect(await world.ask(.get, "/emulator/transactions/1/receipt").json["code"] == "unknown_transaction")
        await world.remove()
        await other.remove()
    }

    @Test("Receipts of production contain the app's numbers, the device's id and no environment")
    func production() async throws {
        var configuration = EmulatorConfiguration()
        configuration.environment = .production
        let world = try await EmulatedWorld(configuration)
        let id = try #require(try await world.buy()["transactionId"]?.string)
        let answer = await world.ask(
            .get, "/emulator/transactions/\(id)/receipt",
            query: [("deviceId", "3f2c1a00-1111-4222-8333-444455556666")])
        let text = try #require(answer.json["receipt"]?.string)
        let receipt = try #require(OldStyleReceipt(Base64.decode(text) ?? []))
        #expect(receipt.unsigned == ["pod": "17", "signing-status": "0"])
        #expect(receipt.purchase.appItemID == 690_661_663)
        #expect(receipt.purchase.versionExternalIdentifier == 863_855_306)
        #expect(receipt.purchase.itemID ?? 0 > 0)
        #expect(receipt.purchase.uniqueVendorIdentifier == "3F2C1A00-1111-4222-8333-444455556666")
        #expect(await ask(world, text, path: "/sandbox/verifyReceipt") == ["status": 21008])
        #expect(await ask(world, text)["status"] == 0)
        #expect(try inspect(text, [world.emulator.issuer.rootCertificate]).verdict == "ok")
        await world.remove()
    }
}
