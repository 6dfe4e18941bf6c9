import Foundation
import Testing
import TillBilling
import TillClient
import TillThreads

@Suite("The app is killed at every step of a purchase") struct KilledJourneys {
    /// What happens to the app after the kill.
    enum Afterwards: String, Sendable, CaseIterable {
        case relaunched
        /// Deleted with all its data, and installed again.
        case reinstalled
    }

    @Test(
        "Stopped at the payment sheet, no caller waits for ever, and the payment arrives later (P7, T12, regression)")
    func stoppedAtTheSheet() async throws {
        try await Phones.open(.storeKit1) { phones in
            let phone = try await phones.phone("ann")
            let gate = Gate()
            phone.wire.cut(.store, "POST /emulator/purchases", .slow(gate))
            async let outcome = phone.buy()
            #expect(await eventually { (try? await phone.paid().count) == 1 })
            // The queue has no observer any more: without the stop, the caller would wait for its result in vain.
            await phone.use { await $0.stop() }
            let ended = await outcome
            guard case .failed(let order?, .store(.unknown)) = ended else {
                Issue.record("\(ended)")
                return
            }
            let again = await phone.buy(Shop.points300)
            guard case .failed(_, .store(.unknown)) = again else {
                Issue.record("\(again)")
                return
            }
            await gate.open()
            phone.wire.mend()
            try await phone.relaunch()
            #expect(
                await eventually { await phone.orders().first { $0.id == order.id }?.status == .completed })
            #expect(try await phones.shop.points(of: "ann") == 60)
            #expect(try await phones.shop.grantCount() == 1)
        }
    }

    @Test(
        "Every paid purchase is granted once, to its buyer, and no other (O6, O7)",
        arguments: StoreKitGeneration.both, Afterwards.allCases)
    func everyStep(_ generation: StoreKitGeneration, _ afterwards: Afterwards) async throws {
        try await Phones.open(generation) { phones in
            let steps = try await steps(of: phones)
            let ends = Locked<[(step: AppRun.Step, paid: Int)]>([])
            // Several buyers at once, each with its own account, phone and kill.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, step) in steps.enumerated() {
                    if number >= 4 { try await group.next() }
                    group.addTask {
                        let paid = try await buyer("buyer\(number)", in: phones, killedAt: step, afterwards)
                        ends.withLock { $0.append((step, paid)) }
                    }
                }
                try await group.waitForAll()
            }
            let all = ends.withLock { $0 }
            #expect(all.count == steps.count)
            // Some kills are before the payment, some after it.
            #expect(all.contains { $0.paid == 0 } && all.contains { $0.paid == 1 })
            #expect(try await phones.shop.grantCount() == Int64(all.reduce(0) { $0 + $1.paid }) + 1)
        }
    }

    @Test(
        "Killed in the purchase and again in the recovery, it still arrives once (O6)",
        arguments: StoreKitGeneration.both)
    func twice(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let names = [
                "journal written", "server POST /v1/transactions", "server answers POST /v1/transactions",
                "store POST /emulator/transactions/*/finish", "store answers POST /emulator/transactions/*/finish",
            ]
            let paid = AppRun.Step(name: "store answers POST /emulator/purchases", number: 1)
            for (number, name) in names.enumerated() {
                let phone = try await phones.phone("buyer\(number)", isLaunched: false)
                try await phone.open(killedAt: paid)
                async let outcome = phone.buy()
                #expect(await eventually { phone.run.isDead })
                try await phone.relaunch(killedAt: AppRun.Step(name: name, number: 1))
                #expect(await eventually { phone.run.isDead }, "not killed at \(name)")
                try await phone.relaunch()
                try await check(phone, "paid, then \(name)")
                #expect(try await phone.paid().count == 1)
                _ = await outcome
            }
        }
    }

    /// The steps of one undisturbed purchase, from the tap on.
    private func steps(of phones: Phones) async throws -> [AppRun.Step] {
        let phone = try await phones.phone("undisturbed")
        try await phone.comesToRest()
        let before = Set(phone.run.steps)
        #expect(isCompleted(await phone.buy()))
        #expect(try await phone.hasFinishedAll())
        try await phone.comesToRest()
        let steps = phone.run.steps.filter { !before.contains($0) }
        let names = Set(steps.map(\.name))
        for name in [
            "journal written", "server POST /v1/orders", "server answers POST /v1/orders",
            "store POST /emulator/purchases", "store answers POST /emulator/purchases",
            "server POST /v1/transactions", "server answers POST /v1/transactions",
            "store POST /emulator/transactions/*/finish", "store answers POST /emulator/transactions/*/finish",
        ] {
            #expect(names.contains(name), "a purchase without \(name)")
        }
        return steps
    }

    /// Runs one buyer; returns the number of paid transactions.
    private func buyer(
        _ name: String, in phones: Phones, killedAt step: AppRun.Step, _ afterwards: Afterwards
    ) async throws -> Int {
        let phone = try await phones.phone(name, isLaunched: false)
        try await phone.open(killedAt: step)
        try await phone.comesToRest()
        let isOver = Locked(false)
        async let outcome = {
            let outcome = await phone.buy()
            isOver.withLock { $0 = true }
            return outcome
        }()
        await eventually { phone.run.isDead || isOver.withLock { $0 } }
        if !phone.run.isDead { _ = try await phone.hasFinishedAll() }
        // The number of fetches of the receipt and of the entitlements varies: several reasons share one. If the step
        // never comes, the app is killed when all is done. The store finishes before the phone has its answer.
        let mayBeSpared = ["GET /emulator/receipt", "GET /emulator/devices/*/transactions"]
            .contains { step.name.hasSuffix($0) }
        if !mayBeSpared { #expect(await eventually { phone.run.isDead }, "\(step) never came") }
        // Requests in progress at the store and the server when the app died are still completed there.
        try await Task.sleep(for: .milliseconds(20))
        switch afterwards {
        case .relaunched: try await phone.relaunch()
        case .reinstalled: try await phone.reinstall()
        }
        let paid = try await phone.paid().count
        try await check(phone, step.description)
        _ = await outcome
        return paid
    }

    private func check(_ phone: Phone, _ story: String) async throws {
        let user = try #require(phone.user)
        #expect(try await phone.hasFinishedAll(), "still in the queue: \(story)")
        let paid = try await phone.paid().count
        #expect(paid <= 1)
        #expect(try await phone.shop.grants(of: user) == Int64(paid), "\(story)")
        #expect(try await phone.shop.points(of: user) == Int64(paid) * 60, "\(story)")
        #expect(await eventually { !(await phone.orders().contains { $0.status == .ongoing }) }, "\(story)")
        if paid == 1 { #expect(await phone.orders().allSatisfy { $0.status != .prepared }, "\(story)") }
    }
}
