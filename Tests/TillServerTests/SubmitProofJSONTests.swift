import Foundation
import Testing
import TillAPI
import TillBilling
import TillJSON
import TillLedger

@testable import TillServer

@Suite("The JSON of the route whose speed counts") struct SubmitProofJSONTests {
    private let grant = GrantReply(
        Grant(
            id: UniqueID(high: 1, low: 2), environment: .sandbox, transactionID: TransactionID("7"),
            orderID: UniqueID(high: 3, low: 4), userID: UserID("u\"1"), productID: ProductID("p"), quantity: 2,
            points: [GrantedPoints(currency: "points", amount: 120)], entitlement: "pro", at: Instant(milliseconds: 0)))

    @Test("A reply is written like its Codable form")
    func replies() throws {
        let replies = [
            SubmitProofReply(outcome: .quarantined, transactionId: "7", finish: false, reason: "no_owner"),
            SubmitProofReply(outcome: .revoked, transactionId: "7", finish: true),
            SubmitProofReply(
                outcome: .granted, transactionId: "7", finish: true, orderId: UniqueID(high: 3, low: 4),
                userId: "u\"1", grant: grant, sandbox: true,
                paid: Money(amount: -600, currency: Currency("CNY"))),
        ]
        for reply in replies {
            let codable = try JSONValue(decoding: [UInt8](JSONEncoder().encode(reply)))
            // The members are sorted by name, as in every answer.
            #expect(String(decoding: reply.encoded, as: UTF8.self) == codable.encoded())
            let back = try JSONDecoder().decode(SubmitProofReply.self, from: Data(reply.encoded))
            #expect(back == reply)
        }
    }

    @Test("The answers that apps read most are written like their Codable forms")
    func reads() throws {
        func expect<Reply: Codable & Equatable>(_ text: [UInt8], _ reply: Reply) throws {
            let codable = try JSONValue(decoding: [UInt8](JSONEncoder().encode(reply)))
            #expect(String(decoding: text, as: UTF8.self) == codable.encoded())
            #expect(try JSONDecoder().decode(Reply.self, from: Data(text)) == reply)
        }
        for reply in [
            WalletReply(balances: [:]), WalletReply(balances: ["points": -7, "gems": .min]),
            WalletReply(balances: ["p\"学点": 60, "a": 0], held: ["a": 1, "B": 2], sandbox: true),
        ] {
            try expect(reply.encoded, reply)
        }
        var full = EntitlementReply(
            entitlement: "pro", productId: ProductID("p"), kind: .subscription, state: .active, why: .subscribed,
            since: Instant(milliseconds: 1), expiresAt: Instant(milliseconds: 1_700_000_000_123),
            transactionId: TransactionID("8"))
        (full.plan, full.deviceId, full.deviceIds) = ("basic\n", "d", ["d", "e\\"])
        (full.willRenew, full.originalTransactionId) = (false, "7")
        let plain = EntitlementReply(
            entitlement: "vip", productId: ProductID("q"), kind: .lasting, state: .active, why: .bought,
            since: Instant(milliseconds: -1), transactionId: TransactionID("9"))
        for reply in [EntitlementsReply(data: []), EntitlementsReply(data: [full, plain], sandbox: true)] {
            try expect(reply.encoded, reply)
        }
    }

    @Test("A body is read like its Codable form, unknown members and nulls included")
    func bodies() throws {
        let texts = [
            #"{"signedTransaction":"a.b.c"}"#, #"{"receipt":"AA==","transactionId":"1","productId":"p"}"#,
            #"{"signedTransaction":"x","orderId":"3F2C4D5E-0011-4a2b-8c3d-0123456789ab","userId":"u","m":1}"#,
            #"{"signedTransaction":"x","deviceId":"d"}"#, #"{"signedTransaction":"x","phoneId":"p"}"#,
            #"{"signedTransaction":null,"receipt":null}"#, "{}",
        ]
        for text in texts {
            let read = try SubmitProofBody(json: Array(text.utf8))
            let codable = try JSONDecoder().decode(SubmitProofBody.self, from: Data(text.utf8))
            #expect(
                [
                    read.signedTransaction, read.receipt, read.transactionId, read.productId, read.userId,
                    read.deviceId, read.phoneId,
                ]
                    == [
                        codable.signedTransaction, codable.receipt, codable.transactionId, codable.productId,
                        codable.userId, codable.deviceId, codable.phoneId,
                    ])
            #expect(read.orderId == codable.orderId)
        }
    }

    @Test(
        "An invalid body is refused",
        arguments: [
            "", "{", "[]", "null", "7", #"{"signedTransaction":7}"#, #"{"orderId":"x"}"#, #"{"userId":{}}"#,
        ])
    func misfits(_ text: String) {
        #expect(throws: RefusalError.self) { try SubmitProofBody(json: Array(text.utf8)) }
    }

    @Test("Orders and pages of them are written like their Codable forms")
    func orders() throws {
        func expect<Reply: Codable>(_ text: [UInt8], _ reply: Reply) throws {
            #expect(String(decoding: text, as: UTF8.self) == String(decoding: JSONText.encode(reply), as: UTF8.self))
        }
        let at = Instant(milliseconds: 1_700_000_000_123)
        let plain = Order(
            id: UniqueID(high: 1, low: 2), userID: UserID("u\"1"), productID: ProductID("p"), quantity: 2,
            price: Money(amount: 600, currency: Currency("CNY")), createdAt: at, updatedAt: at)
        let full = Order(
            id: UniqueID(high: 3, low: 4), userID: UserID("u"), productID: ProductID("p"), quantity: 1,
            status: .completed, price: Money(amount: 0, currency: Currency("CNY")), transactionID: TransactionID("7"),
            environment: .sandbox, deviceID: DeviceID("d\n"),
            preview: OrderPreview(at: at, expiresAt: at.adding(milliseconds: 1)), createdAt: at, updatedAt: at)
        let product = CatalogProduct(
            id: ProductID("p"), type: .consumable, names: ProductNames(["zh-Hant": "點", "fr": "é\""]),
            price: Money(amount: 1, currency: Currency("CNY")), points: ["points": 1])
        let replies = [
            OrderReply(plain, metadata: nil, history: []),
            OrderReply(
                full, of: product, paid: Money(amount: -1, currency: Currency("USD")),
                metadata: .object(["b": .array([.null, .integer(1)]), "a": .string("学\\/")]),
                history: [
                    OrderMove(status: .prepared, at: at, reason: ""),
                    OrderMove(status: .completed, at: at, reason: "ok"),
                ]),
        ]
        for reply in replies { try expect(reply.encoded, reply) }
        for page in [
            OrderPage(Page(data: [], hasMore: false, nextCursor: nil), restored: nil),
            OrderPage(
                Page(data: replies, hasMore: true, nextCursor: "c"),
                restored: RestoredLedger(backupAt: at, restoredAt: at)),
        ] {
            try expect(page.encoded, page)
        }
    }
}
