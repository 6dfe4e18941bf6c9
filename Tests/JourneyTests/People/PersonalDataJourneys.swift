import Testing
import TillBilling
import TillJSON
import TillLedger
import TillSQL
import TillServer
import TillTestDatabases

@Suite("A person's data is exported and erased, and the books stay valid") struct PersonalDataJourneys {
    private typealias Person = PersonalDataShop

    @Test("The export shows all that is held about a person, and no other person (R6)", arguments: Reach.allCases)
    func export(_ reach: Reach) async throws {
        try await Person.open(reach) { own in
            let points = try await own.live()
            // Somebody else gets one purchase of the person, and buys one of their own.
            try await own.shop.buyPlan("basic_annual", as: Person.name)
            let stranger = try await own.shop.openPlan("points60", as: "arthur-dent", device: "arthurs-phone")
            let strangers = try await own.shop.payPlan(stranger, as: "arthur-dent")
            let original = try #require(
                try await own.export()["transactions"]?.last?.at("originalTransactionId").string)
            let moved = try await own.shop.send(
                .post, "/v1/transfers",
                [
                    "from": .string(Person.name), "to": "arthur-dent", "originalTransactionId": .string(original),
                    "reason": "a present for arthur-dent", "operator": "li",
                ])
            #expect(moved.status == 201, "\(moved.body)")

            let lists = try await own.export()
            #expect(lists["customers"]?.map { $0.at("userId").text } == [Person.name, Person.guest])
            #expect(lists["customers"]?.last?.at("guestId").text == Person.guest)
            #expect(lists["orders"]?.filter { $0.at("deviceId").text == Person.device }.count == 4)
            #expect(lists["orders"]?.contains { $0.at("metadata").at("note").text == Person.note } == true)
            #expect(lists["orderHistory"]?.contains { $0.at("reason").text.contains("Beeblebrox") } == true)
            let paid = try #require(lists["transactions"]?.first { $0.at("transactionId").text == points })
            #expect(
                paid.at("price") == ["amount": 99, "currency": "USD"] && paid.at("purchasedAt").text.hasSuffix("Z"))
            #expect(paid.at("type").text == "Consumable" && paid.at("environment").text == "Sandbox")
            #expect(lists["grants"]?.count == 4 && lists["accountTokens"]?.count == 1)
            #expect(lists["postings"]?.compactMap { $0.at("amount").int } == [60, -20])
            #expect(lists["balances"] == [["environment": "Sandbox", "currency": "points", "amount": 40]])
            #expect(lists["consents"]?.map { $0.at("given") } == [true])
            #expect(lists["transfers"]?.map { $0.at("direction").text } == ["in", "out", "out"])
            #expect(lists["refusedProofs"]?.count == 1 && lists["storedAnswers"]?.count == 1)
            #expect(lists["events"]?.contains { $0.at("type").text == "grant.created" } == true)
            #expect(lists["evidence"]?.contains { $0.at("decision").text == "granted" } == true)
            let text = JSONValue.object(lists.mapValues { .array($0) }).encoded()
            for other in ["arthur", strangers, "li\"", "key:backend", Shop.secretKey] {
                #expect(!text.contains(other), "\(other)")
            }
            // The same in pages of any size.
            for limit in [1, 3] { #expect(try await own.export(limit: limit) == lists) }

            // A user token is not enough, not even for one's own data: a thief may hold it.
            for party in [Party.user(Person.name), .user("arthur-dent"), .anonymous] {
                let refused = try await own.shop.send(.get, "/v1/users/\(Person.name)/export", as: party)
                #expect(refused.status == (party.authorization(now: own.shop.time.now) == nil ? 401 : 403))
            }
            #expect(try await own.export(as: .bearer(Person.operatorToken)) == lists)
            #expect(own.log.text.contains("customer_exported") && own.log.text.contains("operator:mei"))
            #expect(try await own.shop.send(.get, "/v1/users/nobody/export").code == "unknown_user")
            #expect(try await own.shop.send(.get, "/v1/users/\(Person.guest)/export").code == "guest_merged")
        }
    }

    @Test(
        "After an erasure the ledger holds no name, device or text of the person, and its books (R6)",
        arguments: Reach.allCases)
    func erased(_ reach: Reach) async throws {
        try await Person.open(reach) { own in
            _ = try await own.live()
            for text in [Person.name, Person.device] { #expect(try await own.tables(with: text).count >= 2) }
            #expect(try await own.tables(with: Person.name).isSuperset(of: ["customers", "idempotency_keys"]))
            let grants = try await own.shop.grantCount()

            // Neither a thief with the person's token nor a slip of the backend erases anything.
            for party in [Party.user(Person.name), .anonymous] {
                let refused = try await own.erase(as: party)
                #expect(refused.status == 401 || refused.status == 403)
            }
            for body: JSONValue in [[:], ["forfeit": ["points": 39]], ["forfeit": ["points": 40, "gems": 1]]] {
                let refused = try await own.erase(Person.name, body)
                #expect(refused.status == 409 && refused.code == "erasure_unconfirmed", "\(refused.body)")
                #expect(refused["detail"].text.contains("points 40"))
            }
            #expect(try await own.erase(Person.guest).code == "guest_merged")
            #expect(try await own.erase("nobody").code == "unknown_user")
            #expect(own.kept.lines.isEmpty)

            let erased = try await own.erase()
            #expect(erased.status == 201 && erased["guests"].int == 1, "\(erased.body)")
            let pseudonym = erased["pseudonym"].text
            for text in [
                Person.name, Person.guest, Person.device, Person.note, "Beeblebrox", "zaphod", "trillian",
            ] {
                #expect(try await own.tables(with: text).isEmpty, "\(text)")
            }
            #expect(try await own.tables(with: pseudonym).contains("customers"))
            // The list beside the backups was written before the answer, and holds no name.
            #expect(own.kept.lines.count == 2 && !own.kept.lines.joined().contains("zaphod"))

            // The books are the same under the pseudonym.
            #expect(try await own.shop.grantCount() == grants)
            #expect(try await own.shop.points(of: pseudonym) == 40)
            let events = try await own.shop.send(.get, "/v1/events?user=\(pseudonym)&limit=100")["data"].list
            #expect(events.last?.at("type").text == "customer.erased" && events.last?.at("userId").text == pseudonym)
            #expect(UniqueID(events.last?.at("data").at("orderId").text ?? "") != nil)
            #expect(!JSONValue.array(events).encoded().contains("zaphod"))
            // Nothing more is told to Apple about the person.
            let consent = try await own.shop.send(.get, "/v1/users/\(pseudonym)/consents/consumption")
            #expect(consent["given"] == false)

            // The same request again is the same erasure.
            let again = try await own.erase(Person.name, nil)
            #expect(again.status == 200 && again["pseudonym"] == erased["pseudonym"])
            #expect(own.kept.lines.count == 2)
            // The log says who erased whom, without the name.
            let lines = own.log.text.split(separator: "\n").filter { $0.contains("customer_erased") }
            #expect(lines.count == 1 && lines[0].contains(pseudonym) && lines[0].contains("key:backend"))
            #expect(!lines[0].contains("zaphod"))
        }
    }

    @Test("The same user id is a new customer afterwards, who can neither see nor restore the old purchases (R6, V4)")
    func startsAfresh() async throws {
        try await Person.open { own in
            _ = try await own.live()
            let old = try await own.export()["transactions"] ?? []
            let first = try await own.erase()["pseudonym"].text
            let name = Person.name
            #expect(try await own.shop.points(of: name) == 0)
            #expect(try await own.shop.send(.get, "/v1/users/\(name)/orders", as: .user(name))["data"] == [])
            #expect(try await own.shop.rights(of: name).isEmpty)
            #expect(try await own.shop.send(.get, "/v1/users/\(name)/wallet/postings")["data"] == [])
            #expect(old.count >= 3)
            try await own.shop.buyPlan("points60", as: name)
            #expect(try await own.shop.points(of: name) == 60)
            #expect(try await own.shop.points(of: first) == 40)
            // The backend's token can be registered again.
            let token = try await own.shop.send(.put, "/v1/users/\(name)/account-tokens/\(Person.accountToken)")
            #expect(token.status == 201, "\(token.body)")

            // The pseudonym is no user: no token opens it, and nothing new starts under it.
            let forged = try await own.shop.send(.get, "/v1/users/\(first)/wallet", as: .user(first))
            #expect(forged.status == 401 && forged["detail"].text.contains("erased"), "\(forged.body)")
            let opened = try await own.shop.send(
                .post, "/v1/orders", ["userId": .string(first), "productId": .string(Shop.points60)])
            #expect(opened.code == "unknown_user")
            let merged = try await own.shop.merge(first, into: name, as: .backend)
            #expect(merged.status >= 400, "\(merged.body)")

            // Erased again: another pseudonym, another line.
            let second = try await own.erase(name, ["forfeit": ["points": 60]])
            #expect(second.status == 201 && second["pseudonym"].text != first)
            #expect(try await own.tables(with: name).isEmpty)
            #expect(own.kept.lines.count == 3)
        }
    }
}
