import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillServer

/// Apple asks how much of a purchase was used; the server answers with the customer's consent only.
@Suite("Answers to Apple before a refund") struct ConsumptionJourneys {
    private static let hour: Int64 = 3_600

    private func open(
        _ line: AppleProxy?, cloud: Bool = false, preference: ConsumptionInformation.RefundPreference? = nil,
        _ journey: (Shop) async throws -> Void
    ) async throws {
        let change: (inout ServerConfiguration) -> Void = { configuration in
            if cloud { configuration.catalog = CloudShop.catalog }
            configuration.consumption.preference = preference
        }
        try await Shop.open(change: change, line: line) { shop in
            if cloud { try await CloudShop.stock(shop) }
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            try await journey(shop)
        }
    }

    /// Buys sixty points and spends ten of them; returns the transaction's id.
    private func buy(_ shop: Shop, as user: String = "u1") async throws -> String {
        let order = try await shop.openOrder(as: user)
        let id = try await shop.pay(token: order, account: user).id
        await shop.emulator.sendDueNotifications()
        let spent = try await shop.send(
            .post, "/v1/users/\(user)/wallet/debits",
            ["currency": "points", "amount": 10, "reference": .string("first of \(user)")])
        #expect(spent.status == 201)
        return id
    }

    private func consent(
        _ shop: Shop, _ isGiven: Bool = true, of user: String = "u1", as party: Party? = nil
    ) async throws {
        let reply = try await shop.send(
            .put, "/v1/users/\(user)/consents/consumption", ["given": .bool(isGiven)], as: party ?? .user(user))
        #expect(reply.status == 200 && reply["given"].bool == isGiven)
    }

    /// The customer asks Apple for a refund, and Apple sends a consumption request.
    private func requestRefund(_ shop: Shop, _ id: String) async throws {
        shop.time.advance(seconds: 60)
        let asked = try await shop.ask(
            .post, "/emulator/transactions/\(id)/consumptionRequest", ["reason": "UNINTENDED_PURCHASE"])
        #expect(asked.status == 200, "\(asked.body)")
        await shop.emulator.sendDueNotifications()
    }

    @discardableResult
    private func answer(_ shop: Shop) async throws -> Int {
        try await ConsumptionAnswers(shop.server.ledger).answerAll()
    }

    /// The answer that the store received; nil if none.
    private func received(_ shop: Shop, _ id: String) async throws -> JSONValue? {
        let request = try await shop.emulator.store.refundRequest(try #require(Int64(id)))
        return try request?.answer.map { try JSONValue(decoding: Array($0.utf8)) }
    }

    /// State and code of every request, oldest first.
    private func ends(_ shop: Shop) async throws -> [String] {
        try await shop.send(.get, "/v1/consumption-requests")["data"].list.reversed().map { row in
            let code = row.at("detail").text.prefix { $0 != ":" }
            return row.at("state").text + (code.isEmpty ? "" : " \(code)")
        }
    }

    private func listed(_ shop: Shop) async throws -> JSONValue {
        try #require(try await shop.send(.get, "/v1/consumption-requests")["data"].list.first)
    }

    @Test(
        "Consent is given ten times a day at most and withdrawn at any time; a repeated statement writes nothing")
    func toggles() async throws {
        try await open(AppleProxy()) { shop in
            for _ in 0..<10 {
                for isGiven in [true, true, false, false] { try await consent(shop, isGiven) }
            }
            let eleventh = try await shop.send(
                .put, "/v1/users/u1/consents/consumption", ["given": true], as: .user("u1"))
            #expect(eleventh.status == 429 && eleventh.code == "too_many_requests")
            #expect(eleventh["detail"].text.contains("given again tomorrow"))
            try await consent(shop, false)
            try await consent(shop, of: "u2")
            let rows = try await shop.ledger.read { connection in
                try connection.first(
                    "SELECT count(*) AS count FROM consents WHERE customer_id = \(customer: 1)", [.text("u1")]
                ) {
                    $0.integer("count")
                }
            }
            #expect(rows == 20)
            shop.time.advance(seconds: 86_401)
            try await consent(shop)
        }
    }

    @Test("With consent Apple gets the used share of the points, and refunds the rest (U5)")
    func points() async throws {
        try await open(AppleProxy(), preference: .grantProrated) { shop in
            let id = try await buy(shop)
            try await consent(shop)
            try await requestRefund(shop, id)
            #expect(try await listed(shop).at("state").text == "waiting")
            #expect(try await answer(shop) == 1)
            let reported: JSONValue = [
                "customerConsented": true, "deliveryStatus": "DELIVERED", "sampleContentProvided": false,
                "consumptionPercentage": 16_666, "refundPreference": "GRANT_PRORATED",
            ]
            #expect(try await received(shop, id) == reported)
            let row = try await listed(shop)
            #expect(row.at("state").text == "answered" && row.at("answer") == reported && row.at("userId").text == "u1")
            #expect(row.at("reason").text == "UNINTENDED_PURCHASE" && row.at("transactionId").text == id)
            #expect(try await answer(shop) == 0, "once is enough")
            shop.time.advance(seconds: 12 * Self.hour)
            #expect(
                try await shop.ask(.get, "/emulator/transactions/\(id)/consumptionRequest")["outcome"] == "refunded")
            await shop.emulator.sendDueNotifications()
            // 83.334 % of sixty points, rounded down, are taken back with the money.
            #expect(try await shop.points(of: "u1") == 50 - 50)
            let decisions = try await shop.decisions().map(\.decision)
            #expect(decisions == ["granted", "consumption_answered", "revoked"])
        }
    }

    /// the consent statements, in order, before and after Apple's request | whether Apple gets an answer
    static let consents = """
        nothing       | nothing | no
        yes           | nothing | told
        no            | nothing | no
        yes, no       | nothing | no
        no, yes       | nothing | told
        nothing       | yes     | told
        yes           | no      | no
        no            | no, yes | told
        """

    @Test("The newest statement about consent counts, at the moment of sending; without one nothing is sent (U5)")
    func consents() async throws {
        let rows = Self.consents.split(separator: "\n").map { row in
            row.split(separator: "|").map { $0.split { $0 == "," || $0 == " " }.map(String.init) }
        }
        let line = AppleProxy()
        try await open(line) { shop in
            var ids: [String] = []
            for (number, row) in rows.enumerated() {
                let id = try await buy(shop, as: "c\(number)")
                for word in row[0] where word != "nothing" { try await consent(shop, word == "yes", of: "c\(number)") }
                try await requestRefund(shop, id)
                for word in row[1] where word != "nothing" {
                    try await consent(shop, word == "yes", of: "c\(number)", as: .backend)
                }
                ids.append(id)
            }
            #expect(try await answer(shop) == rows.filter { $0[2] == ["told"] }.count)
            for (id, row) in zip(ids, rows) {
                #expect((try await received(shop, id) != nil) == (row[2] == ["told"]), "\(row)")
                #expect(line.asked.contains { $0.hasSuffix("consumption/\(id)") } == (row[2] == ["told"]), "\(row)")
            }
            #expect(try await ends(shop) == rows.map { $0[2] == ["told"] ? "answered" : "waiting no_consent" })
            shop.time.advance(seconds: 12 * Self.hour)
            #expect(try await answer(shop) == 0)
            let given = line.asked.count
            // Too late.
            for number in rows.indices { try await consent(shop, of: "c\(number)") }
            #expect(try await answer(shop) == 0 && line.asked.count == given)
            #expect(try await ends(shop) == rows.map { $0[2] == ["told"] ? "answered" : "unanswered no_consent" })
        }
    }

    @Test("A consent belongs to the user who gave it, and stays on record")
    func ownConsent() async throws {
        try await open(nil) { shop in
            let path = "/v1/users/u1/consents/consumption"
            #expect(try await shop.send(.get, path, as: .user("u1")).body == ["given": false])
            #expect(try await shop.send(.put, path, ["given": true], as: .user("u2")).status == 403)
            #expect(try await shop.send(.get, path, as: .user("u2")).status == 403)
            #expect(try await shop.send(.put, path, ["given": 1], as: .user("u1")).status == 400)
            let first = try await shop.send(.put, path, ["given": true], as: .user("u1"))
            shop.time.advance(seconds: 60)
            #expect(try await shop.send(.put, path, ["given": true], as: .backend).body == first.body)
            #expect(try await shop.send(.get, path, as: .backend)["at"] == first["at"])
            #expect(try await shop.send(.put, path, ["given": false], as: .backend)["given"] == false)
            let rows = try await shop.ledger.read { connection in
                try connection.query(
                    "SELECT given, \(caller: "consents") FROM consents ORDER BY row_id", []
                ) { row in
                    "\(row.integer("given")) \(CallerColumns.name(row) ?? "")"
                }
            }
            #expect(rows == ["1 user:u1", "0 key:backend"])
            #expect(try await shop.send(.get, "/v1/consumption-requests", as: .user("u1")).status == 403)
        }
    }

    @Test("While Apple is unreachable the answer is retried; after the window it is given up (U5, U7)")
    func outage() async throws {
        let line = AppleProxy()
        try await open(line) { shop in
            let id = try await buy(shop)
            try await consent(shop)
            line.outage = AppleConnectionError(.timedOut)
            try await requestRefund(shop, id)
            for _ in 0..<3 {
                #expect(try await answer(shop) == 0)
                shop.time.advance(seconds: 120)
            }
            let waiting = try await listed(shop)
            #expect(waiting.at("state").text == "waiting" && waiting.at("attempts").int == 3)
            #expect(waiting.at("detail").text.hasPrefix("outage"))
            // Points spent meanwhile count as used: the share is computed at the moment of sending.
            _ = try await shop.send(
                .post, "/v1/users/u1/wallet/debits", ["currency": "points", "amount": 50, "reference": "r2"])
            line.outage = nil
            #expect(try await answer(shop) == 1)
            #expect(try await received(shop, id)?["consumptionPercentage"] == 100_000)

            let second = try await shop.pay(token: try await shop.openOrder(as: "u1")).id
            await shop.emulator.sendDueNotifications()
            try await requestRefund(shop, second)
            line.outage = AppleConnectionError(.unreachable)
            let before = line.asked.count
            for _ in 0..<200 {
                #expect(try await answer(shop) == 0)
                shop.time.advance(seconds: Self.hour / 12)
            }
            #expect((10...40).contains(line.asked.count - before), "\(line.asked.count - before)")
            let ended = try await listed(shop)
            #expect(ended.at("state").text == "unanswered" && ended.at("detail").text.hasPrefix("outage"))
        }
    }

    @Test("Without a key, after the window, or once Apple has decided, the reason for not answering is recorded (U5)")
    func silence() async throws {
        try await open(nil) { shop in
            let id = try await buy(shop)
            try await consent(shop)
            try await requestRefund(shop, id)
            #expect(try await answer(shop) == 0)
            #expect(try await listed(shop).at("detail").text.hasPrefix("no_in_app_purchase_key"))
        }
        let line = AppleProxy()
        try await open(line) { shop in
            for user in ["u1", "u2"] { try await consent(shop, of: user) }
            let id = try await buy(shop)
            try await requestRefund(shop, id)
            _ = try await shop.ask(.post, "/emulator/transactions/\(id)/refund")
            await shop.emulator.sendDueNotifications()
            #expect(try await answer(shop) == 0)
            try await requestRefund(shop, try await buy(shop, as: "u2"))
            shop.time.advance(seconds: 12 * Self.hour)
            #expect(try await answer(shop) == 0)
            #expect(try await ends(shop) == ["unanswered already_refunded", "unanswered too_late"])
        }
        #expect(line.asked.allSatisfy { !$0.contains("consumption") })
    }

    @Test("A final refusal by Apple is recorded, with the answer that was sent")
    func refused() async throws {
        let line = AppleProxy()
        try await open(line) { shop in
            let id = try await buy(shop)
            try await consent(shop)
            try await requestRefund(shop, id)
            line.answer = AppleResponse(
                status: 404, headers: [.init("Content-Type", "application/json")],
                body: Array(#"{"errorCode":4040010,"errorMessage":"Transaction id not found."}"#.utf8))
            #expect(try await answer(shop) == 0)
            let row = try await listed(shop)
            #expect(row.at("state").text == "refused" && row.at("answer").at("consumptionPercentage").int == 16_666)
            #expect(try await answer(shop) == 0 && line.asked.count == 1)
        }
    }

    @Test("A purchase that was never granted is reported as undelivered, with nothing used (U5)")
    func undelivered() async throws {
        try await open(AppleProxy(), preference: .grantProrated) { shop in
            let order = try await shop.openOrder(as: "u1", quantity: 2)
            let payment = try await shop.pay(token: order)
            await shop.emulator.sendDueNotifications()
            #expect(try await shop.points(of: "u1") == 0)
            try await consent(shop)
            try await requestRefund(shop, payment.id)
            #expect(try await answer(shop) == 1)
            #expect(
                try await received(shop, payment.id) == [
                    "customerConsented": true, "deliveryStatus": "UNDELIVERED_OTHER", "sampleContentProvided": false,
                    "consumptionPercentage": 0, "refundPreference": "GRANT_FULL",
                ])
        }
    }

    @Test("Of a plan, its elapsed time is reported, later time is not, and Apple's own periods have no share (U5)")
    func time() async throws {
        try await open(AppleProxy(), cloud: true, preference: .grantProrated) { shop in
            let first = try await shop.buyPlan("basic_monthly", as: "u1")
            shop.time.advance(seconds: 86_400)
            let second = try await shop.buyPlan("basic_monthly", as: "u1")
            let renewing = try await shop.buyPlan("premium_monthly_auto", as: "u1")
            let lasting = try await shop.buyPlan("pro", as: "u1")
            try await consent(shop)
            shop.time.advance(seconds: 2 * 86_400 - 60 * 4)
            for id in [first, second, renewing, lasting] { try await requestRefund(shop, id) }
            #expect(try await answer(shop) == 4)
            var reported: [String] = []
            for id in [first, second, renewing, lasting] {
                let answer = try #require(try await received(shop, id))
                let share = answer["consumptionPercentage"]?.int.map { "\($0)" } ?? "none"
                reported.append("\(share) \(answer["refundPreference"]?.string ?? "none")")
            }
            #expect(reported == ["10000 GRANT_PRORATED", "0 GRANT_FULL", "none GRANT_PRORATED", "none none"])
        }
    }
}
