import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Subscriptions on a device")
struct DeviceSubscriptionTests {
    private func group(_ phone: Phone, _ id: String = "21000001") async throws -> JSONValue {
        let data = try #require(try await phone.ask("/subscription-statuses")["data"]?.array)
        return try #require(data.first { $0["groupId"] == .string(id) })
    }

    private func statuses(_ phone: Phone, _ id: String = "21000001") async throws -> [Int64] {
        try await group(phone, id)["statuses"]?.array?.compactMap { $0["status"]?.int } ?? []
    }

    @Test("Groups on sale are listed before any purchase; a status follows its subscription, signed for the device")
    func life() async throws {
        let world = try await EmulatedWorld()
        let phone = try await world.phone(1, of: "ann")
        let before = try await group(phone)
        #expect(before["groupName"] == "Membership" && before["introductoryEligible"] == true)
        #expect(before["statuses"] == [])
        let id = try world.identifier(try await world.buy("member.monthly", ["account": "ann"]))
        let running = try #require(try await group(phone)["statuses"]?.array?.first)
        #expect(running["status"] == 1 && running["originalTransactionId"] == .string(id))
        for name in ["signedTransaction", "signedRenewalInfo"] {
            let signed = try payload(of: running[name]?.string)
            #expect(signed["originalTransactionId"] == .string(id))
            #expect(signed["deviceVerification"]?.string?.isEmpty == false, "\(name)")
        }
        #expect(try await group(phone)["introductoryEligible"] == false, "not for who subscribes")
        _ = await world.ask(.put, "/emulator/subscriptions/grace", ["days": 16])
        try await world.subscription(id, "billingFailure")
        world.advance(seconds: 31 * 86_400)
        #expect(try await statuses(phone) == [4])
        world.advance(seconds: 16 * 86_400)
        #expect(try await statuses(phone) == [3])
        try await world.subscription(id, "recover")
        #expect(try await statuses(phone) == [1])
        try await world.subscription(id, "cancel")
        world.advance(seconds: 31 * 86_400)
        #expect(try await statuses(phone) == [2])
        #expect(try await group(phone)["introductoryEligible"] == true, "had none, and came to an end")
        let current = try #require(try await phone.set("latest").last)
        await world.post(current, "refund")
        #expect(try await statuses(phone) == [5])
        _ = await world.ask(
            .put, "/emulator/products",
            ["products": [["id": "gold", "prices": ["CHN": ["amount": 600, "currency": "CNY"]]]]])
        #expect(try await group(phone)["groupName"] == "21000001", "held once, and sold no more")
        await world.remove()
    }

    @Test("A shared subscription is listed after the account's own")
    func family() async throws {
        let world = try await EmulatedWorld()
        let phone = try await world.phone(1, of: "kid")
        await world.put(account: "mum", ["family": "mum"])
        await world.put(account: "kid", ["family": "mum"])
        _ = try await world.buy("member.yearly", ["account": "mum"])
        #expect(try await statuses(phone) == [1])
        let own = try world.identifier(try await world.buy("member.monthly", ["account": "kid"]))
        let both = try #require(try await group(phone)["statuses"]?.array)
        #expect(both.count == 2 && both.first?["originalTransactionId"] == .string(own))
        let signed = try payload(of: both.last?["signedTransaction"]?.string)
        #expect(signed["inAppOwnershipType"] == "FAMILY_SHARED")
        #expect(try await phone.set("currentEntitlements").count == 2)
        let version = try await phone.update(app: EmulatedWorld.bundleID).version
        await world.leaveFamily("kid")
        #expect(try await statuses(phone) == [1, 5])
        #expect(try await phone.update().version != version)
        await world.remove()
    }

    @Test("The version differs exactly when something about a subscription has changed")
    func version() async throws {
        let world = try await EmulatedWorld()
        let phone = try await world.phone(1, of: "ann")
        var seen = [try await phone.update().version]
        func isNew(_ place: String) async throws {
            let version = try await phone.update().version
            #expect(!seen.contains(version), "\(place)")
            #expect(try await phone.update().version == version, "\(place)")
            seen.append(version)
        }
        let id = try world.identifier(try await world.buy("member.monthly", ["account": "ann"]))
        try await isNew("bought")
        try await world.subscription(id, "cancel")
        try await isNew("cancelled")
        try await world.subscription(id, "resume")
        #expect(seen.contains(try await phone.update().version), "as it was before")
        try await world.subscription(
            id, "priceIncrease", ["price": ["amount": 9_900, "currency": "CNY"], "needsConsent": true])
        try await isNew("a higher price")
        try await world.subscription(id, "consent", ["accept": true])
        try await isNew("agreed to")
        world.advance(seconds: 31 * 86_400)
        try await isNew("renewed")
        let version = try await phone.update().version
        _ = try await world.buy("points60", ["account": "ann"])
        _ = try await world.buy("member.monthly", ["account": "eve"])
        _ = try await world.buy("member.monthly", ["account": "ann", "bundleId": "com.example.other"])
        #expect(try await phone.update().version == version, "none of these is ann's in this app")
        await world.remove()
    }
}
