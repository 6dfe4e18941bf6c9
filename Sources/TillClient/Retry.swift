import TillBilling

/// When a paid purchase is sent again (P6): after 5 s, then twice as long each time, at most an hour, each spread over
/// its second half so that a server that comes back is not met by everybody at once.
package struct RetrySchedule: Hashable, Sendable {
    /// Milliseconds.
    package var first: Int64 = 5_000
    /// Milliseconds.
    package var longest: Int64 = 3_600_000

    package init() {}

    /// Why one looks at the schedule.
    package enum Occasion: Hashable, Sendable {
        /// The app starts: everything, also what was refused.
        case launch
        /// The network is back: everything that waits.
        case networkReturned
        /// Somebody signed in: what waited for a token, and everything else that waits.
        case signedIn
        /// The customer buys something: everything that waits.
        case purchase
        /// Some time has passed: what is due.
        case timer
    }

    /// Milliseconds to wait after that many failed attempts (1 or more).
    ///
    /// - Parameter random: 0 to 1, below 1.
    func delay(afterAttempts attempts: Int, random: Double, retryAfter: Int64?) -> Int64 {
        let doublings = min(max(attempts - 1, 0), 30)
        let whole = min(first << Int64(doublings), longest)
        let spread = whole / 2 + Int64(Double(whole / 2) * random)
        return max(spread, (retryAfter ?? 0) * 1_000)
    }

    func nextAttempt(after attempts: Int, now: Instant, entropy: (Int) -> [UInt8], retryAfter: Int64?) -> Instant {
        let bits = entropy(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let random = Double(bits) / (Double(UInt32.max) + 1)
        return now.adding(milliseconds: delay(afterAttempts: attempts, random: random, retryAfter: retryAfter))
    }

    /// Whether a paid order is to be sent now.
    package func isDue(_ entry: JournalEntry, now: Instant, on occasion: Occasion) -> Bool {
        guard entry.status == .ongoing else { return false }
        switch occasion {
        case .launch: return true
        case .networkReturned, .signedIn, .purchase: return entry.trouble?.isFinal != true
        case .timer:
            if entry.trouble?.isFinal == true { return false }
            guard let retryAt = entry.retryAt else { return true }
            return retryAt <= now || isStale(retryAt, now: now)
        }
    }

    /// A time that no schedule would have chosen was chosen before somebody set the clock back.
    private func isStale(_ retryAt: Instant, now: Instant) -> Bool {
        retryAt > now.adding(milliseconds: max(longest, 86_400_000))
    }

    /// Milliseconds until the first of these is due, at most the longest; never so few that a disk which takes no new
    /// time would keep the loop busy.
    func wait(for entries: [JournalEntry], and other: Instant?, now: Instant) -> Int64 {
        let times =
            entries.filter { $0.trouble?.isFinal != true }.map { $0.retryAt ?? now } + (other.map { [$0] } ?? [])
        let due = times.map { isStale($0, now: now) ? now : $0 }.min() ?? now.adding(milliseconds: longest)
        return min(max(due.milliseconds - now.milliseconds, first / 2), longest)
    }
}

/// Sends again what is paid and not settled: from the journal, and from the store's queue (O6, O7, P6, C9).
package struct Retry: Sendable {
    private let journal: OrderJournal
    private let queue: StoreQueue
    private let submit: Submit
    private let effects: Effects
    private let schedule: RetrySchedule

    /// How many proofs are under way at once.
    static let width = 4

    package init(
        journal: OrderJournal, queue: StoreQueue, submit: Submit, effects: Effects,
        schedule: RetrySchedule = RetrySchedule()
    ) {
        self.journal = journal
        self.queue = queue
        self.submit = submit
        self.effects = effects
        self.schedule = schedule
    }

    /// What became of each, in no particular order.
    package struct Report: Sendable {
        package var outcomes: [TransactionID: SubmitOutcome] = [:]
        /// The store did not show its queue. What the journal knows was sent all the same.
        package var storeFault: (any Error)?
    }

    /// - Parameter occasion: what is sent: at a launch everything, by a timer what is due.
    package func resubmit(on occasion: RetrySchedule.Occasion) async -> Report {
        var report = Report()
        var waiting: [TransactionID: QueuedTransaction] = [:]
        let now = effects.clock()
        for entry in await journal.ongoing() where schedule.isDue(entry, now: now, on: occasion) {
            guard let transaction = await journal.paidTransaction(of: entry.id) else { continue }
            waiting[transaction.id] = transaction
        }
        do {
            // The store's own copy comes second: it may be signed anew, and it counts.
            for transaction in try await queue.unfinished() {
                if let entry = await journal.entry(of: transaction.id), entry.status == .ongoing,
                    !schedule.isDue(entry, now: now, on: occasion)
                {
                    continue
                }
                waiting[transaction.id] = transaction
            }
        } catch {
            report.storeFault = error
        }
        let sent = await send(waiting.values.sorted { $0.id < $1.id })
        for (transaction, outcome) in sent { report.outcomes[transaction.id] = outcome }
        return report
    }

    /// Sends what the store's queue shows as paid before another payment is requested. A transaction that is being sent
    /// already is left out, so that a slow response to one purchase delays no other.
    func sendUnfinished(_ shown: [QueuedTransaction]) async -> [SubmitOutcome] {
        let now = effects.clock()
        var waiting: [QueuedTransaction] = []
        for transaction in shown {
            if await submit.isSending(transaction.id) { continue }
            if let entry = await journal.entry(of: transaction.id), entry.status == .ongoing,
                !schedule.isDue(entry, now: now, on: .purchase)
            {
                continue
            }
            waiting.append(transaction)
        }
        return await send(waiting.sorted { $0.id < $1.id }).map(\.1)
    }

    /// The buyer asks for one order (补充值, L6). Nil if nothing is kept that could be sent.
    package func resubmit(_ id: OrderID) async -> SubmitOutcome? {
        guard let transaction = await journal.paidTransaction(of: id) else { return nil }
        return await submit(transaction)
    }

    private func send(_ transactions: [QueuedTransaction]) async -> [(QueuedTransaction, SubmitOutcome)] {
        await withTaskGroup(of: (QueuedTransaction, SubmitOutcome).self) { group in
            var outcomes: [(QueuedTransaction, SubmitOutcome)] = []
            var rest = transactions[...]
            for transaction in rest.prefix(Self.width) {
                group.addTask { (transaction, await submit.again(transaction)) }
            }
            rest = rest.dropFirst(Self.width)
            while let outcome = await group.next() {
                outcomes.append(outcome)
                if let next = rest.popFirst() {
                    group.addTask { (next, await submit.again(next)) }
                }
            }
            return outcomes
        }
    }
}
