import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Purchases in the emulated store")
struct PurchaseTests {
    @Test("A purchase answers with a transaction id, a signed transaction and a receipt")
    func purchase() async throws {
        let world = try await EmulatedWorld()
        let token = "3F2C1A00-1111-4222-8333-444455556666"
        let bought = try await world.buy("points300", ["quantity": 3, "appAccountToken": .string(token)])
        let id = try #require(bought["transactionId"]?.string)
        #expect(id.utf8.count == 16 && id.hasPrefix("2000"))
        let signed = try payload(of: bought["signedTransaction"]?.string)
        #expect(signed["transactionId"]?.string == id)
        #expect(signed["originalTransactionId"]?.string == id)
        #expect(signed["bundleId"] == "com.example.learnpoints")
        #expect(signed["productId"] == "com.example.learnpoints.points300")
        #expect(signed["purchaseDate"] == .int(world.now.milliseconds))
        #expect(signed["originalPurchaseDate"] == .int(world.now.milliseconds))
        #expect(signed["signedDate"] == .int(world.now.milliseconds))
        #expect(signed["quantity"] == 3)
        #expect(signed["type"] == "Consumable")
        #expect(signed["inAppOwnershipType"] == "PURCHASED")
        #expect(signed["appAccountToken"]?.string == token.lowercased())
        #expect(signed["environment"] == "Sandbox")
        #expect(signed["transactionReason"] == "PURCHASE")
        #expect(signed["storefront"] == "CHN")
        #expect(signed["storefrontId"] == "143465")
        // Three times ¥30.00, in thousandths.
        #expect(signed["price"] == 90_000)
        #expect(signed["currency"] == "CNY")
        #expect(signed["appTransactionId"]?.string?.allSatisfy(\.isNumber) == true)
        #expect(signed["revocationDate"] == nil && signed["expiresDate"] == nil && signed["webOrderLineItemId"] == nil)
        let receipt = try #require(Base64.decode(bought["receipt"]?.string ?? ""))
        #expect(try SignedMessage(receipt).isSignatureValid())
        await world.remove()
    }

    @Test("A later copy of a transaction has a newer signing date and is otherwise the same")
    func signedAgain() async throws {
        let world = try await EmulatedWorld()
        let bought = try await world.buy()
        world.advance(seconds: 60)
        let id = try #require(bought["transactionId"]?.string)
        let again = await world.ask(.get, "/emulator/transactions/\(id)")
        var first = try #require(try payload(of: bought["signedTransaction"]?.string).object)
        var second = try #require(try payload(of: again.json["signedTransaction"]?.string).object)
        #expect(second["signedDate"] == .int(world.now.milliseconds))
        first["signedDate"] = nil
        second["signedDate"] = nil
        #expect(first == second)
        await world.remove()
    }

    @Test("A bought transaction stays in the account's queue until it is finished; a second finish is no error")
    func queue() async throws {
        let world = try await EmulatedWorld()
        let first = try await world.buy()
        let second = try await world.buy("points680")
        let elsewhere = try await world.buy("points60", ["account": "anna"])
        let unfinished: [(name: String, value: String)] = [("account", "default"), ("unfinished", "true")]
        var queue = await world.ask(.get, "/emulator/transactions", query: unfinished)
        #expect(
            queue.json["data"]?.array?.map { $0["transactionId"] } == [first["transactionId"], second["transactionId"]])
        #expect(queue.json["data"]?.array?.first?["signedTransaction"]?.string != nil)
        let id = try #require(first["transactionId"]?.string)
        for _ in 0..<2 {
            let finished = await world.ask(.post, "/emulator/transactions/\(id)/finish")
            #expect(finished.status == 200)
            #expect(finished.json["finished"] == true)
        }
        queue = await world.ask(.get, "/emulator/transactions", query: unfinished)
        #expect(queue.json["data"]?.array?.map { $0["transactionId"] } == [second["transactionId"]])
        let all = await world.ask(.get, "/emulator/transactions", query: [("account", "default"), ("limit", "1")])
        #expect(all.json["data"]?.array?.count == 1)
        #expect(all.json["hasMore"] == true)
        let rest = await world.ask(
            .get, "/emulator/transactions",
            query: [("account", "default"), ("cursor", all.json["nextCursor"]?.string ?? "")])
        #expect(rest.json["data"]?.array?.map { $0["transactionId"] } == [second["transactionId"]])
        #expect(rest.json["hasMore"] == false)
        #expect(elsewhere["account"] == "anna")
        let other = await world.ask(
            .post, "/emulator/purchases",
            ["bundleId": "com.example.other", "productId": "com.example.learnpoints.points60"])
        queue = await world.ask(
            .get, "/emulator/transactions", query: unfinished + [(name: "bundleId", value: "com.example.other")])
        #expect(queue.json["data"]?.array?.map { $0["transactionId"] } == [other.json["transactionId"]])
        let misspelt = await world.ask(.get, "/emulator/transactions", query: [("acount", "anna")])
        #expect(misspelt.json["title"]?.string?.contains("did you mean \"account\"?") == true)
        await world.remove()
    }

    @Test("Cancelled and failed purchases create no transaction")
    func noPurchase() async throws {
        let world = try await EmulatedWorld()
        for outcome in ["cancelled", "failed"] {
            let answer = try await world.buy("points60", ["outcome": .string(outcome)])
            #expect(answer["outcome"]?.string == outcome)
            #expect(answer["transactionId"] == nil)
        }
        let state = await world.ask(.get, "/emulator/state")
        #expect(state.json["transactions"]?["total"] == 0)
        await world.remove()
    }

    @Test(
        "Ask to Buy and interrupted purchases are paid when approved, at that moment",
        arguments: ["deferred", "interrupted"])
    func waiting(_ outcome: String) async throws {
        let world = try await EmulatedWorld()
        let asked = try await world.buy("points60", ["outcome": .string(outcome)])
        #expect(asked["outcome"]?.string == outcome)
        #expect(asked["signedTransaction"] == nil)
        let id = try #require(asked["transactionId"]?.string)
        #expect(await world.ask(.post, "/emulator/transactions/\(id)/finish").status == 409)
        #expect(await world.ask(.post, "/emulator/transactions/\(id)/refund").status == 409)
        world.advance(seconds: 3_600)
        let approved = await world.ask(.post, "/emulator/transactions/\(id)/approve")
        #expect(approved.status == 200)
        let signed = try payload(of: approved.json["signedTransaction"]?.string)
        #expect(signed["transactionId"]?.string == id)
        #expect(signed["purchaseDate"] == .int(world.now.milliseconds))
        #expect(await world.ask(.post, "/emulator/transactions/\(id)/approve").status == 409)
        await world.remove()
    }

    @Test("A declined request to buy is never paid, and one older than a day can't be approved")
    func declined() async throws {
        let world = try await EmulatedWorld()
        let first = try #require(try await world.buy("points60", ["outcome": "deferred"])["transactionId"]?.string)
        let declined = await world.ask(.post, "/emulator/transactions/\(first)/decline")
        #expect(declined.json["state"] == "declined")
        #expect(await world.ask(.post, "/emulator/transactions/\(first)/approve").json["code"] == "not_waiting")
        let second = try #require(try await world.buy("points60", ["outcome": "deferred"])["transactionId"]?.string)
        world.advance(seconds: 86_400)
        #expect(await world.ask(.post, "/emulator/transactions/\(second)/approve").json["code"] == "approval_expired")
        await world.remove()
    }

    @Test("A subscription names its group, its period's end and its line item; while active it can't be bought again")
    func subscription() async throws {
        let world = try await EmulatedWorld()
        let bought = try await world.buy("member.monthly")
        let signed = try payload(of: bought["signedTransaction"]?.string)
        #expect(signed["type"] == "Auto-Renewable Subscription")
        #expect(signed["subscriptionGroupIdentifier"] == "21000001")
        #expect(signed["webOrderLineItemId"]?.string?.utf8.count == 16)
        // 2026-04-01T08:30:00.123Z: a calendar month, not thirty days.
        #expect(signed["expiresDate"] == 1_775_032_200_123)
        let again = await world.ask(
            .post, "/emulator/purchases",
            ["bundleId": "com.example.learnpoints", "productId": "com.example.learnpoints.member.monthly"])
        #expect(again.status == 409)
        #expect(again.json["code"] == "already_subscribed")
        let id = try #require(bought["transactionId"]?.string)
        #expect(await world.ask(.post, "/emulator/subscriptions/\(id)/cancel").status == 200)
        world.advance(seconds: 40 * 86_400)
        let back = try await world.buy("member.monthly")
        #expect(back["transactionId"] != bought["transactionId"])
        #expect(back["originalTransactionId"] == bought["transactionId"])
        await world.remove()
    }

    @Test("A non-consumable bought again is the same transaction, free of charge, in the queue again")
    func boughtAgain() async throws {
        let world = try await EmulatedWorld()
        let first = try await world.buy("library")
        let id = try #require(first["transactionId"]?.string)
        _ = await world.ask(.post, "/emulator/transactions/\(id)/finish")
        world.advance(seconds: 1)
        let again = try await world.buy("library")
        #expect(again["transactionId"]?.string == id)
        #expect(again["finished"] == false)
        #expect(again["purchaseDate"] == first["purchaseDate"])
        await world.remove()
    }

    @Test("A refund is in every later copy of the transaction, and happens once")
    func refund() async throws {
        let world = try await EmulatedWorld()
        let id = try #require(try await world.buy()["transactionId"]?.string)
        world.advance(seconds: 5)
        let refunded = await world.ask(.post, "/emulator/transactions/\(id)/refund", ["reason": 1])
        #expect(refunded.status == 200)
        let signed = try payload(of: refunded.json["signedTransaction"]?.string)
        #expect(signed["revocationDate"] == .int(world.now.milliseconds))
        #expect(signed["revocationReason"] == 1)
        #expect(signed["revocationType"] == "REFUND_FULL")
        #expect(signed["revocationPercentage"] == 100_000)
        let again = await world.ask(.post, "/emulator/transactions/\(id)/refund")
        #expect(again.status == 409)
        #expect(again.json["code"] == "already_refunded")
        await world.remove()
    }

    @Test("Concurrent purchases never share a transaction id")
    func concurrency() async throws {
        let world = try await EmulatedWorld()
        let ids = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let bought = try await world.buy(
                        "points60", ["account": .string("a\(number % 7)"), "receipt": false])
                    return try #require(bought["transactionId"]?.string)
                }
            }
            return try await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(ids.count == 200)
        #expect(Set(ids).count == 200)
        await world.remove()
    }

    @Test("Root, API key, catalogue, queue and refunds are kept over a restart")
    func restart() async throws {
        let world = try await EmulatedWorld()
        let bought = try await world.buy()
        let refunded = try #require(try await world.buy()["transactionId"]?.string)
        _ = await world.ask(.post, "/emulator/transactions/\(refunded)/refund")
        let catalogue: JSONValue = [
            "products": [
                ["id": "one", "prices": ["CHN": ["amount": 100, "currency": "CNY"]]]
            ]
        ]
        #expect(await world.ask(.put, "/emulator/products", catalogue).status == 200)
        let keys = await world.ask(.get, "/emulator/api-key").json
        let root = world.emulator.issuer.rootCertificate
        await world.close()

        let later = try await EmulatedWorld(directory: world.directory, start: world.now.adding(seconds: 9))
        #expect(later.emulator.issuer.rootCertificate == root)
        #expect(await later.ask(.get, "/emulator/root.cer").response.body == root)
        #expect(await later.ask(.get, "/emulator/api-key").json == keys)
        #expect(await later.ask(.get, "/emulator/products").json["data"]?.array?.count == 1)
        let queue = await later.ask(.get, "/emulator/transactions", query: [("unfinished", "true")])
        #expect(queue.json["data"]?.array?.first?["transactionId"] == bought["transactionId"])
        let signed = try payload(of: queue.json["data"]?.array?.last?["signedTransaction"]?.string)
        #expect(signed["transactionId"]?.string == refunded)
        #expect(signed["revocationType"] == "REFUND_FULL")
        let file = later.directory.appendingPathComponent("emulator.sqlite").path
        let rights = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(rights == 0o600, "the file holds private keys")
        await later.remove()
    }
}
