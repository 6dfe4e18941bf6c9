import Testing
import TillBilling
import TillClient
import TillJSON
import TillThreads

/// Phones whose server has the app's shared secret and no In-App Purchase key.
@Suite("Phones of a server that asks verifyReceipt (P2, P8)") struct SharedSecretPhones {
    enum App: CaseIterable, Sendable {
        case receipt
        /// StoreKit 2's list can't be read, so a StoreKit 1 app sends the receipt.
        case unreadableList
        case storeKit2

        var generation: StoreKitGeneration { self == .storeKit2 ? .storeKit2 : .storeKit1 }
        var proof: StoreKit1Proof { self == .receipt ? .receipt : .signedTransaction }
    }

    @Test(
        "A pays, the answer is lost, B signs in: A gets it, and a receipt is sent to Apple once per host (P2, P8)",
        arguments: App.allCases, Reach.allCases)
    func accountSwitch(_ app: App, _ reach: Reach) async throws {
        try await Phones.open(app.generation, reach, proof: app.proof, secret: SharedSecretJourneys.secret) { phones in
            let phone = try await phones.phone("A", account: "family")
            if app == .unreadableList {
                phone.wire.cut(.store, "GET /emulator/devices/\(phone.deviceID)/transactions")
            }
            let isMended = Locked(false)
            phone.wire.cut(.server, "POST /v1/transactions", .offUntil { isMended.withLock { $0 } })
            guard case .deliveryPending = await phone.buy() else {
                Issue.record("it is not on its way")
                return
            }
            await phone.signOut()
            isMended.withLock { $0 = true }
            await phone.signIn("B")
            #expect(try await phone.hasFinishedAll())
            #expect(try await phones.shop.points(of: ["A", "B"]) == [60, 0])
            #expect(try await phones.shop.grants(of: "B") == 0)
            #expect(await phone.orders().isEmpty, "B sees A's order")
            #expect(phones.appleLine.asked == (app == .storeKit2 ? [] : SharedSecretJourneys.asked))
            await phone.signOut()
            await phone.signIn("A")
            #expect(await eventually { await phone.orders().map(\.status) == [.completed] })
        }
    }

    @Test("Apple refuses the receipt once (21003): the phone refreshes it once, and the purchase is granted (P2, O4)")
    func refusedOnce() async throws {
        let app = App.receipt
        try await Phones.open(app.generation, proof: app.proof, secret: SharedSecretJourneys.secret) { phones in
            let ann = try await phones.phone("ann")
            let refusals = Locked(1)
            phones.appleLine.rewrite = { answer in
                let isRefused = refusals.withLock { left in
                    left -= 1
                    return left >= 0
                }
                guard isRefused else { return answer }
                // The store dates the refreshed receipt later.
                phones.shop.time.advance(seconds: 1)
                return ["status": 21003]
            }
            #expect(isCompleted(await ann.buy()))
            #expect(await ann.receiptRefreshes == 1)
            #expect(ann.wire.count(.server, "POST /v1/transactions") == 2)
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 60)
        }
    }

    @Test("A receipt that Apple goes on refusing is refreshed once, also after relaunches, and stays unfinished (P2)")
    func refusedAlways() async throws {
        let app = App.receipt
        try await Phones.open(app.generation, proof: app.proof, secret: SharedSecretJourneys.secret) { phones in
            let ann = try await phones.phone("ann")
            phones.appleLine.rewrite = { _ in
                phones.shop.time.advance(seconds: 1)
                return ["status": 21003]
            }
            guard case .deliveryPending(_, let reason) = await ann.buy() else {
                Issue.record("it is not on its way")
                return
            }
            #expect(reason?.code == "receipt_needs_refresh")
            #expect(await ann.receiptRefreshes == 1)
            // Another reason in between, as when the app starts before its user is known.
            await ann.signOut()
            phones.shop.time.advance(seconds: 7_200)
            await ann.use { await $0.checkOrderStatus() }
            #expect(await ann.receiptRefreshes == 1)
            try await ann.relaunch()
            await ann.use { await $0.checkOrderStatus() }
            #expect(await ann.receiptRefreshes == 0, "refreshed at the first launch")
            #expect(try await ann.unfinished().count == 1)
            #expect(await ann.orders().map(\.status) == [.ongoing])
            #expect(try await phones.shop.grantCount() == 0)
            phones.appleLine.rewrite = nil
            phones.shop.time.advance(seconds: 7_200)
            await ann.use { await $0.checkOrderStatus() }
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 60)
        }
    }
}
