import Testing
import TillBilling
import TillJSON

@Suite("A purchase after a preview does what the preview said") struct PlanPreviewJourneys {
    private static let day: Int64 = 86_400

    private func reported(_ reply: Reply) -> JSONValue { ["at": reply["at"], "expiresAt": reply["expiresAt"]] }

    @Test("It ends when the preview said, within 24 hours; after that it counts at its own time (C6)")
    func honoured() async throws {
        let table: [(toOrder: Int64, toPayment: Int64, isHonoured: Bool)] = [
            (0, 0, true), (70, 5, true), (3_600, 82_800, true), (86_400, 0, true), (0, 86_400, true),
            (1, 86_400, false), (0, 200_000, false),
        ]
        try await CloudShop.open { shop in
            for (number, row) in table.enumerated() {
                let buyer = "u\(number)"
                try await shop.buyPlan("basic_monthly", as: buyer)
                shop.time.advance(seconds: 15 * Self.day)
                let stated = try await shop.preview("premium_monthly", as: buyer)
                shop.time.advance(seconds: row.toOrder)
                let order = try await shop.openPlan("premium_monthly", as: buyer, preview: reported(stated))
                #expect(order.status == 201 && order["preview"] == reported(stated), "\(order.body)")
                shop.time.advance(seconds: row.toPayment)
                let atPayment = try await shop.preview("premium_monthly", as: buyer)
                try await shop.payPlan(order, as: buyer)
                let end = (row.isHonoured ? stated : atPayment)["expiresAt"].text
                #expect(try await shop.rights(of: buyer) == ["service premium premium_monthly \(end)"], "\(row)")
                #expect((stated["expiresAt"] == atPayment["expiresAt"]) == (row.toOrder + row.toPayment == 0))
                // The next purchase counts from there.
                let next = try await shop.preview("premium_monthly", as: buyer)
                let extended = try #require(Instant(rfc3339: end)).adding(seconds: 30 * Self.day)
                #expect(next["expiresAt"].text == extended.rfc3339)
            }
        }
    }

    @Test("A purchase between preview and payment makes the other count at its own time, and its refund undoes that")
    func between() async throws {
        try await CloudShop.open { shop in
            try await shop.buyPlan("basic_monthly", as: "u1")
            shop.time.advance(seconds: 10 * Self.day)
            let stated = try await shop.preview("premium_monthly", as: "u1")
            let order = try await shop.openPlan("premium_monthly", as: "u1", preview: reported(stated))
            shop.time.advance(seconds: 60)
            let other = try await shop.buyPlan("basic_annual", as: "u1")
            shop.time.advance(seconds: 60)
            let instead = try await shop.preview("premium_monthly", as: "u1")
            try await shop.payPlan(order, as: "u1")
            #expect(
                try await shop.rights(of: "u1") == ["service premium premium_monthly \(instead["expiresAt"].text)"])
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(other)/refund")
            _ = try await shop.submit(refunded["signedTransaction"].text, as: .user("u1"))
            #expect(try await shop.rights(of: "u1") == ["service premium premium_monthly \(stated["expiresAt"].text)"])
        }
    }

    @Test("An order is not opened on an outdated preview, and says so before the payment (C6)")
    func changed() async throws {
        try await CloudShop.open(scope: .device) { shop in
            let first = try await shop.buyPlan("basic_monthly", as: "u1", device: "a")
            shop.time.advance(seconds: 10 * Self.day)
            let stated = try await shop.preview("premium_monthly", as: "u1", device: "a")
            let (at, end) = (stated["at"], stated["expiresAt"])
            func outcome(
                _ preview: JSONValue, _ plan: String = "premium_monthly", quantity: Int64 = 1
            ) async throws -> String {
                let reply = try await shop.openPlan(plan, as: "u1", device: "a", quantity: quantity, preview: preview)
                return "\(reply.status) \(reply.code)"
            }
            func time(_ seconds: Int64) -> JSONValue { .string(shop.time.now.adding(seconds: seconds).rfc3339) }
            let price: JSONValue = ["amount": 699, "currency": "USD"]
            #expect(try await outcome(["at": at, "expiresAt": end, "price": price]).hasPrefix("201"))
            let dearer: JSONValue = ["amount": 700, "currency": "USD"]
            for preview: JSONValue in [
                ["at": at, "expiresAt": time(0)], ["at": time(1), "expiresAt": end],
                ["at": time(-60), "expiresAt": end], ["at": at, "expiresAt": end, "price": dearer],
            ] {
                #expect(try await outcome(preview) == "409 preview_changed", "\(preview)")
            }
            #expect(try await outcome(reported(stated), "premium_annual") == "409 preview_changed")
            #expect(try await outcome(reported(stated), quantity: 2) == "409 preview_changed")
            #expect(try await outcome(reported(stated), "pro") == "400 invalid_field")
            #expect(try await outcome(["at": at]) == "400 invalid_field")
            #expect(try await outcome("soon") == "400 invalid_field")

            shop.time.advance(seconds: Self.day)
            #expect(try await outcome(reported(stated)).hasPrefix("201"))
            shop.time.advance(seconds: 1)
            #expect(try await outcome(reported(stated)) == "409 preview_changed")

            let later = try await shop.preview("premium_monthly", as: "u1", device: "a")
            #expect(try await outcome(reported(later)).hasPrefix("201"))
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(first)/refund")
            _ = try await shop.submit(refunded["signedTransaction"].text, as: .user("u1"))
            #expect(try await outcome(reported(later)) == "409 preview_changed")
            let again = try await shop.preview("premium_monthly", as: "u1", device: "a")
            try await shop.buyPlan("basic_monthly", as: "u1", device: "a")
            #expect(try await outcome(reported(again)) == "409 preview_changed")
        }
    }

    @Test("The same id is the same order despite an outdated preview; with another preview it is another one (O1)")
    func repeated() async throws {
        try await CloudShop.open { shop in
            let order = ProvenOrder(of: "u1")
            let stated = reported(try await shop.preview("premium_monthly", as: "u1"))
            let first = try await shop.openPlan("premium_monthly", as: "u1", order: order, preview: stated)
            shop.time.advance(seconds: 2)
            let other = reported(try await shop.preview("premium_monthly", as: "u1"))
            try await shop.buyPlan("basic_monthly", as: "u1")
            shop.time.advance(seconds: 2 * Self.day)
            let again = try await shop.openPlan("premium_monthly", as: "u1", order: order, preview: stated)
            #expect(first.status == 201 && again.status == 200 && again.body == first.body)
            for preview in [other, nil, ["at": stated.at("at"), "expiresAt": other.at("expiresAt")]] {
                let reply = try await shop.openPlan("premium_monthly", as: "u1", order: order, preview: preview)
                #expect(reply.status == 409 && reply.code == "order_conflict", "\(reply.body)")
            }
            let list = try await shop.send(.get, "/v1/users/u1/orders", as: .user("u1"))
            #expect(list["data"].list.map { $0.at("preview") } == [.null, stated])
        }
    }
}
