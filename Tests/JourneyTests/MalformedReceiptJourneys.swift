import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON
import TillLedger
import TillServer

/// Status 21002 means a bad receipt or an outage of Apple's service, and does not say which.
@Suite("A receipt that Apple calls malformed for a day needs a fresh one, and loses nothing (P2)")
struct MalformedReceiptJourneys {
    private static let hour: Int64 = 3_600

    private func open(
        change: @escaping (inout ServerConfiguration) -> Void = { _ in },
        _ journey: (Shop, AppleProxy) async throws -> Void
    ) async throws {
        let line = AppleProxy(secret: SharedSecretJourneys.secret)
        try await Shop.open(
            change: { configuration in
                configuration.receipts = ReceiptTerms(policy: .quarantine)
                change(&configuration)
            }, line: line
        ) { try await journey($0, line) }
    }

    /// The hours pass, and the server asks in each of them.
    private func pass(hours: Int64, _ shop: Shop) async throws {
        for _ in 0..<hours {
            shop.time.advance(seconds: Self.hour)
            _ = try await WaitingReceipts(shop.server.ledger).askAll()
        }
    }

    private func waiting(in shop: Shop) async throws -> Int64 {
        try await shop.ledger.read { try WaitingProofTable($0).count() }
    }

    /// The same purchase in a receipt that the store makes now.
    private func refreshed(_ payment: Payment, _ shop: Shop) async throws -> Payment {
        shop.time.advance(seconds: 1)
        let receipt = Base64.encode(try await shop.emulator.receipt(bundleID: Shop.bundleID))
        try #require(receipt != payment.receipt)
        return Payment(id: payment.id, signed: payment.signed, receipt: receipt)
    }

    enum Remedy: CaseIterable, Sendable {
        case freshReceipt
        case signedCopy
        /// The fresh receipt waits too, in place of the old one, until Apple's service recovers.
        case freshReceiptLater
        /// The device sends nothing more, and Apple's service recovers.
        case none
    }

    @Test(
        "21002 for a day: refused as malformed, logged once, the order open; what comes then is granted (P2)",
        arguments: Remedy.allCases, [21001, 21002])
    func malformedForADay(_ remedy: Remedy, _ status: Int64) async throws {
        try await open { shop, line in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            line.rewrite = { _ in ["status": .int(status)] }
            for hours: Int64 in [0, 23] {
                try await pass(hours: hours, shop)
                let reply = try await shop.post(receiptOf: payment, order: order, as: "ann")
                #expect(reply.status == 202 && reply["finish"] == false, "an evening of 21002: \(reply.body)")
            }
            try await pass(hours: 2, shop)
            for user in ["ann", "thief"] {
                shop.time.advance(seconds: 10)
                let refused = try await shop.post(receiptOf: payment, order: nil, as: user)
                #expect(refused.status == 422 && refused.code == "receipt_needs_refresh", "\(refused.body)")
                #expect(refused["detail"].text.contains("\(status)"))
            }
            #expect(try await shop.status(of: order) == "prepared")
            #expect(try await shop.grantCount() == 0)
            #expect(try await waiting(in: shop) == 1)
            let asked = line.asked.count
            try await pass(hours: 12, shop)
            #expect(line.asked.count == asked, "asked once a day from now on")
            let logged = try await shop.ledger.read { try RefusedProofTable($0).list(claiming: order, limit: 9) }
            #expect(logged.map(\.code) == ["receipt_needs_refresh"])

            switch remedy {
            case .freshReceipt:
                line.rewrite = nil
                let fresh = try await refreshed(payment, shop)
                let reply = try await shop.post(receiptOf: fresh, order: order, as: "ann")
                #expect(reply["outcome"].text == "granted" && reply["finish"] == true, "\(reply.body)")
            case .signedCopy:
                let reply = try await shop.submit(payment.signed, as: .user("ann"))
                #expect(reply["outcome"].text == "granted" && reply["finish"] == true)
            case .freshReceiptLater:
                let fresh = try await refreshed(payment, shop)
                let reply = try await shop.post(receiptOf: fresh, order: order, as: "ann")
                #expect(reply.status == 202 && reply["outcome"].text == "accepted", "\(reply.body)")
                line.rewrite = nil
                try await pass(hours: 1, shop)
            case .none:
                line.rewrite = nil
                try await pass(hours: 24, shop)
            }
            #expect(try await shop.points(of: ["ann", "thief"]) == [60, 0])
            #expect(try await shop.status(of: order) == "completed")
            try await pass(hours: 24, shop)
            #expect(try await waiting(in: shop) == 0)
        }
    }

    @Test("A day of outages and then one 21002 is no day of 21002: the receipt waits (P2, P11)")
    func outageFirst() async throws {
        try await open { shop, line in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            line.outage = AppleConnectionError(.timedOut)
            #expect(try await shop.post(receiptOf: payment, order: order, as: "ann").status == 202)
            try await pass(hours: 30, shop)
            line.outage = nil
            line.rewrite = { _ in ["status": 21002] }
            let reply = try await shop.post(receiptOf: payment, order: order, as: "ann")
            #expect(reply.status == 202 && reply["outcome"].text == "accepted", "\(reply.body)")
            line.rewrite = nil
            try await pass(hours: 1, shop)
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("With save-then-finish the device has finished: three days of 21002 lose nothing (P2, G5)")
    func savedFirst() async throws {
        try await open(change: { $0.delivery.order = .saveThenFinish }) { shop, line in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            line.rewrite = { _ in ["status": 21002] }
            #expect(try await shop.post(receiptOf: payment, order: order, as: "ann")["finish"] == true)
            #expect(try await SavedProofs(shop.server.ledger).processAll() == 1)
            try await pass(hours: 72, shop)
            #expect(try await shop.points(of: "ann") == 0)
            line.rewrite = nil
            try await pass(hours: 25, shop)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.status(of: order) == "completed")
        }
    }

    @Test("A malformed receipt says nothing about another receipt of the purchase: that one is asked about too (P2)")
    func otherReceipt() async throws {
        try await open { shop, line in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            let fresh = try await refreshed(payment, shop)
            line.outage = AppleConnectionError(.timedOut)
            #expect(try await shop.post(receiptOf: payment, order: nil, as: "eve").status == 202)
            #expect(try await shop.post(receiptOf: fresh, order: order, as: "ann").status == 202)
            // Only the receipt that eve sent is malformed.
            line.outage = nil
            line.isMalformed = { $0.contains(payment.receipt) }
            shop.time.advance(seconds: Self.hour)
            _ = try await WaitingReceipts(shop.server.ledger).askAll()
            #expect(try await shop.points(of: ["ann", "eve"]) == [60, 0])
            #expect(try await shop.status(of: order) == "completed")
        }
    }
}
