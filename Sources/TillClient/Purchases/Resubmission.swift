import TillBilling

/// The times at which a paid purchase is sent again: after 5 s, then after twice the previous pause, at most an hour.
/// The second half of each pause is random, so that the devices do not all reach a restarted server at the same moment.
package struct RetrySchedule: Hashable, Sendable {
    /// In milliseconds.
    package var first: Int64 = 5_000
    /// In milliseconds.
    package var longest: Int64 = 3_600_000

    package init() {}

    /// Why pending purchases are checked now.
    package enum Occasion: Hashable, Sendable {
        /// The app starts: send everything, including refused proofs.
        case launch
        /// The network is back: send everything that waits.
        case networkReturned
        /// A user signed in: send everything that waits, including purchases that waited for a token.
        case signedIn
        /// The customer starts a purchase: send everything that is pending.
        case purchase
        /// Time has passed: send what is due.
        case timer
    }

    /// The pause in milliseconds after this many failed attempts (at least 1).
    ///
    /// - Parameter random: from 0 to below 1.
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
        case .networkReturned, .signedIn, .purchase: return entry.pendingReason?.isFinal != true
        case .timer:
            if entry.pendingReason?.isFinal == true { return false }
            guard let retryAt = entry.retryAt else { return true }
            return retryAt <= now || isStale(retryAt, now: now)
        }
    }

    /// A time beyond every schedule was chosen before the clock was set back.
    private func isStale(_ retryAt: Instant, now: Instant) -> Bool {
        retryAt > now.adding(milliseconds: max(longest, 86_400_000))
    }

    /// Milliseconds until the first of these is due, at most `longest`. The minimum keeps the loop from spinning when
    /// the disk does not accept a new time.
    func wait(for entries: [JournalEntry], and other: Instant?, now: Instant) -> Int64 {
        let times =
            entries.filter { $0.pendingReason?.isFinal != true }.map { $0.retryAt ?? now } + (other.map { [$0] } ?? [])
        let due = times.map { isStale($0, now: now) ? now : $0 }.min() ?? now.adding(milliseconds: longest)
        return min(max(due.milliseconds - now.milliseconds, first / 2), longest)
    }
}

/// Sends pending paid purchases again: from the journal, and from the store's queue.
package struct Resubmission: Sendable {
    private let journal: OrderJournal
    private let queue: StoreQueue
    private let submitter: ProofSubmitter
    private let effects: Effects
    private let schedule: RetrySchedule

    /// The number of concurrent submissions.
    static let width = 4

    package init(
        journal: OrderJournal, queue: StoreQueue, submitter: ProofSubmitter, effects: Effects,
        schedule: RetrySchedule = RetrySchedule()
    ) {
        self.journal = journal
        self.queue = queue
        self.submitter = submitter
        self.effects = effects
        self.schedule = schedule
    }

    /// The results, in no particular order.
    package struct Report: Sendable {
        package var outcomes: [TransactionID: SubmitOutcome] = [:]
        /// The store did not return its queue. The purchases in the journal were sent nevertheless.
        package var storeFault: (any Error)?
    }

    /// - Parameter occasion: selects what is sent: at launch everything, after a timer what is due.
    package func resubmit(on occasion: RetrySchedule.Occasion) async -> Report {
        var report = Report()
        var waiting: [TransactionID: QueuedTransaction] = [:]
        let now = effects.clock()
        for entry in await journal.ongoing() where schedule.isDue(entry, now: now, on: occasion) {
            guard let transaction = await journal.paidTransaction(of: entry.id) else { continue }
            waiting[transaction.id] = transaction
        }
        do {
            // The store's own copy takes precedence, because it may have been signed again.
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
            if await submitter.isSending(transaction.id) { continue }
            if let entry = await journal.entry(of: transaction.id), entry.status == .ongoing,
                !schedule.isDue(entry, now: now, on: .purchase)
            {
                continue
            }
            waiting.append(transaction)
        }
        return await send(waiting.sorted { $0.id < $1.id }).map(\.1)
    }

    /// Sends one order's proof again at the buyer's request. Nil if no proof is stored.
    package func resubmit(_ id: OrderID) async -> SubmitOutcome? {
        guard let transaction = await journal.paidTransaction(of: id) else { return nil }
        return await submitter.submit(transaction)
    }

    private func send(_ transactions: [QueuedTransaction]) async -> [(QueuedTransaction, SubmitOutcome)] {
        await withTaskGroup(of: (QueuedTransaction, SubmitOutcome).self) { group in
            var outcomes: [(QueuedTransaction, SubmitOutcome)] = []
            var rest = transactions[...]
            for transaction in rest.prefix(Self.width) {
                group.addTask { (transaction, await submitter.resubmit(transaction)) }
            }
            rest = rest.dropFirst(Self.width)
            while let outcome = await group.next() {
                outcomes.append(outcome)
                if let next = rest.popFirst() {
                    group.addTask { (next, await submitter.resubmit(next)) }
                }
            }
            return outcomes
        }
    }
}
