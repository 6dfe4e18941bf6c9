import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

@testable import TillEmulator

@Suite("The emulator's proofs and the verifier")
struct VerificationTests {
    private func verifier(_ world: EmulatedWorld, root: [UInt8]? = nil) throws -> SignedDataVerifier {
        var policy = TrustPolicy(
            bundleID: "com.example.learnpoints", environments: [.sandbox], now: { [now = world.now] in now })
        policy.roots = [root ?? world.emulator.issuer.rootCertificate]
        policy.isStrict = true
        return try SignedDataVerifier(policy: policy)
    }

    @Test("A signed transaction verifies with the root of GET /emulator/root.cer, field by field")
    func transaction() async throws {
        let world = try await EmulatedWorld()
        let root = await world.ask(.get, "/emulator/root.cer").response.body
        let bought = try await world.buy(
            "points680",
            ["quantity": 2, "appAccountToken": "3f2c1a00-1111-4222-8333-444455556666", "storefront": "USA"])
        let verified = try verifier(world, root: root).transaction(bought["signedTransaction"]?.string ?? "")
        #expect(verified.id.text == bought["transactionId"]?.string)
        #expect(verified.productID.text == "com.example.learnpoints.points680")
        #expect(verified.quantity == 2)
        #expect(verified.purchaseDate == world.now)
        #expect(verified.appAccountToken == UniqueID("3f2c1a00-1111-4222-8333-444455556666"))
        #expect(verified.price == Money(amount: 1_998, currency: Currency("USD")))
        #expect(verified.storefront == "USA")
        #expect(verified.environment == .sandbox)
        #expect(!verified.isRevoked)
        await world.remove()
    }

    @Test("A refunded subscription's notification verifies with everything nested in it")
    func notification() async throws {
        let world = try await EmulatedWorld()
        _ = await world.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/hook"])
        let id = try #require(try await world.buy("member.monthly")["transactionId"]?.string)
        _ = await world.ask(.post, "/emulator/transactions/\(id)/refund", ["percentage": 67_932])
        await world.emulator.sendDueNotifications()
        let verifier = try verifier(world)
        let notifications = try world.notifications.map { try verifier.notification($0.signedPayload) }
        #expect(notifications.map { $0.type?.rawValue } == ["SUBSCRIBED", "REFUND"])
        #expect(notifications.allSatisfy { $0.transaction?.id.text == id })
        #expect(notifications.allSatisfy { $0.renewalInfo?.originalTransactionID?.text == id })
        #expect(notifications[0].status?.rawValue == 1)
        #expect(notifications[1].status?.rawValue == 5)
        #expect(notifications[1].transaction?.revocationType?.rawValue == "REFUND_PRORATED")
        #expect(notifications[1].transaction?.revocationPercentage == 67_932)
        await world.remove()
    }

    @Test("Another root's signature over the same payload is untrusted, and Apple's verifier does not trust ours")
    func forged() async throws {
        let world = try await EmulatedWorld()
        let token = try #require(try await world.buy()["signedTransaction"]?.string)
        let forged = try #require(try Issuer.forged(token, at: world.now) { RandomBytes.make(16) })
        let failure = #expect(throws: VerificationError.self) { try verifier(world).transaction(forged) }
        #expect(failure?.verdict == .chainUntrusted)
        let apple = try SignedDataVerifier(
            policy: TrustPolicy(bundleID: nil, environments: nil, now: { [now = world.now] in now }))
        let refused = #expect(throws: VerificationError.self) { try apple.transaction(token) }
        #expect(refused?.verdict == .chainUntrusted)
        await world.remove()
    }

    @Test("A receipt lists unfinished consumables and everything else the account owns in this app")
    func receipt() async throws {
        let world = try await EmulatedWorld()
        let finished = try #require(try await world.buy("points60")["transactionId"]?.string)
        _ = await world.ask(.post, "/emulator/transactions/\(finished)/finish")
        let points = try await world.buy("points300", ["quantity": 4])
        let library = try await world.buy("library")
        let member = try await world.buy("member.monthly")
        let libraryID = try #require(library["transactionId"]?.string)
        _ = await world.ask(.post, "/emulator/transactions/\(libraryID)/finish")
        _ = await world.ask(.post, "/emulator/transactions/\(libraryID)/refund")
        _ = try await world.buy("points60", ["account": "anna"])
        let elsewhere = await world.ask(
            .post, "/emulator/purchases",
            ["bundleId": "com.example.other", "productId": "com.example.learnpoints.points60"])
        #expect(elsewhere.status == 200)

        let device = try #require(UniqueID("7d0a5b9e-2222-4333-8444-5555aaaabbbb"))
        let answer = await world.ask(.get, "/emulator/receipt", query: [("deviceId", device.description)])
        let verifier = try verifier(world)
        let text = try #require(answer.json["receipt"]?.string)
        let receipt = try verifier.receipt(base64: text, device: device.bytes)
        #expect(receipt.bundleID == "com.example.learnpoints")
        #expect(receipt.environment == .sandbox)
        #expect(receipt.creationDate == Instant(seconds: world.now.seconds))
        #expect(receipt.payload.receiptType == "ProductionSandbox")
        #expect(receipt.payload.originalPurchaseDate == Instant(seconds: 1_375_340_400))
        #expect(receipt.payload.originalApplicationVersion == "1.0")
        let ids = [points, library, member].compactMap { $0["transactionId"]?.string }
        #expect(Set(receipt.transactions.map(\.id.text)) == Set(ids))
        #expect(receipt.transaction(TransactionID(ids[0]))?.quantity == 4)
        #expect(receipt.transaction(TransactionID(ids[1]))?.isRevoked == true)
        #expect(receipt.transaction(TransactionID(ids[2]))?.expiresDate == Instant(seconds: 1_775_032_200))
        let wrong = #expect(throws: VerificationError.self) {
            try verifier.receipt(base64: text, device: [UInt8](repeating: 7, count: 16))
        }
        #expect(wrong?.verdict == .wrongDevice)
        await world.remove()
    }

    @Test("A production store's receipts and tokens name production and the app's number")
    func production() async throws {
        var configuration = EmulatorConfiguration()
        configuration.environment = .production
        let world = try await EmulatedWorld(configuration)
        let bought = try await world.buy()
        #expect(bought["transactionId"]?.string?.utf8.count == 15)
        var policy = TrustPolicy(
            bundleID: "com.example.learnpoints", environments: [.production], now: { [now = world.now] in now })
        policy.roots = [world.emulator.issuer.rootCertificate]
        policy.appAppleID = 690_661_663
        let verifier = try SignedDataVerifier(policy: policy)
        #expect(try verifier.transaction(bought["signedTransaction"]?.string ?? "").environment == .production)
        world.advance(seconds: 86_400)
        let later = try await world.emulator.receipt(bundleID: "com.example.learnpoints")
        let receipt = try verifier.receipt(later)
        #expect(receipt.payload.appAppleID == 690_661_663)
        #expect(receipt.payload.downloadDate == Instant(seconds: EmulatedWorld.start.seconds))
        await world.remove()
    }

    @Test("A thousand purchases go into one receipt")
    func heavyBuyer() async throws {
        let world = try await EmulatedWorld()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<1_000 { group.addTask { _ = try await world.buy("points60", ["receipt": false]) } }
            try await group.waitForAll()
        }
        let bytes = try await world.emulator.receipt(bundleID: "com.example.learnpoints")
        let receipt = try verifier(world).receipt(bytes)
        #expect(receipt.transactions.count == 1_000)
        // Real receipts take 381 to 444 bytes for each purchase.
        #expect((350_000...450_000).contains(bytes.count))
        await world.remove()
    }
}
