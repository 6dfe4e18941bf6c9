import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON

@Suite("Promotional offers that users may request") struct UserOfferJourneys {
    private static let path = "/v1/offers/promotional"

    private func open(_ reach: Reach = .inProcess, _ journey: (Shop) async throws -> Void) async throws {
        try await Shop.open(reach, change: { $0.catalog = MemberShop.catalog }) { shop in
            try await MemberShop.stock(shop)
            try await journey(shop)
        }
    }

    private func sign(
        _ shop: Shop, _ order: OrderID?, offer: String = MemberShop.open, as user: String = "ann",
        _ more: [String: JSONValue] = [:], headers: [(String, String)] = []
    ) async throws -> Reply {
        var body: [String: JSONValue] = ["productId": .string(MemberShop.monthly), "offerId": .string(offer)]
        if let order { body["orderId"] = .string(order.description) }
        return try await shop.send(
            .post, Self.path, .object(body.merging(more) { $1 }), as: .user(user), headers: headers)
    }

    @Test("A user gets an open offer signed for an unpaid order of the user, each time anew", arguments: Reach.allCases)
    func signed(_ reach: Reach) async throws {
        try await open(reach) { shop in
            let order = try await shop.openOrder(MemberShop.monthly, as: "ann")
            let first = try await sign(shop, order)
            #expect(first.status == 200, "\(first.body)")
            #expect(first["form"] == "classic" && first["account"].text == order.description)
            #expect(first["offerId"].text == MemberShop.open && !first["signature"].text.isEmpty)
            let second = try await sign(shop, order, ["form": "classic"])
            #expect(second.status == 200 && second["nonce"] != first["nonce"])
            // A closed sheet leaves an order that may be paid again.
            _ = try await shop.send(.post, "/v1/orders/\(order)/cancel", as: .user("ann"))
            #expect(try await sign(shop, order).status == 200)
        }
    }

    @Test(
        "An offer that the catalogue doesn't open is never signed for a user; the answer says why in both languages",
        arguments: Reach.allCases)
    func restricted(_ reach: Reach) async throws {
        try await open(reach) { shop in
            let order = try await shop.openOrder(MemberShop.monthly, as: "ann")
            for offer in [MemberShop.restricted, "OPEN", "none"] {
                let refused = try await sign(shop, order, offer: offer)
                #expect(refused.status == 403 && refused.code == "offer_not_open" && refused["signature"].isNull)
                #expect(refused["detail"].text.hasPrefix("offerId: ") && refused["retryable"] == false)
                let chinese = try await sign(shop, order, offer: offer, headers: [("Accept-Language", "zh")])
                #expect(chinese["title"].text.contains("向用户开放") && chinese["detail"].text.hasPrefix("offerId："))
            }
            // The yearly membership opens none, so the monthly one's offer is not open there.
            let year = try await shop.openOrder(MemberShop.yearly, as: "ann")
            let other = try await sign(shop, year, ["productId": .string(MemberShop.yearly)])
            #expect(other.status == 403 && other.code == "offer_not_open")
            let backend = try await shop.send(
                .post, Self.path,
                [
                    "productId": .string(MemberShop.monthly), "offerId": .string(MemberShop.restricted),
                    "orderId": .string(order.description), "userId": "ann",
                ])
            #expect(backend.status == 200)
        }
    }

    @Test(
        "A user's request names an order and nothing that would free the signature from it",
        arguments: [
            ("form", "jws"), ("userId", "ann"), ("appAccountToken", "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64"),
            ("applicationUsername", "ann"), ("transactionId", "2000000356937285"), ("orderId", ""),
        ])
    func members(_ name: String, _ value: String) async throws {
        try await open { shop in
            let order = try await shop.openOrder(MemberShop.monthly, as: "ann")
            let refused = try await sign(
                shop, name == "orderId" ? nil : order, name == "orderId" ? [:] : [name: .string(value)])
            #expect(refused.status == 403 && refused.code == "offer_not_open", "\(refused.body)")
            #expect(refused["detail"].text.hasPrefix("\(name): ") && refused["signature"].isNull)
            #expect(refused["compactJWS"].isNull)
        }
    }

    @Test("Another user's order is as unknown as none; one for another product is refused", arguments: Reach.allCases)
    func orders(_ reach: Reach) async throws {
        try await open(reach) { shop in
            let hers = try await shop.openOrder(MemberShop.monthly, as: "ann")
            let stolen = try await sign(shop, hers, as: "thief")
            let unknown = try await sign(shop, UniqueID(high: 1, low: 2), as: "thief")
            #expect(stolen.status == 404 && stolen.code == "unknown_order" && stolen["signature"].isNull)
            #expect(unknown.status == 404 && unknown.code == "unknown_order" && unknown["title"] == stolen["title"])
            let points = try await shop.openOrder(as: "ann")
            #expect(try await sign(shop, points).code == "invalid_field")
        }
    }

    @Test("A paid order, and one that waits for approval, get no further signature")
    func paid() async throws {
        try await open { shop in
            let order = try await shop.openOrder(MemberShop.monthly, as: "ann")
            let waiting = try await shop.openOrder(MemberShop.monthly, as: "ann")
            _ = try await shop.send(.post, "/v1/orders/\(waiting)/defer", as: .user("ann"))
            let payment = try await shop.pay(MemberShop.monthly, token: order, account: "ann")
            #expect(try await shop.submit(payment.signed, as: .user("ann")).status == 200)
            for id in [order, waiting] {
                let refused = try await sign(shop, id)
                #expect(refused.status == 403 && refused.code == "offer_not_open" && refused["signature"].isNull)
                #expect(refused["detail"].text.hasPrefix("orderId: "))
            }
        }
    }

    @Test("A merged guest's order is the account's: the account gets the signature, and the guest no more")
    func guest() async throws {
        try await open { shop in
            let order = try await shop.openOrder(MemberShop.monthly, as: "guest-7")
            #expect(try await sign(shop, order, as: "guest-7").status == 200)
            #expect(try await shop.merge("guest-7", into: "ann").status == 201)
            #expect(try await sign(shop, order).status == 200)
            #expect(try await sign(shop, order, as: "guest-7").code == "guest_merged")
            #expect(try await sign(shop, order, as: "thief").code == "unknown_order")
        }
    }

    @Test("One user can't have signatures made without end; they are possible again later, and for others at once")
    func rate() async throws {
        try await open { shop in
            let order = try await shop.openOrder(MemberShop.monthly, as: "ann")
            for _ in 0..<30 { #expect(try await sign(shop, order).status == 200) }
            let refused = try await sign(shop, order)
            #expect(refused.status == 429 && refused.code == "too_many_requests")
            #expect(refused.headers["Retry-After"] != nil)
            let bens = try await shop.openOrder(MemberShop.monthly, as: "ben")
            #expect(try await sign(shop, bens, as: "ben").status == 200)
            shop.time.advance(seconds: 30)
            #expect(try await sign(shop, order).status == 200)
            #expect(try await sign(shop, order).status == 429)
        }
    }

    @Test("The catalogue names the open offers, so that an app can show them")
    func listed() async throws {
        try await open { shop in
            let products = try await shop.send(.get, "/v1/products", as: .anonymous)["data"].list
            let offers = products.map { $0.at("promotionalOffers") }
            #expect(offers.filter { !$0.isNull } == [[.string(MemberShop.open)]])
        }
    }
}
