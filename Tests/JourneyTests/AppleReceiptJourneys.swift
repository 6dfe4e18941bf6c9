import Foundation
import Testing
import TillAPI
import TillAppStore
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillServer

/// A released app that sends its receipt as `apple_receipt`, reads `flag`, and finishes whatever the answer is.
@Suite("POST /appleReceipt/ios, as a released app posts it (L8)") struct AppleReceiptJourneys {
    private func post(
        _ receipt: String, as user: String, to shop: Shop, asForm: Bool = false, inHeader: Bool = false
    ) async throws -> Reply {
        let token = UserToken.hs256(subject: user, expires: shop.time.now.seconds + 600)
        var request = HTTPRequest(method: .post, path: Paths.appleReceipt)
        var fields = ["apple_receipt": receipt]
        if inHeader {
            request.headers.add("Authorization", "Bearer \(token)")
        } else {
            fields["token"] = token
        }
        if asForm {
            // Some clients leave the plus signs of base64 as they are.
            let safe = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "+/"))
            request.body = Array(
                fields.map { "\($0.key)=\($0.value.addingPercentEncoding(withAllowedCharacters: safe) ?? "")" }
                    .joined(separator: "&").utf8)
        } else {
            request.body = Array(JSONValue.object(fields.mapValues { .string($0) }).encoded().utf8)
        }
        return try await Reply(shop.deliver(request))
    }

    @Test("The buyer's receipt is flag 1, now and whenever it is posted again", arguments: Reach.allCases)
    func granted(_ reach: Reach) async throws {
        try await Shop.open(reach, line: AppleProxy()) { shop in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            for (outcome, asForm, inHeader) in [
                ("granted", false, false), ("alreadyGranted", true, false), ("alreadyGranted", false, true),
                ("alreadyGranted", true, true),
            ] {
                let reply = try await post(payment.receipt, as: "ann", to: shop, asForm: asForm, inHeader: inHeader)
                #expect(reply.status == 200 && reply["flag"] == 1, "\(reply.body)")
                #expect(reply["transactions"].list.map { $0.at("outcome").text } == [outcome])
                #expect(reply["transactions"].list.first?.at("transaction_id").text == payment.id)
                #expect(reply["transactions"].list.first?.at("sandbox") == true)
            }
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.grantCount() == 1)
        }
    }

    @Test("Ben's phone posts Ann's receipt: Ann gets it, Ben gets no flag and learns nothing else (P8, V3)")
    func accountSwitch() async throws {
        try await Shop.open(line: AppleProxy()) { shop in
            let order = try await shop.openOrder(as: "ann")
            _ = try await shop.openOrder(as: "ben")
            let payment = try await shop.pay(token: order)
            let reply = try await post(payment.receipt, as: "ben", to: shop)
            #expect(reply.status == 200 && reply["flag"] == 0)
            #expect(
                reply["transactions"] == [["transaction_id": .string(payment.id), "outcome": "granted"]],
                "\(reply.body)")
            #expect(try await shop.points(of: ["ann", "ben"]) == [60, 0])
        }
    }

    @Test("Without a token the signed-in user is not the owner: kept, flag 0, and claimable (V3)")
    func noToken() async throws {
        for line in [AppleProxy(), nil] {
            try await Shop.open(line: line) { shop in
                _ = try await shop.openOrder(as: "ann")
                let payment = try await shop.pay(token: nil)
                for _ in 0..<2 {
                    let reply = try await post(payment.receipt, as: "ann", to: shop)
                    #expect(reply.status == 202 && reply["flag"] == 0)
                    #expect(reply["transactions"].list.map { $0.at("outcome").text } == ["quarantined"])
                }
                #expect(try await shop.grantCount() == 0)
                #expect(try await shop.send(.get, "/v1/quarantine")["data"].list.count == 1)
            }
        }
    }

    @Test("Every unfinished consumable of the receipt is processed; flag 1 waits for all of them (T4)")
    func several() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            _ = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            _ = try await shop.pay("com.example.learn.pro", token: try await shop.openOrder(as: "ann"))
            shop.time.advance(seconds: 5)
            let newest = try await shop.pay(
                Shop.points300, token: try await shop.openOrder(Shop.points300, as: "ann"))
            line.outage = AppleConnectionError(.timedOut)
            let waiting = try await post(newest.receipt, as: "ann", to: shop)
            #expect(waiting.status == 202 && waiting["flag"] == 0)
            #expect(waiting["transactions"].list.map { $0.at("outcome").text } == ["accepted", "accepted"])
            // The app has finished both; they are granted without it.
            line.outage = nil
            shop.time.advance(seconds: 3_600)
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 2)
            #expect(try await shop.points(of: "ann") == 360)
            let again = try await post(newest.receipt, as: "ann", to: shop)
            #expect(again.status == 200 && again["flag"] == 1)
            #expect(again["transactions"].list.first?.at("transaction_id").text == newest.id)
        }
    }

    @Test("A refunded purchase is no success (U5)")
    func refunded() async throws {
        try await Shop.open(line: AppleProxy()) { shop in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            #expect(try await post(payment.receipt, as: "ann", to: shop)["flag"] == 1)
            shop.time.advance(seconds: 60)
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refund")
            _ = try await shop.submit(refunded["signedTransaction"].text, as: .backend)
            let reply = try await post(payment.receipt, as: "ann", to: shop)
            #expect(reply.status == 200 && reply["flag"] == 0)
            #expect(reply["transactions"].list.map { $0.at("outcome").text } == ["revoked"])
        }
    }

    @Test("A forged, foreign, missing or unreadable receipt and a wrong token are refused with their code (P9)")
    func refused() async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay(token: nil)
            let genuine = try #require(Base64.decode(payment.receipt))
            let forged = try #require(try Issuer.forged(receipt: genuine, at: shop.time.now) { RandomBytes.make(16) })
            let other = try await shop.ask(
                .post, "/emulator/purchases", ["bundleId": "com.example.other", "productId": .string(Shop.points60)])
            let cases = [
                (Base64.encode(forged), 422, "chain_untrusted"), ("AAAA", 422, "malformed"), ("?", 422, "malformed"),
                ("", 400, "invalid_field"), (other["receipt"].text, 422, "wrong_app"),
            ]
            for (receipt, status, code) in cases {
                let reply = try await post(receipt, as: "ann", to: shop)
                #expect(reply.status == status && reply.code == code, "\(reply.body)")
                #expect(reply["flag"] == .null)
            }
            for token in ["x", Shop.secretKey, UserToken.hs256(subject: "ann", expires: 1)] {
                let body: JSONValue = ["apple_receipt": .string(payment.receipt), "token": .string(token)]
                let reply = try await shop.send(.post, Paths.appleReceipt, body, as: .anonymous)
                #expect(reply.status == 401 && reply.code == "unauthorized")
            }
            let backend = try await shop.send(
                .post, Paths.appleReceipt, ["apple_receipt": .string(payment.receipt)], as: .backend)
            #expect(backend.status == 401)
            let unsigned = try await shop.send(
                .post, Paths.appleReceipt, ["apple_receipt": .string(payment.receipt)], as: .anonymous)
            #expect(unsigned.status == 400)
            #expect(try await shop.grantCount() == 0)
        }
    }
}
