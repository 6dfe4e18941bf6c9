import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Refunds, their reversal, and the twelve hours before them")
struct RefundTests {
    private let half: Int64 = 50_000

    /// Requests a refund, lets the developer answer, and advances to the end of the twelve hours.
    private func decide(
        _ world: EmulatedWorld, _ id: String, _ body: JSONValue = [:], _ answer: ConsumptionResponse? = nil
    ) async throws -> [String] {
        #expect(await world.post(id, "consumptionRequest", body).status == 200)
        if let answer { #expect(try await take(world, id, answer) == .accepted) }
        world.advance(seconds: 12 * 3_600 - 1)
        #expect(await world.ask(.get, "/emulator/transactions/\(id)/consumptionRequest").json["outcome"] == nil)
        world.advance(seconds: 1)
        _ = await world.ask(.get, "/emulator/state")
        return try await world.events()
    }

    private func take(
        _ world: EmulatedWorld, _ id: String, _ answer: ConsumptionResponse
    ) async throws -> ConsumptionOutcome {
        let number = try #require(Int64(id))
        return try await world.emulator.store.change { try Refunds.takeConsumption(number, answer, $0) }
    }

    private func answer(_ preference: ConsumptionResponse.Preference, _ consumed: Int64? = nil) -> ConsumptionResponse {
        ConsumptionResponse(preference: preference, consumed: consumed, wasDelivered: true, text: "{}")
    }

    @Test("U5: A reversed refund leaves no trace in the signed transaction, and can be repeated")
    func reversal() async throws {
        let world = try await EmulatedWorld.withStore()
        let id = try world.identifier(try await world.buy())
        #expect(await world.post(id, "refundReversal").json["code"] == "not_refunded")
        await world.post(id, "refund", ["percentage": 25_000])
        let reversed = await world.post(id, "refundReversal")
        #expect(reversed.status == 200)
        let signed = try payload(of: reversed.json["signedTransaction"]?.string)
        for name in ["revocationDate", "revocationReason", "revocationType", "revocationPercentage"] {
            #expect(signed[name] == nil, "\(name)")
        }
        #expect(await world.post(id, "refund").status == 200)
        #expect(try await world.events() == ["ONE_TIME_CHARGE", "REFUND", "REFUND_REVERSED", "REFUND"])
        #expect(await world.post("77", "refundReversal").json["code"] == "unknown_transaction")
        await world.remove()
    }

    @Test("A prorated refund of a subscription returns the unused time, or the given percentage")
    func prorated() async throws {
        let world = try await EmulatedWorld.withStore()
        let bought = try await world.buy("member.monthly")
        let id = try world.identifier(bought)
        let terms = try payload(of: bought["signedTransaction"]?.string)
        let start = try #require(terms["purchaseDate"]?.int)
        let end = try #require(terms["expiresDate"]?.int)
        let quarter = (end - start) / 4_000
        world.advance(seconds: quarter)
        let refunded = await world.post(id, "refund", ["type": "prorated"])
        let signed = try payload(of: refunded.json["signedTransaction"]?.string)
        #expect(signed["revocationType"] == "REFUND_PRORATED")
        #expect(signed["revocationPercentage"] == .int((end - start - quarter * 1_000) * 100_000 / (end - start)))
        let points = try world.identifier(try await world.buy())
        #expect(await world.post(points, "refund", ["type": "prorated"]).json["code"] == "nothing_unused")
        #expect(await world.post(points, "refund", ["type": "full", "percentage": 5]).status == 400)
        #expect(await world.post(points, "refund", ["type": "some"]).status == 400)
        let part = await world.post(points, "refund", ["type": "prorated", "percentage": 67_932]).json
        #expect(try payload(of: part["signedTransaction"]?.string)["revocationPercentage"] == 67_932)
        await world.remove()
    }

    @Test("A refunded subscription that is reinstated runs to the end of its old period")
    func reinstated() async throws {
        let world = try await EmulatedWorld.withStore()
        let id = try world.identifier(try await world.buy("member.monthly"))
        let number = try #require(Int64(id))
        await world.post(id, "refund")
        let before = try await world.emulator.store.ask { try SubscriptionTable.find(number, $0) }
        #expect(before?.state == .revoked)
        await world.post(id, "refundReversal")
        let after = try await world.emulator.store.ask { try SubscriptionTable.find(number, $0) }
        #expect(after?.state == .active)
        #expect(after?.expires == before?.expires)
        #expect(try await world.events().suffix(2) == ["REFUND", "REFUND_REVERSED"])
        await world.remove()
    }

    @Test(
        "U5: After twelve hours, not before, the App Store decides as configured, or as the developer prefers",
        arguments: [
            ("developer", nil, nil, 100_000), ("developer", "none", nil, 100_000), ("developer", "decline", nil, 0),
            ("developer", "grantFull", 30_000, 100_000), ("developer", "grantProrated", 30_000, 70_000),
            ("developer", "grantProrated", 100_000, 0), ("refund", "decline", nil, 100_000),
            ("refund", "grantProrated", 40_000, 60_000), ("decline", "grantFull", nil, 0), ("decline", nil, nil, 0),
        ] as [(String, String?, Int64?, Int64)])
    func decision(_ decision: String, _ preference: String?, _ consumed: Int64?, _ percentage: Int64) async throws {
        let world = try await EmulatedWorld.withStore()
        let id = try world.identifier(try await world.buy())
        let stated = preference.flatMap { ConsumptionResponse.Preference(rawValue: $0) }.map { answer($0, consumed) }
        let asked = world.now
        let events = try await decide(world, id, ["decision": .string(decision)], stated)
        #expect(events == ["ONE_TIME_CHARGE", "CONSUMPTION_REQUEST", percentage > 0 ? "REFUND" : "REFUND_DECLINED"])
        let state = await world.ask(.get, "/emulator/transactions/\(id)")
        let signed = try payload(of: state.json["signedTransaction"]?.string)
        #expect(signed["revocationPercentage"] == (percentage > 0 ? .int(percentage) : nil))
        #expect(
            signed["revocationDate"] == (percentage > 0 ? .int(asked.adding(seconds: 43_200).milliseconds) : nil))
        let request = await world.ask(.get, "/emulator/transactions/\(id)/consumptionRequest").json
        #expect(request["outcome"]?.string == (percentage > 0 ? "refunded" : "declined"))
        #expect(request["answered"] == .bool(preference != nil))
        await world.remove()
    }

    @Test("The request has the customer's reason, which decides whether the app was at fault")
    func reasons() async throws {
        let world = try await EmulatedWorld.withStore()
        for (reason, error) in [("UNINTENDED_PURCHASE", 0), ("FULFILLMENT_ISSUE", 1), ("LEGAL", 0)] as [(String, Int64)]
        {
            let id = try world.identifier(try await world.buy())
            _ = try await decide(world, id, ["reason": .string(reason)])
            let request = try world.notifications.map { try payload(of: $0.signedPayload) }
                .last { $0["notificationType"] == "CONSUMPTION_REQUEST" }
            #expect(request?["data"]?["consumptionRequestReason"]?.string == reason)
            let found = await world.ask(.get, "/emulator/transactions/\(id)").json
            #expect(try payload(of: found["signedTransaction"]?.string)["revocationReason"] == .int(error))
        }
        let id = try world.identifier(try await world.buy())
        #expect(await world.post(id, "consumptionRequest", ["reason": "WHIM"]).status == 400)
        await world.remove()
    }

    @Test("An answer without a request has no effect, the newest answer counts, and after twelve hours it is too late")
    func window() async throws {
        let world = try await EmulatedWorld.withStore()
        let id = try world.identifier(try await world.buy())
        #expect(try await take(world, id, answer(.decline)) == .notRequested)
        await world.post(id, "consumptionRequest")
        #expect(await world.post(id, "consumptionRequest").json["code"] == "refund_asked")
        #expect(try await take(world, id, answer(.grantFull)) == .accepted)
        world.advance(seconds: 43_199)
        #expect(try await take(world, id, answer(.decline)) == .accepted)
        world.advance(seconds: 1)
        #expect(try await take(world, id, answer(.grantFull)) == .tooLate)
        #expect(try await world.events().last == "REFUND_DECLINED")
        #expect(await world.post(id, "consumptionRequest").status == 200, "a customer may ask again")
        await world.remove()
    }

    @Test("A request outlives a restart and is decided at its own time, whenever the store is opened again")
    func restart() async throws {
        let world = try await EmulatedWorld.withStore()
        let id = try world.identifier(try await world.buy())
        await world.post(id, "consumptionRequest")
        let due = world.now.adding(seconds: 43_200)
        world.advance(seconds: 7 * 86_400)
        await world.close()
        let later = try await EmulatedWorld.withStore(directory: world)
        let found = await later.ask(.get, "/emulator/transactions/\(id)").json
        #expect(try payload(of: found["signedTransaction"]?.string)["revocationDate"] == .int(due.milliseconds))
        await later.remove()
    }

    @Test("A requested refund of a subscription turns its renewal off, and a notification says so")
    func renewalOff() async throws {
        let world = try await EmulatedWorld.withStore()
        let id = try world.identifier(try await world.buy("member.monthly"))
        let events = try await decide(world, id)
        #expect(
            events.filter { $0 != "DID_RENEW" } == [
                "SUBSCRIBED/INITIAL_BUY", "CONSUMPTION_REQUEST", "REFUND",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
            ])
        let last = try payload(of: world.notifications.last?.signedPayload)
        let renewal = try payload(of: last["data"]?["signedRenewalInfo"]?.string)
        #expect(renewal["autoRenewStatus"] == 0)
        await world.remove()
    }

    @Test("A refund in the meantime leaves nothing to decide; unpaid and refunded purchases can't be requested")
    func overtaken() async throws {
        let world = try await EmulatedWorld.withStore()
        let id = try world.identifier(try await world.buy())
        await world.post(id, "consumptionRequest", ["decision": "decline"])
        await world.post(id, "refund")
        world.advance(seconds: 43_200)
        let request = await world.ask(.get, "/emulator/transactions/\(id)/consumptionRequest").json
        #expect(request["outcome"] == "refunded")
        #expect(try await world.events() == ["ONE_TIME_CHARGE", "CONSUMPTION_REQUEST", "REFUND"])
        #expect(await world.post(id, "consumptionRequest").json["code"] == "already_refunded")
        let waiting = try world.identifier(try await world.buy("points60", ["outcome": "deferred"]))
        #expect(await world.post(waiting, "consumptionRequest").json["code"] == "not_purchased")
        #expect(await world.post("5", "consumptionRequest").json["code"] == "unknown_transaction")
        let none = await world.ask(.get, "/emulator/transactions/\(waiting)/consumptionRequest")
        #expect(none.json["code"] == "no_refund_request")
        await world.remove()
    }
}
