import Testing
import TillAppStore
import TillBilling

/// One Apple Account, several customers: a chain has one state, whichever customers own its periods.
@Suite("A subscription chain has one state for all of its customers (C7, U1, U4)") struct SharedChainJourneys {
    @Test(
        "Another customer's upgrade ends a paid year, and its refund does not restore it", arguments: Reach.allCases)
    func upgradeByAnother(_ reach: Reach) async throws {
        try await HouseholdShop.open(reach) { house in
            let year = try await house.buy(HouseholdShop.basicYear, as: "ann")
            #expect(try await house.submit(year.signed, as: "ann") == "granted finish")
            house.shop.time.advance(seconds: 86_400)
            let upgrade = try await house.buy(HouseholdShop.premium, as: "ben")
            #expect(try await house.submit(upgrade.signed, as: "ben") == "granted finish")
            #expect(try await house.rights(["ann", "ben"]) == ["", "premium"])
            #expect(try await house.states(["ann", "ben"]) == ["upgraded basic_annual", "active premium_monthly"])
            #expect(try await house.received("ann") == ["active", "upgraded"])
            #expect(try await house.received("ben") == ["active"])

            house.shop.time.advance(seconds: 86_400)
            try await house.act("transactions/\(upgrade.id)/refund")
            let copy = try await house.shop.ask(.get, "/emulator/transactions/\(upgrade.id)")["signedTransaction"].text
            #expect(try await house.submit(copy, as: "ben").hasPrefix("revoked"))
            #expect(try await house.rights(["ann", "ben"]) == ["", ""])
            #expect(try await house.received("ann") == ["active", "upgraded"])
            #expect(try await house.received("ben").last == "revoked")
        }
    }

    @Test("After another customer's upgrade the reconciliation has nothing to correct")
    func nothingToMend() async throws {
        try await HouseholdShop.open { house in
            let recorder = RequestRecorder()
            house.shop.intercept { request in
                recorder.take(request)
                return .init(status: 200)
            }
            let year = try await house.buy(HouseholdShop.basicYear, as: "ann")
            try await house.submit(year.signed, as: "ann")
            house.shop.time.advance(seconds: 86_400)
            try await house.submit(try await house.buy(HouseholdShop.premium, as: "ben").signed, as: "ben")
            await house.shop.emulator.sendDueNotifications()
            house.shop.intercept(nil)
            for payload in recorder.payloads { try await house.post(payload) }
            let drift = try await house.driftAfterReconciliation()
            #expect(drift.isEmpty, "\(drift)")
        }
    }

    @Test(
        "A refunded upgrade under an unknown token does not restore the year that it replaced",
        arguments: Reach.allCases)
    func refundedStranger(_ reach: Reach) async throws {
        try await HouseholdShop.open(reach) { house in
            let order = try await house.shop.openOrder(HouseholdShop.basicYear, as: "ann")
            try await house.submit(
                try house.period("7001", HouseholdShop.basicYear, 0..<365, token: order), as: "ann")
            house.go(to: 30)
            let token = OrderID(high: 0x1111_2222_3333_4444, low: 0x9555_6666_7777_8888)
            let upgrade = try house.period("7002", HouseholdShop.premium, 30..<60, token: token)
            #expect(try await house.submit(upgrade, as: "ann") == "quarantined unknown_token")
            #expect(try await house.rights(["ann"]) == [""])
            house.go(to: 32)
            let refund = try house.period(
                "7002", HouseholdShop.premium, 30..<60, token: token, signed: 32, revoked: 32)
            #expect(try await house.submit(refund, as: "ann").hasPrefix("revoked"))
            #expect(try await house.rights(["ann"]) == [""])
            #expect(try await house.states(["ann"]) == ["upgraded basic_annual"])
            #expect(try await house.received("ann") == ["active", "upgraded"])
            #expect(try await house.isUnchangedByReconciliation(["ann"]))
        }
    }

    @Test("A failed renewal puts its own customer into grace, and no former one", arguments: Reach.allCases)
    func grace(_ reach: Reach) async throws {
        try await HouseholdShop.open(reach) { house in
            let users = ["u1", "u2", "u3", "u4", "u5", "u6"]
            var newest = ""
            for (index, user) in users.enumerated() {
                let day = Int64(index) * 40
                house.go(to: day)
                let order = try await house.shop.openOrder(HouseholdShop.premium, as: user)
                newest = try house.period(
                    "\(7001 + index)", HouseholdShop.premium, day..<day + 30, token: order)
                #expect(try await house.submit(newest, as: user) == "granted finish")
            }
            house.go(to: 230)
            let events = try await house.received("u1").count
            try await house.post(try house.failure(on: 230, grace: 246, about: newest))
            #expect(try await house.rights(users) == ["", "", "", "", "", "premium"])
            let states = try await house.states(users)
            #expect(states.dropLast().allSatisfy { $0 == "expired premium_monthly" }, "\(states)")
            #expect(states.last == "grace premium_monthly")
            #expect(try await house.received("u1").count == events)
            #expect(try await house.received("u6") == ["active", "grace"])
            #expect(try await house.isUnchangedByReconciliation(users))
        }
    }

    @Test("With receipts alone another customer's upgrade ends a year, although a receipt gives no reason for a period")
    func receipts() async throws {
        try await HouseholdShop.open(hasKey: false) { house in
            let first = try await house.shop.openOrder(HouseholdShop.basicYear, as: "ann")
            let year = try await house.pay(HouseholdShop.basicYear, token: first)
            let given = try await house.shop.post(receiptOf: year, HouseholdShop.basicYear, order: first, as: "ann")
            #expect(given["outcome"].text == "granted", "\(given.body)")
            house.shop.time.advance(seconds: 86_400)
            let second = try await house.shop.openOrder(HouseholdShop.premium, as: "ben")
            let upgrade = try await house.pay(HouseholdShop.premium, token: second)
            let reply = try await house.shop.post(receiptOf: upgrade, HouseholdShop.premium, order: second, as: "ben")
            #expect(reply["outcome"].text == "granted" && reply["userId"].text == "ben", "\(reply.body)")
            #expect(try await house.rights(["ann", "ben"]) == ["", "premium"])
        }
    }
}
