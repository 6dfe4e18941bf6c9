import Testing
import TillBilling
import TillJSON

@Suite("Plans that are bought once, again, and for other devices") struct StackedPlanJourneys {
    /// The name of the row | `day product`, with the number of units before it, the device after an `@`, `~` for a
    /// purchase refunded at the end | the resulting services, each with its end in days and seconds.
    ///
    /// By hand, with a balance of (price paid × rest ÷ bought time), a daily price of the new plan, and the days that
    /// the balance buys. Downgrade: 699 × 20/30 = 466 ÷ (299/30) = 46.755853. Above the price: 2999 × 300/365 ÷
    /// (299/30) = 247.317542. Two devices on the account's plan: 598 × 45/60 = 448.5 ÷ (699/30) = 19.248927.
    static let table = """
        consumables stack    | 0 basic_monthly, 10 basic_monthly                    | basic_monthly 60
        non-renewing too     | 0 basic_pass, 10 basic_pass                          | basic_monthly 60
        both as one plan     | 0 basic_pass, 10 basic_monthly, 20 basic_pass        | basic_monthly 90
        two at once          | 0 2basic_pass                                        | basic_monthly 60
        a gap begins anew    | 0 basic_pass, 40 basic_pass                          | basic_monthly 70
        converted            | 0 basic_pass, 15 premium_monthly                     | premium_monthly 51+35970
        refund of one        | 0 basic_pass, 10 ~basic_pass, 20 basic_pass          | basic_monthly 60
        refund of the change | 0 basic_pass, 10 ~premium_monthly, 20 basic_pass     | basic_monthly 60
        downgrade            | 0 premium_monthly, 10 basic_monthly                  | basic_monthly 86+65306
        above the new price  | 0 basic_annual, 65 basic_monthly                     | basic_monthly 342+27436
        two devices          | 0 basic_monthly@a, 0 basic_monthly@b, 15 premium_monthly | premium_monthly 64+21508
        a trial is worth 0   | 0 trial, 2 premium_monthly                           | premium_monthly 32, trial 7
        """

    @Test("The server keeps the time of non-renewing subscriptions as of consumables: purchases stack (C11)")
    func stacks() async throws {
        try await CloudShop.open { shop in
            for (number, row) in Self.table.split(separator: "\n").enumerated() {
                let cells = row.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
                try #require(cells.count == 3)
                let start = shop.time.now
                try await buy(cells[1], as: "u\(number)", shop)
                let expected = cells[2].split(separator: ",").map { service in
                    let words = service.split { " +".contains($0) }
                    let numbers = words.dropFirst().compactMap { Int64($0) }
                    let seconds = (numbers.first ?? 0) * 86_400 + (numbers.dropFirst().first ?? 0)
                    let right = words[0].prefix { $0 != "_" }
                    return "service \(right) \(words[0]) \(start.adding(seconds: seconds).rfc3339)"
                }
                #expect(try await shop.rights(of: "u\(number)").sorted() == expected.sorted(), "\(row)")
            }
        }
    }

    @Test("A plan for the account takes over the service of each device that a plan was bought for (C5)")
    func devicesToAccount() async throws {
        let basic = ["basic_monthly", "basic_annual"].map { ProductID(CloudShop.prefix + $0) }
        let products =
            CloudShop.catalog.products.filter { !basic.contains($0.id) }
            + CloudShop.catalog(scope: .device).products.filter { basic.contains($0.id) }
        try await CloudShop.open(change: { $0.catalog = Catalog(products: products) }) { shop in
            let start = shop.time.now
            try await buy("0 basic_monthly@a, 5 basic_monthly@b, 15 premium_monthly", as: "u1", shop)
            // 299 × 15/30 + 299 × 20/30 = 348.83 ÷ (699/30) = 14.971388 days.
            let end = start.adding(seconds: 45 * 86_400 + 1_293_528).rfc3339
            #expect(try await shop.rights(of: "u1") == ["service premium premium_monthly \(end)"])
        }
    }

    private func buy(_ purchases: String, as buyer: String, _ shop: Shop) async throws {
        let start = shop.time.now
        var refunds: [String] = []
        for purchase in purchases.split(separator: ",") {
            let words = purchase.split(separator: " ")
            try #require(words.count == 2)
            let day = try #require(Int64(words[0]))
            shop.time.advance(seconds: start.seconds + day * 86_400 - shop.time.now.seconds)
            let parts = words[1].drop { $0 == "~" }.split(separator: "@")
            let quantity = Int64(parts[0].prefix { $0.isNumber }) ?? 1
            let id = try await shop.buyPlan(
                String(parts[0].drop { $0.isNumber }), as: buyer, device: parts.dropFirst().first.map(String.init),
                quantity: quantity)
            if words[1].hasPrefix("~") { refunds.append(id) }
        }
        for id in refunds {
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(id)/refund")
            _ = try await shop.submit(refunded["signedTransaction"].text, as: .user(buyer))
        }
    }

    @Test("A plan for devices runs separately on each, and a change converts that device's plan (C5, C6)")
    func devices() async throws {
        try await CloudShop.open(scope: .device) { shop in
            let start = shop.time.now
            func day(_ days: Int64, _ seconds: Int64 = 0) -> String {
                start.adding(seconds: days * 86_400 + seconds).rfc3339
            }
            try await shop.buyPlan("basic_monthly", as: "u1", device: "camera 1")
            shop.time.advance(seconds: 10 * 86_400)
            let beside = try await shop.preview("basic_monthly", as: "u1", device: "camera 2")
            #expect(beside["change"] == "start" && beside["deviceIds"] == ["camera 2"])
            #expect(beside["current"].list.map { $0.at("treatment") } == ["untouched"])
            try await shop.buyPlan("basic_monthly", as: "u1", device: "camera 2")
            try await shop.buyPlan("basic_monthly", as: "u1", device: "camera 1")
            #expect(
                try await shop.rights(of: "u1") == [
                    "service basic basic_monthly \(day(60)) camera 1",
                    "service basic basic_monthly \(day(40)) camera 2",
                ])
            // Camera 1's plan becomes premium for camera 1; camera 2 keeps its own.
            let stated = try await shop.preview("premium_monthly", as: "u1", device: "camera 1")
            #expect(stated["balance"].at("exact").text == "1495/3" && stated["price"].at("amount") == 699)
            #expect(stated["deviceIds"] == ["camera 1"])
            #expect(stated["explanation"].at("zh").list.map(\.text).contains("适用设备：camera 1"))
            try await shop.buyPlan("premium_monthly", as: "u1", device: "camera 1")
            let end = stated["expiresAt"].text
            #expect(end == day(10 + 30 + 21, 33_497))
            #expect(
                try await shop.rights(of: "u1") == [
                    "service basic basic_monthly \(day(40)) camera 2",
                    "service premium premium_monthly \(end) camera 1",
                ])
        }
    }

    @Test("One premium plan upgrades one of fifty cameras, not all for the price of one", arguments: Reach.allCases)
    func fifty(_ reach: Reach) async throws {
        try await CloudShop.open(reach, change: { $0.orders.perHour = 200 }, scope: .device) { shop in
            for number in 1...50 { try await shop.buyPlan("basic_monthly", as: "u1", device: "camera \(number)") }
            try await shop.buyPlan("premium_monthly", as: "u1", device: "camera 50")
            let rights = try await shop.rights(of: "u1")
            #expect(rights.count == 50)
            #expect(rights.filter { $0.hasPrefix("service premium") }.allSatisfy { $0.hasSuffix("camera 50") })
            #expect(rights.filter { $0.hasPrefix("service basic") }.count == 49)
        }
    }

    @Test("An order and a preview of a plan for one device name the device", arguments: Reach.allCases)
    func unnamed(_ reach: Reach) async throws {
        try await CloudShop.open(reach, scope: .device) { shop in
            for quantity: Int64 in [1, 2] {
                let order = try await shop.openPlan("basic_monthly", as: "u1", quantity: quantity)
                #expect(order.status == 400 && order.code == "invalid_field", "\(order.body)")
                #expect(order["detail"].text.hasPrefix("deviceId: missing"))
            }
            let backend = try await shop.send(
                .post, "/v1/orders",
                ["productId": .string(CloudShop.prefix + "basic_monthly"), "userId": "u1"], as: .backend)
            #expect(backend.status == 400 && backend.code == "invalid_field")
            #expect(try await shop.preview("basic_monthly", as: "u1").code == "invalid_field")
            #expect(try await shop.openPlan("pro", as: "u1").status == 201)
        }
    }

    @Test("The gate opens for the device that a plan was bought for, and for no other (C5)", arguments: Reach.allCases)
    func gate(_ reach: Reach) async throws {
        try await CloudShop.open(reach, scope: .device) { shop in
            try await shop.buyPlan("premium_monthly", as: "u1", device: "camera-1")
            for (device, why) in [("camera-1", "paid"), ("camera-2", "other_device")] {
                let gate = try await shop.send(
                    .get, "/v1/users/u1/entitlements/premium?deviceId=\(device)", as: .user("u1"))
                #expect(gate.status == 200 && gate["why"].text == why, "\(gate.body)")
                #expect(gate["allowed"] == .bool(why == "paid"))
            }
            let gate = try await shop.send(.get, "/v1/users/u1/entitlements/premium", as: .user("u1"))
            #expect(gate["allowed"] == false && gate["why"].text == "other_device")
        }
        try await CloudShop.open(reach) { shop in
            try await shop.buyPlan("premium_monthly", as: "u1", device: "camera-1")
            let gate = try await shop.send(.get, "/v1/users/u1/entitlements/premium?deviceId=tv", as: .user("u1"))
            #expect(gate["allowed"] == true, "a plan for the account is for all of its devices")
        }
    }

    @Test("A stranger who submits a plan's proof first can't name its device; its customer can (P8)")
    func strangersDevice() async throws {
        try await CloudShop.open(scope: .device) { shop in
            let token = UniqueID(high: 0x0123_4567_89AB_4CDE, low: 0x8000_0000_0000_0001)
            #expect(try await shop.send(.put, "/v1/users/ann/account-tokens/\(token)").status == 201)
            let paid = try await shop.pay(CloudShop.prefix + "basic_monthly", token: token)
            func bring(from device: String, as user: String) async throws -> String {
                let body: JSONValue = ["signedTransaction": .string(paid.signed), "deviceId": .string(device)]
                return try await shop.send(.post, "/v1/transactions", body, as: .user(user))["outcome"].text
            }
            func isAllowed(on device: String) async throws -> Bool {
                let path = "/v1/users/ann/entitlements/basic?deviceId=\(device)"
                return try await shop.send(.get, path, as: .user("ann"))["allowed"] == true
            }
            #expect(try await bring(from: "x", as: "thief") == "granted")
            #expect(try await isAllowed(on: "x") == false)
            #expect(try await bring(from: "camera", as: "ann") == "alreadyGranted")
            #expect(try await isAllowed(on: "camera"))
            // A device that was named once stays.
            for (device, user) in [("x", "thief"), ("tv", "ann")] { _ = try await bring(from: device, as: user) }
            #expect(try await isAllowed(on: "camera"))
            #expect(try await isAllowed(on: "tv") == false)
        }
    }
}
