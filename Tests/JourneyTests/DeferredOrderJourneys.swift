import Testing
import TillAPI
import TillBilling
import TillJSON

@Suite("Orders that wait for approval")
struct DeferredOrderJourneys {
    @Test(
        "A deferred order waits at the server too, and ends when it is paid or declined (G7, L6)",
        arguments: Reach.allCases)
    func waits(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let order: JSONValue = ["userId": "u1", "productId": .string(Shop.points60)]
            let opened = try await shop.send(.post, Paths.orders, order)
            let path = "/v1/orders/\(opened["id"].text)"
            let deferred = try await shop.send(.post, "\(path)/defer", ["reason": "ask_to_buy"], as: .user("u1"))
            #expect(deferred.status == 200 && deferred["status"].text == "deferred")
            #expect(try await shop.send(.post, "\(path)/defer", as: .user("u1"))["status"].text == "deferred")
            #expect(try await shop.send(.post, "\(path)/defer", as: .user("u2")).code == "unknown_order")
            #expect(try await shop.points(of: "u1") == 0)
            let declined = try await shop.send(.post, "\(path)/cancel", ["reason": "declined"], as: .user("u1"))
            #expect(declined["status"].text == "cancelled")
            #expect(declined["history"].list.map { $0["status"]?.string } == ["prepared", "deferred", "cancelled"])
            #expect(try await shop.send(.post, "\(path)/defer", as: .user("u1")).code == "illegal_move")
        }
    }
}
