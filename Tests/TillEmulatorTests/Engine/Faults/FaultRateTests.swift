import Foundation
import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Each fault alone, on incoming requests")
struct FaultRateTests {
    private static let token = "3f2c1a00-1111-4222-8333-444455556666"

    @Test("dropBefore: no answer and no effect; dropAfter: no answer, with effect")
    func drops() async throws {
        try await FaultyWorld.open { world in
            try await world.change(["dropBefore": 1])
            #expect(await world.buy().isHangUp)
            #expect(await world.total() == 0)
            try await world.change(["dropAfter": 1])
            #expect(await world.buy().isHangUp)
            #expect(await world.total() == 1)
            #expect(await world.struck("purchases", "dropAfter") == 1)
            #expect(await world.struck("purchases", "dropBefore") == 0)

            let list = await world.ask(.get, "/emulator/transactions").json
            let id = try #require(list["data"]?.array?.first?["transactionId"]?.string)
            let bearer = try await world.bearer()
            let path = "/inApps/v1/transactions/\(id)/finish"
            try await world.change(["endpoints": ["finish": ["dropBefore": 1]]])
            #expect(await world.ask(.post, path, headers: bearer).isHangUp)
            #expect(await world.ask(.get, "/emulator/transactions/\(id)").json["finished"] == false)
            try await world.change(["endpoints": ["finish": ["dropAfter": 1]]])
            #expect(await world.ask(.post, path, headers: bearer).isHangUp)
            #expect(await world.ask(.get, "/emulator/transactions/\(id)").json["finished"] == true)
        }
    }

    @Test("drop is the sum of both probabilities: at 1 no request is answered, and both kinds occur")
    func bothHalves() async throws {
        try await FaultyWorld.open { world in
            try await world.change(["seed": 5, "drop": 1])
            for _ in 0..<40 { #expect(await world.buy().isHangUp) }
            let (before, after) = (
                await world.struck("purchases", "dropBefore"), await world.struck("purchases", "dropAfter")
            )
            #expect(before + after == 40)
            #expect((10...30).contains(before), "\(before)")
            #expect(await world.total() == after)
        }
    }

    @Test("duplicate: a purchase is made twice and the second is returned; idempotent calls take effect once")
    func duplicates() async throws {
        try await FaultyWorld.open { world in
            try await world.change(["duplicate": 1])
            let bought = await world.buy()
            #expect(bought.status == 200)
            #expect(await world.total() == 2)
            let list = await world.ask(.get, "/emulator/transactions").json["data"]?.array ?? []
            #expect(list.count == 2)
            let ids = list.compactMap { $0["transactionId"]?.string }.compactMap { Int64($0) }
            #expect(bought.json["transactionId"]?.string == ids.max().map { String($0) })
            // A non-consumable is owned after the first time: the second time returns the same transaction.
            let library = await world.buy("library")
            #expect(library.json["outcome"] == "purchased")
            #expect(await world.total() == 3)
            let id = try #require(bought.json["transactionId"]?.string)
            let finished = await world.ask(
                .post, "/inApps/v1/transactions/\(id)/finish", headers: try await world.bearer())
            #expect(finished.status == 200)
            #expect(await world.total() == 3)
            #expect(await world.struck("finish", "duplicate") == 1)
        }
    }

    @Test("delay: a request takes the configured time, and is answered as usual")
    func delays() async throws {
        try await FaultyWorld.open { world in
            try await world.change(["delay": 1, "delayFrom": 300, "delayTo": 400])
            for _ in 0..<20 { #expect(await world.buy().status == 200) }
            #expect(world.waited.count == 20)
            #expect(world.waited.allSatisfy { (300...400).contains($0) })
            #expect(Set(world.waited).count > 5)
            try await world.change(["delay": 1, "delayTo": 0])
            #expect(await world.buy().status == 200)
            #expect(world.waited.count == 20, "no time is no wait")
        }
    }

    @Test("Without a pause effect no request is delayed, and the answer of the settings says so")
    func cannotWait() async throws {
        try await FaultyWorld.open(pause: nil) { world in
            try await world.change(["delay": 1, "reorder": 1])
            #expect(await world.buy().status == 200)
            let faults = await world.ask(.get, "/emulator/faults").json
            #expect(faults["canWait"] == false)
            #expect(faults["injected"]?["purchases"] == nil)
            #expect(faults["requests"]?["purchases"] == 1)
        }
    }

    @Test("rateLimit: the server API names a time in Unix milliseconds, the others seconds; requests have no effect")
    func rateLimits() async throws {
        try await FaultyWorld.open { world in
            try await world.change(["rateLimit": 1])
            let bought = await world.buy()
            #expect(bought.status == 429)
            #expect(bought.json["code"] == "rate_limited" && bought.json["retryable"] == true)
            #expect((1...30).contains(Int(bought.response.headers["Retry-After"] ?? "") ?? 0))
            #expect(await world.total() == 0)
            let asked = await world.ask(.get, "/inApps/v1/transactions/1")
            #expect(asked.status == 429)
            #expect(asked.json["errorCode"] == 4_290_000)
            let until = try #require(Int64(asked.response.headers["Retry-After"] ?? ""))
            #expect((1_000...30_000).contains(until - world.world.now.milliseconds))
            #expect(await world.ask(.post, "/verifyReceipt", ["receipt-data": "AA=="]).status == 429)
        }
    }

    @Test("error5xx: the server API answers 5000000, 5000001 or a bare 503, and nothing else")
    func serverErrors() async throws {
        try await FaultyWorld.open { world in
            try await world.change(["seed": 1, "error5xx": 1])
            var seen: Set<String> = []
            for _ in 0..<30 {
                let asked = await world.ask(.get, "/inApps/v2/history/1")
                seen.insert("\(asked.status) \(asked.json["errorCode"]?.int ?? 0)")
            }
            #expect(seen == ["500 5000000", "500 5000001", "503 0"])
            for _ in 0..<5 {
                #expect([500, 503].contains(await world.buy().status))
                let answer = await world.ask(.post, "/sandbox/verifyReceipt", ["receipt-data": "AA=="])
                #expect([500, 503].contains(answer.status))
                #expect(answer.response.body.isEmpty)
            }
            #expect(await world.total() == 0)
        }
    }

    @Test("html: a page with status 200 or 502 replaces every answer")
    func pages() async throws {
        try await FaultyWorld.open { world in
            try await world.change(["seed": 1, "html": 1])
            for (method, path) in [
                (HTTPMethod.get, "/inApps/v1/subscriptions/1"), (.post, "/verifyReceipt"),
                (.post, "/emulator/purchases"), (.put, "/inApps/v2/transactions/consumption/1"),
            ] {
                var seen: Set<Int> = []
                for _ in 0..<20 {
                    let answer = await world.ask(method, path, FaultyWorld.purchase())
                    seen.insert(answer.status)
                    #expect(answer.response.headers["Content-Type"] == "text/html; charset=UTF-8")
                    #expect(answer.response.body.starts(with: Array("<!DOCTYPE html>".utf8)))
                }
                #expect(seen == [200, 502], "\(path)")
            }
            #expect(await world.total() == 0)
        }
    }

    @Test("internalStatus: verifyReceipt asks for another attempt, and other endpoints are unaffected")
    func internalStatuses() async throws {
        try await FaultyWorld.open { world in
            try await world.change(["seed": 1, "internalStatus": 1])
            var seen: Set<Int64> = []
            for _ in 0..<60 {
                let answer = await world.ask(.post, "/verifyReceipt", ["receipt-data": "AA=="])
                #expect(answer.status == 200)
                let status = try #require(answer.json["status"]?.int)
                seen.insert(status)
                #expect(answer.json["is-retryable"]?.bool == (status >= 21100 ? true : nil))
                let treatment = VerifyReceiptStatus(rawValue: status).treatment
                #expect(treatment == .retry || treatment == .byFlag, "\(status)")
            }
            #expect(seen.contains(21005) && seen.contains(21009) && seen.contains { $0 >= 21100 })
            #expect(await world.buy().status == 200)
        }
    }

    @Test("lostApplicationUsername: no signed payload of the purchase has an appAccountToken (U1)")
    func lostUsername() async throws {
        try await FaultyWorld.open { world in
            _ = await world.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            try await world.change(["lostApplicationUsername": 1])
            let bought = await world.buy("member.monthly", ["appAccountToken": .string(Self.token)])
            #expect(bought.status == 200)
            #expect(try payload(of: bought.json["signedTransaction"]?.string)["appAccountToken"] == nil)
            #expect(await world.struck("purchases", "lostApplicationUsername") == 1)
            _ = await world.buy()
            #expect(await world.struck("purchases", "lostApplicationUsername") == 1, "it had none to lose")
            var wanted = PurchaseRequest(
                bundleID: "com.example.learnpoints", productID: ProductID("com.example.learnpoints.points60"))
            wanted.appAccountToken = UniqueID(Self.token)
            guard case .success(.purchased(let transaction)) = try await world.emulator.store.purchase(wanted) else {
                Issue.record("nothing was bought")
                return
            }
            #expect(transaction.appAccountToken == nil, "an app in process loses it too")
            try await world.change(["lostApplicationUsername": 0])
            await world.emulator.sendDueNotifications()
            #expect(world.notifications.count == 3)
            for notification in world.notifications {
                let data = try payload(of: notification)["data"]
                #expect(try payload(of: data?["signedTransactionInfo"]?.string)["appAccountToken"] == nil)
            }
            let stored = await world.buy("points60", ["appAccountToken": .string(Self.token)])
            #expect(try payload(of: stored.json["signedTransaction"]?.string)["appAccountToken"] == .string(Self.token))
        }
    }

    @Test("clockSkew: signed dates and Retry-After are wrong by it, and nothing happens sooner or later")
    func skew() async throws {
        try await FaultyWorld.open { world in
            _ = await world.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            let now = world.world.now.milliseconds
            try await world.change([
                "clockSkew": -600_000, "rateLimit": 0, "endpoints": ["transactionInfo": ["clockSkew": 86_400_000]],
            ])
            let bought = await world.buy("points60", ["receipt": true])
            let signed = try payload(of: bought.json["signedTransaction"]?.string)
            #expect(signed["signedDate"] == .int(now - 600_000))
            var trust = TrustPolicy(bundleID: nil, environments: nil, now: { world.world.now })
            trust.roots = [world.emulator.issuer.rootCertificate]
            let receipt = try SignedDataVerifier(policy: trust).receipt(base64: bought.json["receipt"]?.string ?? "")
            #expect(receipt.creationDate.seconds == (now - 600_000) / 1_000)
            #expect(signed["purchaseDate"] == .int(now))
            let id = try #require(bought.json["transactionId"]?.string)
            // The bearer token is valid: only signed dates are wrong.
            let asked = await world.ask(.get, "/inApps/v1/transactions/\(id)", headers: try await world.bearer())
            let info = try payload(of: asked.json["signedTransactionInfo"]?.string)
            #expect(info["signedDate"] == .int(now + 86_400_000))
            await world.emulator.sendDueNotifications()
            let notification = try payload(of: world.notifications.first)
            #expect(notification["signedDate"] == .int(now - 600_000))
            let inner = try payload(of: notification["data"]?["signedTransactionInfo"]?.string)
            #expect(inner["signedDate"] == .int(now - 600_000) && inner["purchaseDate"] == .int(now))
            try await world.change(["clockSkew": 3_600_000, "rateLimit": 1])
            let limited = await world.ask(.get, "/inApps/v1/transactions/\(id)")
            let until = try #require(Int64(limited.response.headers["Retry-After"] ?? ""))
            #expect((3_601_000...3_630_000).contains(until - now))
            try await world.change([:])
            #expect(try payload(of: await world.buy().json["signedTransaction"]?.string)["signedDate"] == .int(now))
        }
    }

    @Test("The control API, the root certificate and unserved paths never have faults")
    func undisturbed() async throws {
        try await FaultyWorld.open { world in
            let all = Dictionary(uniqueKeysWithValues: StoreFault.allCases.map { ($0.rawValue, JSONValue.int(1)) })
            try await world.change(.object(all))
            #expect(await world.ask(.get, "/emulator/root.cer").response.body == world.emulator.issuer.rootCertificate)
            #expect(await world.ask(.get, "/emulator/state").status == 200)
            #expect(await world.ask(.get, "/emulator/api-key").status == 200)
            #expect(await world.ask(.get, "/emulator/products").status == 200)
            #expect(await world.ask(.get, "/inApps/v1/nothing").status == 404)
            #expect(await world.ask(.get, "/emulator/faults").json["requests"] == [:])
            #expect(await world.buy().isHangUp)
            #expect(await world.ask(.delete, "/emulator/faults").status == 200)
            #expect(await world.buy().status == 200)
        }
    }

    @Test("Every path of Apple's endpoints has its fault rates, by method, with or without a trailing slash")
    func paths() {
        let expected: [(HTTPMethod, String, FaultEndpoint?)] = [
            (.post, "/verifyReceipt", .verifyReceipt), (.post, "/sandbox/verifyReceipt", .verifyReceipt),
            (.get, "/inApps/v1/transactions/7", .transactionInfo),
            (.head, "/inApps/v1/transactions/7/", .transactionInfo),
            (.get, "/inApps/v1/transactions/appTransactions/7", .appTransactionInfo),
            (.get, "/inApps/v2/history/7", .history), (.get, "/inApps/v1/history/7", .history),
            (.get, "/inApps/v1/subscriptions/7", .subscriptionStatuses),
            (.put, "/inApps/v1/subscriptions/extend/7", .extendRenewal),
            (.post, "/inApps/v1/subscriptions/extend/mass", .massExtension),
            (.get, "/inApps/v1/subscriptions/extend/mass/a/b", .massExtensionStatus),
            (.get, "/inApps/v1/lookup/M1", .orderLookup), (.get, "/inApps/v2/refund/lookup/7", .refundHistory),
            (.put, "/inApps/v2/transactions/consumption/7", .consumption),
            (.put, "/inApps/v1/transactions/consumption/7", .consumption),
            (.put, "/inApps/v1/transactions/7/appAccountToken", .appAccountToken),
            (.post, "/inApps/v1/transactions/7/finish", .finish),
            (.post, "/inApps/v1/notifications/test", .testNotification),
            (.get, "/inApps/v1/notifications/test/t", .testNotificationStatus),
            (.post, "/inApps/v1/notifications/history", .notificationHistory),
            (.post, "/emulator/purchases", .purchases),
            (.get, "/emulator/purchases", nil), (.post, "/emulator/clock", nil), (.get, "/", nil), (.get, "", nil),
            (.get, "/inApps/v1/transactions//", nil), (.put, "/emulator/faults", nil),
        ]
        for (method, path, endpoint) in expected {
            #expect(FaultEndpoint(HTTPRequest(method: method, path: path)) == endpoint, "\(method) \(path)")
        }
        let named = Set(expected.compactMap(\.2))
        #expect(named == Set(FaultEndpoint.allCases).subtracting([.notifications]))
    }
}
