import Testing
import TillBilling

@testable import TillClient

@Suite("Retries of waiting orders")
struct RetryTests {
    private let now = Instant(seconds: 1_800_000_000)
    private let schedule = RetrySchedule()

    private func ongoing(retryIn seconds: Int64?, isFinal: Bool = false) -> JournalEntry {
        JournalEntry(
            id: UniqueID(high: 1, low: 1), productID: ProductID("points.60"), quantity: 1, price: nil, userID: nil,
            history: [OrderMove(status: .ongoing, at: now, reason: "")],
            retryAt: seconds.map { now.adding(seconds: $0) },
            pendingReason: PendingReason(code: "offline", isFinal: isFinal))
    }

    @Test(
        "The wait doubles from 5 s to an hour, spread over its second half",
        arguments: [
            (1, 2_500, 5_000), (2, 5_000, 10_000), (3, 10_000, 20_000), (9, 640_000, 1_280_000),
            (10, 1_280_000, 2_560_000), (11, 1_800_000, 3_600_000), (1_000_000, 1_800_000, 3_600_000),
        ] as [(Int, Int64, Int64)])
    func waits(attempts: Int, least: Int64, most: Int64) {
        #expect(schedule.delay(afterAttempts: attempts, random: 0, retryAfter: nil) == least)
        let longest = schedule.delay(afterAttempts: attempts, random: 0.999_999_9, retryAfter: nil)
        #expect(longest <= most && longest > most - most / 1_000)
        #expect(schedule.delay(afterAttempts: attempts, random: 0, retryAfter: 7_200) == 7_200_000)
    }

    @Test("Two devices that failed together do not retry at the same time")
    func jitter() {
        let times = (0..<50).map { seed in
            schedule.nextAttempt(
                after: 5, now: now, entropy: { _ in [UInt8(seed * 5), 1, 2, 3] }, retryAfter: nil)
        }
        #expect(Set(times).count == 50)
    }

    @Test("P6, T2: a launch sends everything, a network, a sign-in or a purchase what waits, a timer what is due")
    func occasions() {
        let cases: [(JournalEntry, launch: Bool, network: Bool, timer: Bool)] = [
            (ongoing(retryIn: nil), true, true, true),
            (ongoing(retryIn: 0), true, true, true),
            (ongoing(retryIn: 60), true, true, false),
            (ongoing(retryIn: -60), true, true, true),
            (ongoing(retryIn: nil, isFinal: true), true, false, false),
            // The clock was set back a year after that time was chosen.
            (ongoing(retryIn: 365 * 86_400), true, true, true),
        ]
        for (index, expected) in cases.enumerated() {
            #expect(schedule.isDue(expected.0, now: now, on: .launch) == expected.launch, "case \(index)")
            for occasion in [RetrySchedule.Occasion.networkReturned, .signedIn, .purchase] {
                #expect(schedule.isDue(expected.0, now: now, on: occasion) == expected.network, "\(index) \(occasion)")
            }
            #expect(schedule.isDue(expected.0, now: now, on: .timer) == expected.timer, "case \(index)")
        }
        let prepared = JournalEntry(
            preparing: UniqueID(high: 1, low: 1), productID: ProductID("a"), quantity: 1, price: nil,
            userID: UserID("ann"), at: now)
        #expect(!schedule.isDue(prepared, now: now, on: .launch))
    }

    @Test("C9, T2: all uncompleted orders are sent, from the journal and the store, even with a broken store")
    func all() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        world.state.withLock { $0.session = nil }
        for number in 0..<12 {
            world.state.withLock { $0.session = UserSession(userID: UserID("ann"), token: "ann") }
            let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
            world.state.withLock { $0.session = nil }
            let transaction = world.pay(entry, id: "50\(number)")
            // Half were seen before; the other half only the store knows.
            if number % 2 == 0 { _ = await app.submitter.submit(transaction) }
        }
        world.state.withLock { $0.session = UserSession(userID: UserID("ann"), token: "ann") }
        let broken = StoreQueue(unfinished: { throw TransportError(.offline) }, finish: world.queue.finish)
        let withoutStore = Resubmission(
            journal: app.journal, queue: broken, submitter: app.submitter, effects: world.effects)
        let first = await withoutStore.resubmit(on: .launch)
        #expect(first.outcomes.count == 6 && first.storeFault != nil)
        let second = await app.retry.resubmit(on: .launch)
        #expect(second.outcomes.count == 6 && second.storeFault == nil)
        #expect(world.state.now.grants.count == 12 && world.state.now.queue.isEmpty)
        #expect(await app.journal.entries().allSatisfy { $0.status == .completed })
    }

    @Test("Every error a buyer can meet has its own sentence in both languages")
    func sentences() {
        let codes =
            TransportError.Kind.allCases.map(\.rawValue) + Refusal.allCases.map(\.rawValue) + [
                "signed_out", "unreadable_answer", "accepted", "quarantined", "completed_elsewhere",
                "moon_phase",
            ]
        for code in codes {
            let sentence = PendingReason(code: code, isFinal: false).sentence
            #expect(sentence.en.count > 10 && sentence.zh.count > 4 && sentence.en != sentence.zh, "\(code)")
        }
    }
}
