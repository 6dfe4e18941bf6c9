import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillServer

@Suite("Cloud plans, from preview to service") struct PlanJourneys {
    private static let day: Int64 = 86_400

    @Test(
        "The preview explains the conversion, and the purchase then does what it said (C4, C5, C6)",
        arguments: Reach.allCases)
    func upgrade(_ reach: Reach) async throws {
        try await CloudShop.open(reach) { shop in
            let start = shop.time.now
            let bought = try await shop.buyPlan("basic_monthly", as: "u1", device: "camera 1")
            shop.time.advance(seconds: 15 * Self.day)

            let stated = try await shop.preview("premium_monthly", as: "u1")
            #expect(stated.status == 200, "\(stated.body)")
            #expect(stated["at"].text == shop.time.now.rfc3339)
            #expect(stated["plan"].text == "premium_monthly")
            #expect(stated["productId"].text == CloudShop.prefix + "premium_monthly")
            #expect(stated["change"].text == "upgrade")
            #expect(stated["price"] == ["amount": 699, "currency": "USD"])
            #expect(stated["dailyPrice"] == ["amount": 23, "currency": "USD", "exact": "233/10"])
            #expect(stated["balance"] == ["amount": 150, "currency": "USD", "exact": "299/2"])
            #expect(stated["usedPerDay"] == ["amount": 10, "currency": "USD", "exact": "299/30"])
            #expect(stated["usedUntil"].text == start.adding(seconds: 30 * Self.day).rfc3339)
            #expect(stated["days"].int == 6 && stated["seconds"].int == 554_370)
            #expect(stated["boughtSeconds"].int == 30 * Self.day)
            let end = shop.time.now.adding(seconds: 554_370 + 30 * Self.day).rfc3339
            #expect(stated["expiresAt"].text == end)
            #expect(stated["explanation"].at("en").list.count == 6 && stated["explanation"].at("zh").list.count == 6)
            #expect(
                stated["current"] == [
                    [
                        "plan": "basic_monthly", "productId": .string(CloudShop.prefix + "basic_monthly"),
                        "origin": "bought", "treatment": "converted", "deviceId": "camera 1",
                        "transactionId": .string(bought), "paid": ["amount": 299, "currency": "USD"],
                        "boughtSeconds": 2_592_000, "remainingSeconds": 1_296_000, "startsAt": .string(start.rfc3339),
                        "endsAt": .string(start.adding(seconds: 30 * Self.day).rfc3339),
                        "value": ["amount": 150, "currency": "USD", "exact": "299/2"],
                    ]
                ])

            try await shop.buyPlan("premium_monthly", as: "u1", device: "camera 2")
            #expect(try await shop.rights(of: "u1") == ["service premium premium_monthly \(end)"])
        }
    }

    @Test("Devices of one account count together, and the account's other past plans don't count (C5, C11)")
    func devices() async throws {
        try await CloudShop.open { shop in
            let start = shop.time.now
            try await shop.buyPlan("basic_monthly", as: "u1", device: "camera 1")
            try await shop.buyPlan("basic_monthly", as: "u1", device: "camera 2")
            try await shop.buyPlan("premium_annual", as: "u2")
            let stacked = start.adding(seconds: 60 * Self.day).rfc3339
            #expect(try await shop.rights(of: "u1") == ["service basic basic_monthly \(stacked)"])
            let stated = try await shop.preview("premium_monthly", as: "u1")
            #expect(stated["current"].list.map { $0.at("deviceId").text } == ["camera 1", "camera 2"])
            #expect(stated["balance"].at("exact").text == "598")
            shop.time.advance(seconds: 60 * Self.day)
            #expect(try await shop.rights(of: "u1").isEmpty)
            let late = try await shop.preview("premium_monthly", as: "u1")
            #expect(late["current"] == [] && late["balance"].at("exact").text == "0" && late["seconds"].int == 0)
            #expect(late["change"].text == "start" && late["usedPerDay"] == .null)
        }
    }

    @Test("A preview for another time counts the purchases until then, and their remainder at that time (C6)")
    func moments() async throws {
        try await CloudShop.open { shop in
            let start = shop.time.now
            try await shop.buyPlan("basic_monthly", as: "u1")
            shop.time.advance(seconds: 10 * Self.day)
            try await shop.buyPlan("basic_monthly", as: "u1")
            func balance(_ days: Int64) async throws -> String {
                let reply = try await shop.preview(
                    "premium_monthly", as: "u1", at: start.adding(seconds: days * Self.day))
                return reply["balance"].at("exact").text
            }
            #expect(try await balance(-1) == "0")
            #expect(try await balance(9) == "2093/10")
            #expect(try await balance(10) == "1495/3")
            #expect(try await balance(59) == "299/30")
            #expect(try await balance(60) == "0")
        }
    }

    @Test("A refunded purchase does not count, and counts again when the refund is reversed (C5, U5)")
    func refund() async throws {
        try await CloudShop.open { shop in
            let start = shop.time.now
            let first = try await shop.buyPlan("basic_monthly", as: "u1")
            shop.time.advance(seconds: 10 * Self.day)
            try await shop.buyPlan("premium_monthly", as: "u1")
            let before = try await shop.rights(of: "u1")
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(first)/refund")
            _ = try await shop.submit(refunded["signedTransaction"].text, as: .user("u1"))
            let end = start.adding(seconds: 40 * Self.day).rfc3339
            #expect(try await shop.rights(of: "u1") == ["service premium premium_monthly \(end)"])
            shop.time.advance(seconds: 60)
            let reversed = try await shop.ask(.post, "/emulator/transactions/\(first)/refundReversal")
            _ = try await shop.submit(reversed["signedTransaction"].text, as: .user("u1"))
            #expect(try await shop.rights(of: "u1") == before)
        }
    }

    @Test("A payment in another currency counts with the list price of its day, whatever plans cost now (C5)")
    func currencies() async throws {
        try await CloudShop.open { shop in
            try await shop.buyPlan("basic_monthly", as: "u1", storefront: "CHN", quantity: 2)
            let stated = try await shop.preview("premium_monthly", as: "u1")
            #expect(stated["current"].list.first?.at("paid") == ["amount": 598, "currency": "USD"])
            #expect(stated["balance"].at("exact").text == "598")

            // The same ledger with a catalogue of doubled prices, and both conversions there.
            try await shop.buyPlan("premium_monthly", as: "u1")
            let rights = try await shop.rights(of: "u1")
            shop.time.advance(seconds: 1)
            try shop.reprice(["basic_monthly": 598, "premium_monthly": 1_398])
            #expect(try await shop.rights(of: "u1") == rights)
        }
    }

    @Test("Entitlements are lasting, timed and renewing rights; points and revoked rights are none (P10, C7)")
    func entitlements() async throws {
        try await CloudShop.open { shop in
            let start = shop.time.now
            let pro = try await shop.buyPlan("pro", as: "u1", device: "phone")
            shop.time.advance(seconds: 1)
            try await shop.buyPlan("points60", as: "u1")
            try await shop.buyPlan("basic_annual", as: "u1")
            shop.time.advance(seconds: 1)
            let renewing = try await shop.buyPlan("premium_monthly_auto", as: "u1")
            let service = start.adding(seconds: 1 + 365 * Self.day).rfc3339
            let signed = try await shop.ask(.get, "/emulator/transactions/\(renewing)")
            let rights = try await shop.rights(of: "u1")
            #expect(rights.count == 3)
            #expect(rights.prefix(2) == ["lasting pro", "service basic basic_annual \(service)"])
            let renewed = try #require(rights.last)
            #expect(renewed.hasPrefix("subscription premium premium_monthly 20"), "\(signed.body)")
            let end = try #require(renewed.split(separator: " ").last.flatMap { Instant(rfc3339: $0) })
            #expect((28 * Self.day...31 * Self.day).contains(end.seconds - start.seconds - 2))

            let full = try await shop.send(.get, "/v1/users/u1/entitlements", as: .backend)["data"].list
            #expect(
                full.first == [
                    "entitlement": "pro", "productId": .string(CloudShop.prefix + "pro"), "kind": "lasting",
                    "state": "active", "why": "bought",
                    "sentence": ["en": "Bought permanently.", "zh": "已购买，永久有效。"], "deviceId": "phone",
                    "since": .string(start.rfc3339), "transactionId": .string(pro),
                ])
            // A subscription is not converted.
            let stated = try await shop.preview("premium_monthly", as: "u1")
            #expect(stated["current"].list.map { $0.at("plan").text } == ["basic_annual"])

            shop.time.advance(seconds: 1)
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(pro)/refund")
            _ = try await shop.submit(refunded["signedTransaction"].text, as: .user("u1"))
            shop.time.advance(seconds: 31 * Self.day)
            #expect(try await shop.rights(of: "u1") == ["service basic basic_annual \(service)"])
        }
    }

    @Test("A renewal extends a subscription, and an older copy that comes later doesn't shorten it (C7, U4)")
    func renewal() async throws {
        try await CloudShop.open { shop in
            let first = try await shop.buyPlan("premium_monthly_auto", as: "u1")
            let old = try await shop.rights(of: "u1")
            let early = try await shop.ask(.get, "/emulator/transactions/\(first)")["signedTransaction"].text
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            shop.time.advance(seconds: 31 * Self.day)
            #expect(try await shop.ask(.get, "/emulator/subscriptions/\(first)").status == 200)
            await shop.emulator.sendDueNotifications()
            let renewed = try await shop.rights(of: "u1")
            #expect(renewed.count == 1 && renewed != old)
            _ = try await shop.submit(early, as: .user("u1"))
            #expect(try await shop.rights(of: "u1") == renewed)
        }
    }

    @Test("Rights and previews are the user's own, and of one environment")
    func others() async throws {
        try await CloudShop.open(environments: [.sandbox, .production]) { shop in
            try await shop.buyPlan("basic_monthly", as: "u1")
            let path = "/v1/users/u1/entitlements"
            #expect(try await shop.send(.get, path, as: .user("u2")).status == 403)
            #expect(try await shop.send(.get, path, as: .anonymous).status == 401)
            #expect(try await shop.send(.get, path)["data"] == [])
            #expect(try await shop.send(.get, path + "?environment=sandbox")["data"].list.count == 1)
            #expect(try await shop.send(.get, path + "?environment=xcode").code == "invalid_field")
            #expect(try await shop.send(.get, "/v1/users/u9/entitlements")["data"] == [])
            func preview(_ query: String, as party: Party, _ user: JSONValue = .null) async throws -> Reply {
                try await shop.send(
                    .post, "/v1/plans/preview" + query, ["planId": "premium_monthly", "userId": user], as: party)
            }
            #expect(try await preview("", as: .backend, "u1")["current"] == [])
            #expect(try await preview("?environment=sandbox", as: .backend, "u1")["current"].list.count == 1)
            #expect(try await preview("?environment=sandbox", as: .user("u1"), "u1")["current"].list.count == 1)
            #expect(try await preview("", as: .user("u1"), "u2").code == "forbidden")
            #expect(try await preview("", as: .backend).code == "invalid_field")
            #expect(try await preview("", as: .anonymous, "u1").status == 401)
        }
    }

    @Test(
        "Invalid previews are refused with a code",
        arguments: [
            ("{}", 400, "invalid_field"), ("[]", 400, "invalid_field"), ("", 400, "malformed_json"),
            ("{\"planId\": 7}", 400, "invalid_field"), ("{\"planId\": \"\"}", 400, "invalid_field"),
            ("{\"planId\": \"none\"}", 422, "unknown_product"),
            ("{\"planId\": \"pro\"}", 400, "invalid_field"), ("{\"planId\": \"points60\"}", 400, "invalid_field"),
            ("{\"planId\": \"premium_monthly_auto\"}", 400, "invalid_field"),
            ("{\"planId\": \"basic_monthly\", \"at\": \"soon\"}", 400, "invalid_field"),
            ("{\"planId\": \"basic_monthly\", \"at\": 1}", 400, "invalid_field"),
            ("{\"planId\": \"basic_monthly\", \"quantity\": 0}", 422, "quantity_not_allowed"),
            ("{\"planId\": \"basic_monthly\", \"quantity\": 11}", 422, "quantity_not_allowed"),
            ("{\"planId\": \"a\\u0000b\"}", 400, "invalid_field"),
            ("{\"planId\": \"\(String(repeating: "p", count: 256))\"}", 400, "invalid_field"),
        ])
    func unusable(_ body: String, _ status: Int, _ code: String) async throws {
        try await CloudShop.open { shop in
            var request = HTTPRequest(method: .post, path: "/v1/plans/preview", body: Array(body.utf8))
            request.headers.add("Authorization", try #require(Party.user("u1").authorization(now: shop.time.now)))
            let reply = try await Reply(shop.deliver(request))
            #expect(reply.status == status && reply.code == code, "\(reply.body)")
        }
    }

    @Test("The first and last times are answered like any other (C6)", arguments: ["0000-01-01", "9999-12-31"])
    func endsOfTime(_ date: String) async throws {
        try await CloudShop.open { shop in
            try await shop.buyPlan("basic_monthly", as: "u1")
            let at = try #require(Instant(rfc3339: "\(date)T23:59:59Z"))
            let reply = try await shop.preview("premium_monthly", as: "u1", at: at)
            #expect(reply.status == 200 && reply["balance"].at("exact").text == "0")
            #expect(Instant(rfc3339: reply["expiresAt"].text).map { $0 >= at } == true)
        }
    }
}
