import TillBilling

/// The background work of the kit while the app runs: one observer of the store, and one loop that sends pending paid
/// purchases whenever there is an occasion.
actor Upkeep {
    private let access: StoreAccess
    private let catalogue: Catalogue
    private let journal: OrderJournal
    private let purchase: Purchase
    private let submit: Submit
    private let retry: Retry
    private let serverOrders: ServerOrders
    private let signIn: SignIn
    private let board: UpdateBoard
    private let effects: Effects
    private let schedule: RetrySchedule

    private enum Life { case new, running, stopped }
    private var life = Life.new
    /// The occasion that is pending until a user is signed in.
    private var occasion: RetrySchedule.Occasion? = .launch
    /// The time of a check that the journal could not record, or does not know.
    private var lookAt: Instant?
    private var sleeper: CheckedContinuation<Void, Never>?
    private var isRung = false

    init(_ rooms: Rooms, schedule: RetrySchedule = RetrySchedule()) {
        access = rooms.access
        catalogue = rooms.catalogue
        journal = rooms.journal
        purchase = rooms.purchase
        submit = rooms.submit
        retry = rooms.retry
        serverOrders = rooms.serverOrders
        signIn = rooms.signIn
        effects = rooms.effects
        board = rooms.board
        self.schedule = schedule
    }

    // MARK: Life cycle

    /// The first call attaches the observer; later calls do nothing.
    func start() async {
        guard life == .new else { return }
        life = .running
        let events = access.events()
        effects.spawn { await self.listen(to: events) }
        effects.spawn { await self.run() }
    }

    func stop() async {
        guard life != .stopped else { return }
        let wasRunning = life == .running
        life = .stopped
        ring()
        board.close()
        if wasRunning { await access.stop() }
    }

    // MARK: Occasions

    /// Records an occasion for sending, and returns without waiting.
    func take(_ occasion: RetrySchedule.Occasion) {
        // A launch's round sends everything, so later occasions do not replace it.
        if self.occasion != .launch { self.occasion = occasion }
        ring()
    }

    /// Takes into account a result from outside the loop.
    func hear(_ outcome: SubmitOutcome) {
        if case .willArrive(_, let retryAt?) = outcome { look(at: retryAt) }
    }

    /// Schedules a check of the store's queue.
    func lookSoon() { look(at: effects.clock().adding(milliseconds: schedule.first)) }

    private func look(at time: Instant) {
        lookAt = min(lookAt ?? time, time)
        ring()
    }

    /// Sends everything now, and returns when it is answered.
    func checkAll() async {
        guard await signIn.userID != nil else { return }
        for outcome in await retry.resubmit(on: .launch).outcomes.values { hear(outcome) }
        await serverOrders.look()
    }

    // MARK: The loop

    private func run() async {
        for id in journal.leftUnopened { await purchase.abandon(id, because: "never_requested") }
        var isTime = false
        while life == .running {
            if await signIn.userID != nil, let now = occasion ?? (isTime ? .timer : nil) {
                occasion = nil
                lookAt = nil
                let report = await retry.resubmit(on: now)
                for outcome in report.outcomes.values { hear(outcome) }
                if now != .timer { await serverOrders.look() }
                // An occasion that this round itself caused is handled when it is due.
                if occasion == nil { isRung = false }
            }
            isTime = await rest(await wait())
        }
    }

    /// Milliseconds until the next check.
    private func wait() async -> Int64 {
        // Without a signed-in user there is no token; a sign-in wakes the loop.
        guard await signIn.userID != nil else { return schedule.longest }
        return schedule.wait(for: await journal.ongoing(), and: lookAt, now: effects.clock())
    }

    /// True if the time has elapsed, false if an occasion came earlier.
    private func rest(_ milliseconds: Int64) async -> Bool {
        if isRung || life != .running {
            isRung = false
            return false
        }
        let pause = effects.pause
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await pause(milliseconds)
                return true
            }
            group.addTask {
                await self.bell()
                return false
            }
            let isTime = await group.next() ?? false
            group.cancelAll()
            ring()
            for await _ in group {}
            isRung = false
            return isTime
        }
    }

    /// Whether the loop is waiting, without an occasion.
    var isAsleep: Bool { sleeper != nil }

    private func bell() async {
        if isRung { return }
        await withCheckedContinuation { sleeper = $0 }
    }

    private func ring() {
        isRung = true
        sleeper?.resume()
        sleeper = nil
    }

    // MARK: The observer

    /// Handles a few events concurrently, so that a slow response delays no other purchase.
    private func listen(to events: AsyncStream<StoreEvent>) async {
        await withTaskGroup(of: Void.self) { group in
            var begun = 0
            for await event in events {
                if life == .stopped { break }
                if begun >= Retry.width { await group.next() }
                group.addTask { await self.hear(event) }
                begun += 1
            }
        }
    }

    private func hear(_ event: StoreEvent) async {
        switch event {
        case .paid(let transaction):
            let outcome = await submit.again(transaction)
            hear(outcome)
            await tell(outcome, of: transaction)
        case .failed(let order, let product, let problem): await fail(order, product, problem)
        case .revoked(let products): board.postRevoked(products.map(\.text))
        case .promoted(let product): board.postPromoted(product.text)
        case .storefrontChanged:
            await catalogue.storefrontChanged()
            board.postStorefrontChanged()
        }
    }

    /// On a full disk the journal reports nothing, so the server's answer is posted here.
    private func tell(_ outcome: SubmitOutcome, of transaction: QueuedTransaction) async {
        guard case .completed = outcome, let token = transaction.token, let entry = await journal[token],
            entry.transactionID == nil
        else { return }
        board.post(OrderSummary(entry).showing(.completed), owner: entry.userID)
    }

    /// Without a token, an order is closed only if no other order matches.
    private func fail(_ order: OrderID?, _ product: ProductID, _ problem: StoreProblem) async {
        guard let id = await journal.unpaid(order, product) else { return }
        if problem == .cancelled {
            try? await purchase.cancelled(id, reason: problem.code)
        } else {
            try? await purchase.failed(id, reason: problem.code)
        }
    }
}
