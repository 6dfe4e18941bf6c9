import Testing
import TillAppStore
import TillBilling
import TillJSON
import TillLedger
import TillServer

/// A purchase that arrives long after it was paid is granted like any other, and its evidence says how late it came.
@Suite("Late is not forged: a very late purchase is granted and marked (G6, T9)") struct LatePurchaseJourneys {
    private static let day: Int64 = 86_400

    /// The decisions about a purchase, with the ground of `late`: `late purchase_date`, `granted`.
    private func decisions(_ payment: Payment, in shop: Shop) async throws -> [String] {
        try await shop.decisions(on: payment.id).map {
            $0.decision == "late" ? "late \($0.ground)" : $0.decision
        }
    }

    private func mark(_ payment: Payment, in shop: Shop) async throws -> String? {
        try await shop.decisions(on: payment.id).first { $0.decision == "late" }?.detail
    }

    @Test("Older than the window: granted, with the date of the purchase and by how much it came late")
    func late() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            let paidAt = shop.time.now
            shop.time.advance(seconds: 400 * Self.day + 5 * 3_600)
            let reply = try await shop.submit(payment.signed, as: .user("ann"))
            #expect(reply.status == 200 && reply["outcome"].text == "granted")
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await decisions(payment, in: shop) == ["late purchase_date", "granted"])
            #expect(
                try await mark(payment, in: shop)
                    == "purchased \(paidAt.rfc3339), 400 days 5 hours before it was recorded; the window is 30 days")
        }
    }

    @Test("Within `delivery.lateAfterDays` there is no mark, to the second (G6)", arguments: [7, 30] as [Int64])
    func withinTheWindow(_ days: Int64) async throws {
        try await Shop.open(change: { $0.delivery.lateAfterDays = days }) { shop in
            let first = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            shop.time.advance(seconds: days * Self.day)
            #expect(try await shop.submit(first.signed, as: .user("ann"))["outcome"].text == "granted")
            #expect(try await decisions(first, in: shop) == ["granted"])
            let second = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            shop.time.advance(seconds: days * Self.day + 1)
            #expect(try await shop.submit(second.signed, as: .user("ann"))["outcome"].text == "granted")
            #expect(try await decisions(second, in: shop) == ["late purchase_date", "granted"])
            #expect(try await mark(second, in: shop)?.hasSuffix("the window is \(days) days") == true)
        }
    }

    @Test("A transaction id counts as seen for ever: copies of any age are one grant and one mark (O8, U8)")
    func seenForEver() async throws {
        try await Shop.open { shop in
            let early = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            #expect(try await shop.submit(early.signed, as: .user("ann"))["outcome"].text == "granted")
            let late = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            shop.time.advance(seconds: 5 * 365 * Self.day)
            #expect(try await shop.submit(late.signed, as: .user("ann"))["outcome"].text == "granted")
            for _ in 0..<3 {
                shop.time.advance(seconds: 365 * Self.day)
                for payment in [early, late] {
                    let again = try await shop.submit(payment.signed, as: .user("ann"))
                    #expect(again["outcome"].text == "alreadyGranted")
                }
            }
            #expect(try await decisions(early, in: shop) == ["granted"])
            #expect(try await decisions(late, in: shop) == ["late purchase_date", "granted"])
            #expect(try await shop.points(of: "ann") == 120)
        }
    }

    @Test("A late purchase without an owner is kept and marked; its later grant is not marked again (U1)")
    func quarantined() async throws {
        try await Shop.open { shop in
            let token = UniqueID(random: Array(repeating: 5, count: 16))
            let payment = try await shop.pay(token: token)
            shop.time.advance(seconds: 90 * Self.day)
            #expect(try await shop.submit(payment.signed, as: .user("ann"))["reason"].text == "unknown_token")
            #expect(try await decisions(payment, in: shop) == ["late purchase_date", "quarantined"])
            shop.time.advance(seconds: 90 * Self.day)
            #expect(try await shop.send(.put, "/v1/users/ann/account-tokens/\(token)").status < 300)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await decisions(payment, in: shop) == ["late purchase_date", "quarantined", "granted"])
            #expect(try await mark(payment, in: shop)?.contains("90 days 0 hours") == true)
        }
    }

    @Test("Apple's notification brings it years later, without the phone: granted and marked alike (U2)")
    func notified() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "ann")
            let payload = try await shop.notification(of: order)
            shop.time.advance(seconds: 700 * Self.day)
            let reply = try await shop.send(
                .post, "/v1/notifications/apple", ["signedPayload": .string(payload)], as: .anonymous)
            #expect(reply.status == 200)
            #expect(try await shop.points(of: "ann") == 60)
            let id = try #require(try await shop.send(.get, "/v1/orders/\(order)")["transactionId"].string)
            let marks = try await shop.decisions(on: id).filter { $0.decision == "late" }
            #expect(marks.count == 1 && marks.first?.source == "notification")
        }
    }
}
