import Testing
import TillBilling
import TillJSON
import TillLedger
import TillServer

@Suite("Proofs of an erased customer's purchases that come later") struct LateProofJourneys {
    private typealias Person = PersonalDataShop

    @Test("A device that submits again learns no more, and a refund takes the pseudonym's points (R6, U5)")
    func refund() async throws {
        try await Person.open { own in
            let order = try await own.shop.openOrder(as: Person.name)
            let payment = try await own.shop.pay(token: order, account: Person.name)
            _ = try await own.shop.submit(payment.signed, as: .user(Person.name))
            let pseudonym = try await own.erase(Person.name, ["forfeit": ["points": 60]])["pseudonym"].text
            // The phone still has the proof and the token: it may finish, and learns no more.
            let again = try await own.shop.submit(payment.signed, as: .user(Person.name), orderID: order)
            #expect(again.status == 200 && again["outcome"].text == "alreadyGranted" && again["finish"] == true)
            #expect(again["orderId"] == .null && again["grant"] == .null)
            #expect(try await own.shop.points(of: Person.name) == 0)
            _ = try await own.shop.refund(payment.id, by: "somebody")
            #expect(try await own.shop.points(of: pseudonym) == 0)
            _ = try await own.shop.refund(payment.id, reversal: true, by: "somebody")
            #expect(try await own.shop.points(of: pseudonym) == 60)
            #expect(try await own.shop.grantCount() == 1)
            #expect(try await own.shop.send(.get, "/v1/quarantine")["data"] == [])
        }
    }

    @Test("A payment that was under way is granted once, to the erased customer (R6, U2)")
    func underWay() async throws {
        try await Person.open { own in
            let order = try await own.shop.openOrder(as: Person.name)
            let payment = try await own.shop.pay(token: order, account: Person.name)
            let pseudonym = try await own.erase(Person.name, nil)["pseudonym"].text
            for party in ["arthur-dent", Person.name] {
                let reply = try await own.shop.submit(payment.signed, as: .user(party))
                #expect(reply.status == 200 && reply["finish"] == true && reply["grant"] == .null, "\(reply.body)")
            }
            #expect(try await own.shop.points(of: pseudonym) == 60)
            #expect(try await own.shop.grantCount() == 1)
            #expect(try await own.shop.points(of: Person.name) == 0)
        }
    }

    @Test("A proof that was saved before the erasure is granted after it, without a name (R6, G4)")
    func saved() async throws {
        try await Person.open(change: { $0.delivery.order = .saveThenFinish }) { own in
            let order = try await own.shop.openOrder(as: Person.name)
            let payment = try await own.shop.pay(token: order, account: Person.name)
            let kept = try await own.shop.submit(payment.signed, as: .user(Person.name), orderID: order)
            #expect(kept.status == 202)
            #expect(try await own.export()["savedProofs"]?.count == 1)
            let pseudonym = try await own.erase(Person.name, nil)["pseudonym"].text
            #expect(try await own.tables(with: Person.name).isEmpty)
            #expect(try await SavedProofs(own.shop.server.ledger).processAll() == 1)
            #expect(try await own.shop.points(of: pseudonym) == 60)
            #expect(try await own.tables(with: Person.name).isEmpty)
        }
    }

    @Test(
        "A subscription that renews later stays with the erased customer (R6)",
        arguments: [false, true])
    func renewal(_ byAccountToken: Bool) async throws {
        try await Person.open { own in
            let (shop, name) = (own.shop, Person.name)
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            var token = try #require(UniqueID(Person.accountToken))
            if byAccountToken {
                _ = try await shop.send(.put, "/v1/users/\(name)/account-tokens/\(Person.accountToken)")
            } else {
                let opened = try await shop.openPlan("basic_monthly_auto", as: name)
                token = try #require(UniqueID(opened["id"].text))
            }
            let payment = try await shop.pay(CloudShop.prefix + "basic_monthly_auto", token: token, account: name)
            #expect(try await shop.submit(payment.signed, as: .user(name))["outcome"].text == "granted")
            await shop.emulator.sendDueNotifications()

            // It goes on to be charged, which only the person can end: the caller has to know.
            let refused = try await own.erase(name, nil)
            #expect(refused.status == 409 && refused["detail"].text.contains("basic_monthly_auto"), "\(refused.body)")
            let erased = try await own.erase(name, ["endsAccess": true])
            #expect(erased.status == 201, "\(erased.body)")
            let pseudonym = erased["pseudonym"].text

            shop.time.advance(seconds: 31 * 86_400)
            // Any request makes the store do what is due.
            _ = try await shop.ask(.get, "/emulator/subscriptions")
            await shop.emulator.sendDueNotifications()
            let subscriptions = try await shop.send(.get, "/v1/users/\(pseudonym)/subscriptions")
            #expect(subscriptions["data"].list.map { $0.at("state").text } == ["active"], "\(subscriptions.body)")
            #expect(try await shop.grantCount() == 2)
            #expect(try await shop.send(.get, "/v1/quarantine")["data"] == [])
            #expect(try await shop.rights(of: name).isEmpty)

            // A restore on the same Apple Account does not move it, not even to the person.
            for party in ["arthur-dent", name] {
                let restored = try await shop.restore([payment.signed], as: .user(party))
                #expect(shop.outcomes(restored).allSatisfy { $0.hasPrefix("kept") }, "\(restored.body)")
            }
            #expect(try await shop.send(.get, "/v1/users/\(pseudonym)/transfers")["data"] == [])
        }
    }
}
