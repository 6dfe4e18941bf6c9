import Foundation
import Testing
import TillBilling
import TillClient

@Suite("StoreKit 1's receipt") struct ReceiptFileJourneys {
    @Test("No receipt on the phone: it is refreshed once, and the purchase continues (O4)", arguments: Reach.allCases)
    func refreshed(_ reach: Reach) async throws {
        try await Phones.open(.storeKit1, reach, proof: .receipt) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/transactions")
            await ann.buy()
            #expect(ann.wire.happened == 1)
            #expect(await ann.receiptRefreshes == 0)
            await ann.kill()
            ann.wire.mend()
            onlyRefreshesArrive(ann)
            // The new phone's disk holds neither a receipt nor a journal.
            try await ann.reinstall()
            #expect(try await ann.hasFinishedAll())
            #expect(await ann.receiptRefreshes == 1)
            #expect(ann.wire.happened > 2, "StoreKit fetched no receipt by itself: this shows nothing")
            #expect(try await phones.shop.points(of: "ann") == 60)
            #expect(FileManager.default.fileExists(atPath: ann.receiptURL.path))
            #expect(ann.wire.count(.server, "POST /v1/transactions") == 2)
        }
    }

    @Test("A refused refresh leaves the order ongoing; it completes when the store gives a receipt (O4)")
    func refused() async throws {
        try await Phones.open(.storeKit1, proof: .receipt) { phones in
            let ann = try await phones.phone("ann", isLaunched: false)
            let order = try await phones.shop.openOrder(as: "ann")
            _ = try await phones.shop.pay(token: order, account: "ann")
            ann.wire.cut(.store, "GET /emulator/receipt")
            try await ann.open()
            #expect(await eventually { await ann.receiptRefreshes >= 1 })
            #expect(await eventually { await ann.use { await $0.orders(all: true) }.map(\.status) == [.ongoing] })
            #expect(await eventually { await ann.use { await $0.orders(all: true) }.first?.note() != nil })
            #expect(ann.wire.count(.server, "POST /v1/transactions") == 0)
            #expect(try await ann.unfinished().count == 1)
            ann.wire.mend()
            await ann.use { await $0.checkOrderStatus() }
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 60)
        }
    }

    @Test("The receipt file is deleted while the app runs: refreshed once, granted (O4)")
    func deleted() async throws {
        try await Phones.open(.storeKit1, proof: .receipt) { phones in
            let ann = try await phones.phone("ann")
            #expect(isCompleted(await ann.buy()))
            #expect(try await ann.hasFinishedAll())
            // StoreKit fetches the receipt when a transaction is finished: that would put the file back.
            try await ann.comesToRest()
            #expect(await ann.receiptRefreshes == 0)
            onlyRefreshesArrive(ann)
            try FileManager.default.removeItem(at: ann.receiptURL)
            #expect(isCompleted(await ann.buy()))
            #expect(await ann.receiptRefreshes == 1)
            #expect(FileManager.default.fileExists(atPath: ann.receiptURL.path))
            #expect(try await phones.shop.points(of: "ann") == 120)
        }
    }

    /// Until the app requests a refresh no receipt reaches the phone, also none that StoreKit fetches by itself.
    private func onlyRefreshesArrive(_ phone: Phone) {
        phone.wire.cut(.store, "GET /emulator/receipt", .offUntil { await phone.receiptRefreshes > 0 })
    }
}
