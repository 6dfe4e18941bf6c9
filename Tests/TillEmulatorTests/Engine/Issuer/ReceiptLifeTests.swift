import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillAppStore
@testable import TillEmulator

@Suite("Receipts during a purchase's whole life")
struct ReceiptLifeTests {
    /// The members that a receipt and the signed transaction have in common, under different names.
    private func agree(_ record: JSONValue, _ signed: JSONValue, _ comment: Comment) {
        func text(_ name: String) -> String? { signed[name]?.string ?? signed[name]?.int.map { String($0) } }
        // Receipts count whole seconds.
        func whole(_ name: String) -> String? { signed[name]?.int.map { String($0 / 1_000 * 1_000) } }
        #expect(record["transaction_id"]?.string == text("transactionId"), comment)
        #expect(record["original_transaction_id"]?.string == text("originalTransactionId"), comment)
        #expect(record["product_id"]?.string == text("productId"), comment)
        #expect(record["quantity"]?.string == text("quantity"), comment)
        #expect(record["purchase_date_ms"]?.string == whole("purchaseDate"), comment)
        #expect(record["original_purchase_date_ms"]?.string == whole("originalPurchaseDate"), comment)
        #expect(record["expires_date_ms"]?.string == whole("expiresDate"), comment)
        #expect(record["web_order_line_item_id"]?.string == text("webOrderLineItemId"), comment)
        #expect(record["in_app_ownership_type"]?.string == text("inAppOwnershipType"), comment)
        #expect(record["app_account_token"]?.string == text("appAccountToken"), comment)
        if signed["type"] != "Consumable" {
            #expect(record["cancellation_date_ms"]?.string == whole("revocationDate"), comment)
            #expect(record["cancellation_reason"]?.string == text("revocationReason"), comment)
        }
    }

    @Test("A receipt agrees with the signed transaction: bought, finished, refunded")
    func life() async throws {
        let world = try await EmulatedWorld()
        let token: JSONValue = "3f2c1a00-1111-4222-8333-444455556666"
        var ids: [String] = []
        for product in ["points60", "library", "course", "member.monthly"] {
            let bought = try await world.buy(product, ["appAccountToken": token])
            ids.append(try #require(bought["transactionId"]?.string))
            world.advance(seconds: 61)
        }
        for step in ["bought", "finished", "refunded"] {
            for id in ids where step != "bought" {
                let path = "/emulator/transactions/\(id)/\(step == "finished" ? "finish" : "refund")"
                #expect(await world.ask(.post, path, step == "refunded" ? ["reason": 1] : nil).status == 200)
            }
            let answer = try await world.verified()
            for list in [answer["receipt"]?["in_app"], answer["latest_receipt_info"]] {
                let records = list?.array ?? []
                #expect(records.count == (step == "bought" ? 4 : 3))
                for record in records {
                    let id = record["transaction_id"]?.string ?? ""
                    let shown = await world.ask(.get, "/emulator/transactions/\(id)").json
                    agree(record, try payload(of: shown["signedTransaction"]?.string), "\(step) \(id)")
                    let old = await world.ask(
                        .post, "/verifyReceipt", ["receipt-data": .string(try await world.transactionReceipt(id))]
                    ).json
                    for name in ["product_id", "quantity", "web_order_line_item_id", "cancellation_reason"] {
                        #expect(old["receipt"]?[name] == record[name], "\(name)")
                    }
                }
            }
        }
        await world.remove()
    }

    @Test("Our client of verifyReceipt retries at the right host and finds the named transaction")
    func client() async throws {
        let world = try await EmulatedWorld()
        let exchange: AppleSend = { request async throws(AppleConnectionError) in
            let path = request.url.replacing("http://store", with: "")
            let response = await world.emulator.respond(
                to: HTTPRequest(method: .post, path: path, body: request.body))
            let headers = response.headers.fields.map { AppleRequest.Header($0.name, $0.value) }
            return AppleResponse(status: response.status, headers: headers, body: response.body)
        }
        let client = VerifyReceiptClient(exchange: exchange, hosts: .emulator(at: "http://store"), secret: nil)
        let bought = try await world.buy("points60", ["quantity": 2])
        let id = try #require(bought["transactionId"]?.string)
        for text in [try #require(bought["receipt"]?.string), try await world.transactionReceipt(id)] {
            let outcome = await client.verify(try VerifyReceiptRequest(base64: text))
            guard case .answered(let answer, from: .sandbox) = outcome else {
                Issue.record("\(outcome)")
                continue
            }
            var claim = ReceiptExpectation(
                bundleID: EmulatedWorld.bundleID, transactionID: TransactionID(id),
                productID: ProductID("com.example.learnpoints.points60"), quantity: 2, environments: [.sandbox],
                orderOpened: world.now, now: world.now)
            #expect(claim.findings(in: answer, from: .sandbox).isEmpty)
            #expect(answer.other.isEmpty && answer.receipt?.other.isEmpty != false)
            #expect(answer.receipt?.inApp?.allSatisfy { $0.other.isEmpty } != false)
            claim.quantity = 3
            #expect(claim.findings(in: answer, from: .sandbox) == [.quantityMismatch])
        }
        await world.remove()
    }

    @Test("The attributes of a purchase with an offer, and of a volume purchase's expiry, are as documented (§3.2)")
    func attributes() async throws {
        var configuration = EmulatorConfiguration()
        configuration.app.volumePurchaseExpires = EmulatedWorld.start.adding(seconds: 86_400)
        let world = try await EmulatedWorld(configuration)
        try await world.plant("member.monthly", kind: .autoRenewable) {
            $0.offer = StoreTransaction.Offer(
                kind: .promotional, identifier: "back", discount: .freeTrial, period: "P1M")
            $0.revocation = StoreTransaction.Revocation(
                date: $0.purchased, reason: 0, type: "REFUND_FULL", percentage: 100_000)
        }
        try await world.plant("course", kind: .nonRenewing, account: "other")
        let message = try SignedMessage(try await world.emulator.receipt(bundleID: EmulatedWorld.bundleID))
        let payload = try ReceiptPayload(message.content)
        #expect(payload.attributeTypes == Set(0...21).union([25]))
        #expect(payload.receiptType == "ProductionVPPSandbox" && payload.environment == .sandbox)
        #expect(payload.expirationDate == Instant(seconds: EmulatedWorld.start.seconds + 86_400))
        let purchase = try #require(payload.purchases.first)
        #expect(purchase.attributeTypes == Set(1_701...1_722).subtracting([1_720]))
        #expect(purchase.isTrialPeriod == 1 && purchase.isInIntroductoryOfferPeriod == 0)
        #expect(purchase.promotionalOfferID == "back")
        #expect(purchase.cancellationDate == Instant(seconds: EmulatedWorld.start.seconds))
        let other = try SignedMessage(
            try await world.emulator.receipt(account: "other", bundleID: EmulatedWorld.bundleID))
        let plain = try #require(try ReceiptPayload(other.content).purchases.first)
        #expect(plain.attributeTypes == Set(1_701...1_722).subtracting([1_720, 1_721]))
        #expect(plain.expiresDate == nil && plain.cancellationDate == nil && plain.productType == 2)
        await world.remove()
    }

    /// A number of purchases with consecutive ids.
    private func stock(_ world: EmulatedWorld, _ count: Int) async throws -> StoreTransaction {
        let first = try await world.plant("course", kind: .nonRenewing)
        try await world.emulator.store.change { change in
            for _ in 1..<count {
                var next = first
                next.number = try Counter.transaction.take(change.connection)
                next.original = next.number
                try TransactionTable.insert(next, change.connection)
            }
        }
        return first
    }

    @Test("A receipt of 2,000 purchases is created and answered quickly, and lists each of them once")
    func big() async throws {
        let world = try await EmulatedWorld()
        _ = try await stock(world, 2_000)
        let clock = ContinuousClock()
        var receipt: [UInt8] = []
        let made = try await clock.measure {
            receipt = try await world.emulator.receipt(bundleID: EmulatedWorld.bundleID)
        }
        let body = Array(JSONValue.object(["receipt-data": .string(Base64.encode(receipt))]).encoded().utf8)
        var response = HTTPResponse(status: 0)
        let answered = await clock.measure {
            response = await world.emulator.respond(to: HTTPRequest(method: .post, path: "/verifyReceipt", body: body))
        }
        let answer = try VerifyReceiptResponse(decoding: response.body)
        #expect(answer.status == .genuine)
        #expect(Set(answer.receipt?.inApp?.compactMap(\.transactionID) ?? []).count == 2_000)
        // Generous, because the machine may run other work. An unoptimised build needs some seconds.
        #expect(made < .seconds(30) && answered < .seconds(30), "made in \(made), answered in \(answered)")
        let each = Int64(receipt.count) / 2_000
        #expect(each * Int64(Store.receiptLimit) < Int64(SignedDataVerifier.receiptLimit), "\(each) bytes each")
        await world.remove()
    }

    @Test("The attributes are in DER's order, within purchases too")
    func derOrder() async throws {
        let world = try await EmulatedWorld()
        _ = try await stock(world, 40)
        try await world.plant("member.monthly", kind: .autoRenewable) {
            let name = String(repeating: "x", count: 130)
            $0.offer = StoreTransaction.Offer(
                kind: .promotional, identifier: name, discount: .payUpFront, period: "P1M")
        }
        let message = try SignedMessage(try await world.emulator.receipt(bundleID: EmulatedWorld.bundleID))
        let payload = try ReceiptPayload(message.content)
        func sorted(_ attributes: [ReceiptAttribute]) -> [UInt8] {
            DERWriter.setOf(
                attributes.map { attribute in
                    DERWriter.sequence(
                        DERWriter.integer(attribute.type), DERWriter.integer(attribute.version),
                        DERWriter.octetString(Array(attribute.value)))
                })
        }
        #expect(sorted(payload.attributes) == message.content)
        #expect(payload.purchases.count == 41)
        for purchase in payload.purchases { #expect(sorted(purchase.attributes) == purchase.encoded()) }
        await world.remove()
    }
}
