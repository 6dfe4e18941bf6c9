import Testing
import TillBilling
import TillClient
import TillStorage

@Suite("StoreKit 1 with StoreKit 2's signed copies") struct SignedCopyJourneys {
    @Test("Granted by the token Apple signed, by a server that has no In-App Purchase key", arguments: Reach.allCases)
    func keyless(_ reach: Reach) async throws {
        try await Phones.open(.storeKit1, reach, hasKey: false) { phones in
            let ann = try await phones.phone("ann")
            #expect(isCompleted(await ann.buy()))
            #expect(try await ann.isSettled())
            #expect(try await phones.shop.points(of: "ann") == 60)
            #expect(try await phones.shop.grounds() == ["token"])
            // The receipt's order id was not needed: ben's phone brings ann's next payment home to her.
            ann.wire.cut(.server, "POST /v1/transactions")
            await ann.buy()
            await ann.kill()
            let ben = try await phones.phone("ben", account: "ann")
            #expect(try await ben.isSettled())
            #expect(try await phones.shop.points(of: "ann") == 120)
            #expect(try await phones.shop.grants(of: "ben") == 0)
            #expect(try await phones.shop.grounds() == ["token", "token"])
        }
    }

    @Test("StoreKit 2's list can't be read: the receipt goes in its place, and the purchase is granted")
    func unread() async throws {
        try await Phones.open(.storeKit1) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.store, "GET /emulator/devices/\(ann.deviceID)/transactions")
            #expect(isCompleted(await ann.buy()))
            #expect(ann.wire.struck >= 1)
            #expect(try await phones.shop.points(of: "ann") == 60)
            #expect(phones.appleLine.asked.count == 1, "a receipt has the server ask Apple")
            ann.wire.mend()
            #expect(isCompleted(await ann.buy()))
            #expect(phones.appleLine.asked.count == 1, "a signed copy doesn't")
        }
    }

    @Test("What an older version of the app kept as a receipt is proved by the signed copy at the next launch")
    func updated() async throws {
        try await Phones.open(.storeKit1, proof: .receipt, hasKey: false) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/transactions")
            await ann.buy()
            ann.wire.mend()
            ann.update(to: .signedTransaction)
            try await ann.relaunch()
            #expect(try await ann.isSettled())
            #expect(try await phones.shop.grounds() == ["token"])
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
        }
    }
}

extension Shop {
    /// By what each grant found its owner, in the order of the grants.
    fileprivate func grounds() async throws -> [String] {
        try await ledger.read { session in
            try session.query("SELECT ground FROM evidence WHERE decision = 'granted' ORDER BY sequence", []) {
                $0.text(0)
            }
        }
    }
}
