import Testing
import TillBilling
import TillClient
import TillThreads

/// The callbacks of an app, call by call.
private final class CallbackRecorder: Sendable {
    private let calls = Locked<[String]>([])

    func note(_ call: String) { calls.withLock { $0.append(call) } }

    /// All calls, after the first one and a moment in which more might arrive.
    func all() async -> [String] {
        await eventually { !self.calls.withLock { $0.isEmpty } }
        try? await Task.sleep(for: .milliseconds(40))
        return calls.withLock { $0 }
    }

    var callbacks: PurchaseCallbacks {
        var reported = PurchaseCallbacks(
            paid: { self.note("paid \($0.status.rawValue)") },
            deliveryPending: { order, _ in self.note("will arrive \(order.status.rawValue)") },
            cancelled: { self.note("cancelled \($0.status.rawValue)") },
            failed: { order, error in self.note("failed \(order?.status.rawValue ?? "-") \(error.code.rawValue)") })
        reported.deliveryPendingNetwork = { order, error in
            self.note("network \(order.status.rawValue) \(error.code.rawValue)")
        }
        reported.deferred = { self.note("deferred \($0.status.rawValue)") }
        reported.notAllowed = { self.note("not allowed \($0.code.rawValue)") }
        reported.productsUnavailable = { self.note("no products \($0.code.rawValue)") }
        reported.inProgress = { self.note("in progress") }
        return reported
    }
}

@Suite("Callbacks of a purchase") struct CallbackJourneys {
    struct End: Sendable, CustomTestStringConvertible {
        let expected: String
        var product = Shop.points60
        let arrange: @Sendable (Phone) async throws -> Void
        var testDescription: String { expected }
    }

    static let everyEnd: [End] = [
        End(expected: "paid completed") { _ in },
        End(expected: "network ongoing cannot_connect") { $0.wire.cut(.server, "POST /v1/transactions") },
        End(expected: "will arrive ongoing") { $0.wire.cut(.server, "POST /v1/transactions", .answered(.busy)) },
        End(expected: "deferred deferred") { try await $0.sheet("deferred") },
        End(expected: "cancelled cancelled") { try await $0.sheet("cancelled") },
        End(expected: "failed failed store_unknown") { try await $0.sheet("failed") },
        End(expected: "failed failed cannot_connect") { $0.wire.cut(.server, "POST /v1/orders") },
        End(expected: "failed - signed_out") { await $0.signOut() },
        End(expected: "not allowed payments_not_allowed") { phone in
            try await phone.set(["mayPay": false])
            #expect(await eventually { await phone.use { await $0.canMakePayments() } == false })
        },
        End(expected: "no products product_unavailable", product: "com.example.learn.none") { _ in },
        // A failed product request calls back too.
        End(expected: "no products product_list_unavailable") { $0.wire.cut(.store, "/products") },
    ]

    @Test(
        "Each end of a purchase is one callback, called exactly once (L12, C12)", arguments: StoreKitGeneration.both,
        everyEnd)
    func once(_ generation: StoreKitGeneration, _ end: End) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            try await end.arrange(ann)
            let received = CallbackRecorder()
            await ann.use { $0.purchase(end.product, callbacks: received.callbacks) }
            #expect(await received.all() == [end.expected])
        }
    }

    @Test("Success and failure are reported only to the signed-in user (P4)", arguments: StoreKitGeneration.both)
    func addPayment(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            func add(_ user: String) async -> [String] {
                let received = CallbackRecorder()
                await ann.use {
                    $0.addPayment(Shop.points60, user: user) {
                        received.note("success \($0.status.rawValue)")
                    } failure: { order, error in
                        received.note("failure \(order?.status.rawValue ?? "-") \(error.code.rawValue)")
                    }
                }
                return await received.all()
            }
            #expect(await add("ann") == ["success completed"])
            #expect(await add("ben") == ["failure - signed_out"])
            ann.wire.cut(.server, "POST /v1/transactions")
            #expect(await add("ann") == ["failure ongoing cannot_connect"])
            ann.wire.mend()
            ann.regainNetwork()
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.grants(of: "ann") == 2)
            #expect(try await phones.shop.grants(of: "ben") == 0)
        }
    }
}
