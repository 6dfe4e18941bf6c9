import Testing
import TillBilling
import TillCrypto
import TillJSON

/// One purchase made in advance in an emulated App Store, with everything about it that can reach a server.
struct Sale: Sendable {
    static let points: Int64 = 60

    let order: OrderID
    let proven: ProvenOrder
    let user: String
    let transaction: TransactionID
    let signed: String
    let notice: Notice
    /// Present if the customer was refunded.
    let refund: Notice?
}

/// A signed notification and its UUID.
struct Notice: Sendable {
    let uuid: String
    let payload: String

    init(_ payload: String) throws {
        self.payload = payload
        let token = try #require(CompactToken(payload))
        uuid = try JSONValue(decoding: token.payload).at("notificationUUID").text
        try #require(!uuid.isEmpty)
    }
}

extension Sale {
    /// That many purchases of two users; the first few are refunded a minute later. All seeds share them, because
    /// signing takes longer than processing.
    static func make(_ count: Int, refunded: Int, in shop: Shop) async throws -> [Sale] {
        let recorder = RequestRecorder()
        _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
        shop.intercept { request in
            recorder.take(request)
            return .init(status: 200)
        }
        var sold: [(order: ProvenOrder, payment: Payment, notice: Notice)] = []
        for number in 0..<count {
            let order = ProvenOrder(of: "u\(number % 2)", number)
            let payment = try await shop.pay(token: order.id)
            await shop.emulator.sendDueNotifications()
            sold.append((order, payment, try Notice(try #require(recorder.payloads.last))))
        }
        shop.time.advance(seconds: 60)
        var sales: [Sale] = []
        for (number, (order, payment, notice)) in sold.enumerated() {
            var refund: Notice?
            if number < refunded {
                _ = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refund")
                await shop.emulator.sendDueNotifications()
                refund = try Notice(try #require(recorder.payloads.last))
            }
            sales.append(
                Sale(
                    order: order.id, proven: order, user: "u\(number % 2)", transaction: TransactionID(payment.id),
                    signed: payment.signed, notice: notice, refund: refund))
        }
        shop.intercept(nil)
        try #require(Set(recorder.payloads).count == count + refunded)
        return sales
    }
}
