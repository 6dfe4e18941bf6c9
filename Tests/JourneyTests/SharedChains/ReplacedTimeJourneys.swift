import Testing
import TillAppStore
import TillBilling

/// Apple refunds the time that an upgrade replaced, and reports it only through the upgrade.
@Suite("An upgrade takes the points of the time that it replaced (U5)") struct ReplacedTimeJourneys {
    private func year(_ house: HouseholdShop) async throws -> String {
        let order = try await house.shop.openOrder(HouseholdShop.lessonYear, as: "ann")
        return try house.period("7001", HouseholdShop.lessonYear, 0..<365, token: order)
    }

    private func upgrade(_ house: HouseholdShop, as user: String, on day: Int64 = 73) async throws -> String {
        let order = try await house.shop.openOrder(HouseholdShop.premium, as: user)
        return try house.period("7002", HouseholdShop.premium, day..<day + 30, token: order)
    }

    /// The points taken in a customer's `grant.revoked` events.
    private func taken(_ house: HouseholdShop, of user: String) async throws -> [Int64] {
        try await house.shop.send(.get, "/v1/events?user=\(user)&limit=100")["data"].list
            .filter { $0.at("type").text == "grant.revoked" }
            .flatMap { $0.at("data").at("postings").list.map { $0.at("amount").int ?? 0 } }
    }

    @Test("An upgrade with four fifths of a year left takes four fifths of its points, once", arguments: Reach.allCases)
    func share(_ reach: Reach) async throws {
        try await HouseholdShop.open(reach) { house in
            let year = try await year(house)
            #expect(try await house.submit(year, as: "ann") == "granted finish")
            #expect(try await house.shop.points(of: "ann") == 365)
            house.go(to: 73)
            let upgrade = try await upgrade(house, as: "ann")
            for copy in [upgrade, upgrade, year] { try await house.submit(copy, as: "ann") }
            #expect(try await house.shop.points(of: "ann") == 73)
            #expect(try await taken(house, of: "ann") == [-292])
            #expect(try await house.driftAfterReconciliation().isEmpty)
            #expect(try await house.shop.points(of: "ann") == 73)
        }
    }

    @Test("The same if another customer of the Apple Account upgrades, and if the upgrade waits for its customer")
    func another() async throws {
        for upgrader in ["ben", nil] as [String?] {
            try await HouseholdShop.open { house in
                try await house.submit(try await year(house), as: "ann")
                house.go(to: 73)
                if let upgrader {
                    try await house.submit(try await upgrade(house, as: upgrader), as: upgrader)
                } else {
                    let token = OrderID(high: 0x1111_2222_3333_4444, low: 0x9555_6666_7777_8888)
                    let upgrade = try house.period("7002", HouseholdShop.premium, 73..<103, token: token)
                    #expect(try await house.submit(upgrade, as: "ann") == "quarantined unknown_token")
                }
                #expect(try await house.shop.points(of: "ann") == 73)
                #expect(try await taken(house, of: "ann") == [-292])
            }
        }
    }

    @Test("The same if the server gets the upgrade first, and a refunded upgrade gives nothing back")
    func lateYear() async throws {
        try await HouseholdShop.open { house in
            let year = try await year(house)
            house.go(to: 73)
            let upgrade = try await upgrade(house, as: "ann")
            try await house.submit(upgrade, as: "ann")
            #expect(try await house.submit(year, as: "ann") == "granted finish")
            #expect(try await house.shop.points(of: "ann") == 73)
            house.go(to: 80)
            let refund = try house.period("7002", HouseholdShop.premium, 73..<103, signed: 80, revoked: 80)
            #expect(try await house.submit(refund, as: "ann").hasPrefix("revoked"))
            #expect(try await house.shop.points(of: "ann") == 73)
        }
    }

    @Test("A refund of the whole year takes the rest, and its reversal leaves what the upgrade took")
    func refund() async throws {
        try await HouseholdShop.open { house in
            let order = try await house.shop.openOrder(HouseholdShop.lessonYear, as: "ann")
            let year = try house.period("7001", HouseholdShop.lessonYear, 0..<365, token: order)
            try await house.submit(year, as: "ann")
            house.go(to: 73)
            try await house.submit(try await upgrade(house, as: "ann"), as: "ann")
            let refunded = try house.period(
                "7001", HouseholdShop.lessonYear, 0..<365, token: order, signed: 90, revoked: 90)
            #expect(try await house.submit(refunded, as: "ann").hasPrefix("revoked"))
            #expect(try await house.shop.points(of: "ann") == 0)
            let again = try house.period("7001", HouseholdShop.lessonYear, 0..<365, token: order, signed: 91)
            try await house.submit(again, as: "ann")
            #expect(try await house.shop.points(of: "ann") == 73)
        }
    }
}
