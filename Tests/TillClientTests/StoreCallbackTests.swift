import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("Callbacks of a purchase")
struct StoreCallbackTests {
    /// Records the called callbacks.
    private func callbacks(_ calls: Guarded<[String]>) -> PurchaseCallbacks {
        @Sendable func note(_ name: String) { calls.withLock { $0.append(name) } }
        var callbacks = PurchaseCallbacks(
            paid: { note("paid \($0.status.rawValue)") },
            deliveryPending: { _, error in note("later \(error.code.rawValue)") },
            cancelled: { _ in note("cancelled") }, failed: { _, error in note("failed \(error.code.rawValue)") })
        callbacks.deliveryPendingNetwork = { _, error in note("network \(error.code.rawValue)") }
        callbacks.deferred = { _ in note("deferred") }
        callbacks.notAllowed = { _ in note("not allowed") }
        callbacks.productsUnavailable = { note("no products \($0.code.rawValue)") }
        callbacks.inProgress = { note("in progress") }
        return callbacks
    }

    @Test(
        "L12, C12: each outcome has its callback, and exactly one is called, exactly once",
        arguments: [
            ("paid completed", "pay"), ("later quarantined", "quarantine"), ("network timed_out", "timeout"),
            ("deferred", "ask"), ("cancelled", "cancel"), ("failed store_payment_invalid", "fail"),
            ("not allowed", "forbid"), ("no products product_unavailable", "unsold"),
            ("no products product_list_unavailable", "offline"), ("failed signed_out", "signOut"),
            ("failed offline", "serverAway"),
        ])
    func each(_ expected: String, _ story: String) async throws {
        let world = PretendWorld()
        let store = try await world.launch(story == "signOut" ? nil : "ann")
        world.shop.withLock { shop in
            switch story {
            case "ask": shop.sheets = [.askToBuy]
            case "cancel": shop.sheets = [.cancel]
            case "fail": shop.sheets = [.fail(.paymentInvalid)]
            case "forbid": shop.canPay = false
            case "unsold": shop.sells = ["points.300"]
            case "offline": shop.error = .network(.offline)
            case "quarantine":
                let reply = SubmitProofReply(
                    outcome: .quarantined, transactionId: "\(shop.lastTransaction + 1)", finish: false)
                shop.onSheet = { world.state.withLock { $0.answers = [.success(PretendWorld.json(202, reply))] } }
            case "timeout":
                shop.onSheet = { world.state.withLock { $0.answers = [.failure(TransportError(.timedOut))] } }
            case "serverAway":
                world.state.withLock { $0.answers = Array(repeating: .failure(TransportError(.offline)), count: 3) }
            default: break
            }
        }
        let calls = Guarded<[String]>([])
        store.purchase("points.60", callbacks: callbacks(calls))
        #expect(await world.sees { !calls.now.isEmpty })
        await world.end(store)
        #expect(calls.now == [expected])
    }

    @Test("L12: missing callbacks fall back to one that the app set")
    func fallBack() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { $0.sheets = [.askToBuy] }
        let calls = Guarded<[String]>([])
        let few = PurchaseCallbacks(
            paid: { _ in calls.withLock { $0.append("paid") } },
            deliveryPending: { _, _ in calls.withLock { $0.append("later") } },
            cancelled: { _ in calls.withLock { $0.append("cancelled") } },
            failed: { _, error in calls.withLock { $0.append(error.code.rawValue) } })
        store.purchase("points.60", callbacks: few)
        #expect(await world.sees { calls.now.count == 1 })
        world.shop.withLock { $0.canPay = false }
        store.purchase("points.60", callbacks: few)
        #expect(await world.sees { calls.now.count == 2 })
        await world.end(store)
        #expect(calls.now == ["later", "payments_not_allowed"])
    }

    @Test("P4: addPayment calls success or failure once, for its own user only")
    func addPayment() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        let calls = Guarded<[String]>([])
        func add(_ user: String) {
            store.addPayment("points.60", user: user) { order in
                calls.withLock { $0.append("success \(order.status.rawValue)") }
            } failure: { order, error in
                calls.withLock { $0.append("failure \(order?.status.rawValue ?? "-") \(error.code.rawValue)") }
            }
        }
        let stories: [(PretendShop.Sheet, String, String)] = [
            (.pay, "ann", "success completed"), (.cancel, "ann", "failure cancelled store_cancelled"),
            (.askToBuy, "ann", "failure deferred deferred"), (.pay, "bob", "failure - signed_out"),
        ]
        for (number, (sheet, user, expected)) in stories.enumerated() {
            world.shop.withLock { $0.sheets = [sheet] }
            add(user)
            #expect(await world.sees { calls.now.count == number + 1 })
            #expect(calls.now.last == expected)
        }
        await world.end(store)
        #expect(calls.now.count == 4 && world.state.now.grants.count == 1)
    }
}
