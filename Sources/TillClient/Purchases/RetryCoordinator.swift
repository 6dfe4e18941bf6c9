import TillBilling

/// The background work of the kit while the app runs: one observer of the store, and one loop that sends pending paid
/// purchases whenever there is an occasion.
actor RetryCoordinator {
    private let access: StoreAccess
    private let catalog: ProductCatalog
    private let journal: OrderJournal
    private let purchase: OrderPreparation
    private let submitter: ProofSubmitter
    private let retry: Resubmission
    private let serverOrders: ServerOrders
    private let signIn: SignInState
    private let updateLog: UpdateLog
    private let board: StateBoard
    private let account: AccountState
    private let log: StoreLog
    private let effects: Effects
    private let schedule: RetrySchedule

    private enum State { case new, running, stopped }
    private var state = State.new
    /// The occasion that is pending until a user is signed in.
    private var occasion: RetrySchedule.Occasion? = .launch
    /// The last sign-in, by its number, after which the orders were compared.
    private var comparedFor: Int?
    /// The time of a check that the journal could not record, or does not know.
    private var checkAt: Instant?
    /// The time of a further comparison with the server's orders.
    private var comparesAt: Instant?
    private var sleeper: CheckedContinuation<Void, Never>?
    private var isSignalled = false
    private var atStop: CheckedContinuation<Void, Never>?

    init(_ components: StoreComponents, _ account: AccountState, schedule: RetrySchedule = RetrySchedule()) {
        self.account = account
        board = components.state
        log = components.log
        access = components.access
        catalog = components.catalog
        journal = components.journal
        purchase = components.purchase
        submitter = components.submitter
        retry = components.retry
        serverOrders = components.serverOrders
        signIn = components.signIn
        effects = components.effects
        updateLog = components.updateLog
        self.schedule = schedule
    }

    // MARK: Life cycle

    /// The first call attaches the observer; later calls do nothing.
    func start() async {
        guard state == .new else { return }
        state = .running
        let events = access.events()
        effects.spawn { await self.listen(to: events) }
        effects.spawn { await self.run() }
        let returns = effects.networkReturns()
        effects.spawn { await self.follow(returns) }
        let recovery = journal.recovery
        if !recovery.isClean {
            log.record(.warning, "journal_repaired", code: "\(recovery.cutTail + recovery.damaged)")
        }
    }

    func stop() async {
        guard state != .stopped else { return }
        let wasRunning = state == .running
        state = .stopped
        signal()
        atStop?.resume()
        atStop = nil
        updateLog.close()
        board.close()
        if wasRunning { await access.stop() }
    }

    // MARK: Occasions

    /// Records an occasion for sending, and returns without waiting.
    func take(_ occasion: RetrySchedule.Occasion) {
        // A launch's round sends everything, so later occasions do not replace it.
        if self.occasion != .launch { self.occasion = occasion }
        signal()
    }

    /// Ends with the store, because the system's stream has no end.
    private func follow(_ networkReturns: AsyncStream<Void>) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in networkReturns { await self.noteNetwork() } }
            await waitForStop()
            group.cancelAll()
        }
    }

    private func waitForStop() async {
        if state == .stopped { return }
        await withCheckedContinuation { atStop = $0 }
    }

    private func noteNetwork() {
        guard state == .running else { return }
        take(.networkReturned)
        account.refreshSoon()
    }

    /// Takes into account a result from outside the loop.
    func handle(_ outcome: SubmitOutcome) {
        switch outcome {
        case .completed, .refunded: account.refreshSoon()
        case .deliveryPending, .refused: break
        }
        if case .deliveryPending(_, let retryAt?) = outcome { check(at: retryAt) }
    }

    /// Schedules a check of the store's queue.
    func checkSoon() { check(at: effects.clock().adding(milliseconds: schedule.first)) }

    private func check(at time: Instant) {
        checkAt = min(checkAt ?? time, time)
        signal()
    }

    /// Sends everything now, and returns when it is answered.
    func checkAll() async {
        guard await signIn.userID != nil else { return }
        for outcome in await retry.resubmit(on: .launch).outcomes.values { handle(outcome) }
        await compareOrders()
    }

    /// Brings the list of orders up to date with the server's.
    func compareOrders() async {
        if await serverOrders.check() { account.refreshSoon() }
    }

    private func compareAgain(in milliseconds: Int64) {
        comparesAt = effects.clock().adding(milliseconds: milliseconds)
        signal()
    }

    /// In milliseconds: Apple may report a refund to the device before the server.
    private static let secondLook: Int64 = 60_000

    /// Also true if the clock was set back in the meantime.
    private var isComparisonDue: Bool {
        guard let comparesAt else { return false }
        let now = effects.clock()
        return comparesAt <= now || comparesAt > now.adding(milliseconds: Self.secondLook)
    }

    // MARK: The loop

    private func run() async {
        for id in journal.leftUnopened { await purchase.abandon(id, because: "never_requested") }
        var isTime = false
        while state == .running {
            if await signIn.userID != nil, let now = occasion ?? (isTime ? .timer : nil) {
                occasion = nil
                checkAt = nil
                let report = await retry.resubmit(on: now)
                for outcome in report.outcomes.values { handle(outcome) }
                // The launch's round may have begun after the sign-in, whose own round then has nothing to compare.
                let signInNumber = await signIn.changes
                if now != .timer && (now != .signedIn || comparedFor != signInNumber) || isComparisonDue {
                    (comparesAt, comparedFor) = (nil, signInNumber)
                    await compareOrders()
                }
                await endUnapproved(on: now)
                // An occasion that this round itself caused is handled when it is due.
                if occasion == nil { isSignalled = false }
            }
            isTime = await rest(await wait())
        }
    }

    /// At launch, an approved payment may still be in the store's queue, and a cancelled order's preview is no longer
    /// honoured; so the queue is processed first.
    private func endUnapproved(on occasion: RetrySchedule.Occasion) async {
        guard await !purchase.unapproved().isEmpty else { return }
        if occasion == .launch { compareAgain(in: schedule.first) } else { await purchase.endUnapproved() }
    }

    /// Milliseconds until the next check.
    private func wait() async -> Int64 {
        // Without a signed-in user there is no token; a sign-in wakes the loop.
        guard await signIn.userID != nil else { return schedule.longest }
        return schedule.wait(
            for: await journal.ongoing(), and: [checkAt, comparesAt].compactMap { $0 }.min(), now: effects.clock())
    }

    /// True if the time has elapsed, false if an occasion came earlier.
    private func rest(_ milliseconds: Int64) async -> Bool {
        if isSignalled || state != .running {
            isSignalled = false
            return false
        }
        let pause = effects.pause
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await pause(milliseconds)
                return true
            }
            group.addTask {
                await self.waitForSignal()
                return false
            }
            let isTime = await group.next() ?? false
            group.cancelAll()
            signal()
            for await _ in group {}
            isSignalled = false
            return isTime
        }
    }

    /// Whether the loop is waiting, without an occasion.
    var isAsleep: Bool { sleeper != nil }

    private func waitForSignal() async {
        if isSignalled { return }
        await withCheckedContinuation { sleeper = $0 }
    }

    private func signal() {
        isSignalled = true
        sleeper?.resume()
        sleeper = nil
    }

    // MARK: The observer

    /// Handles a few events concurrently, so that a slow response delays no other purchase.
    private func listen(to events: AsyncStream<StoreEvent>) async {
        await withTaskGroup(of: Void.self) { group in
            var begun = 0
            for await event in events {
                if state == .stopped { break }
                if begun >= Resubmission.width { await group.next() }
                group.addTask { await self.handle(event) }
                begun += 1
            }
        }
    }

    private func handle(_ event: StoreEvent) async {
        switch event {
        case .paid(let transaction):
            let outcome = await submitter.resubmit(transaction)
            log.record(outcome, of: transaction)
            handle(outcome)
            await report(outcome, of: transaction)
        case .failed(let order, let product, let problem): await fail(order, product, problem)
        case .revoked(let products):
            log.record(.info, "purchase_revoked", product: products.first)
            updateLog.postRevoked(products.map(\.text))
            account.refreshSoon()
            await compareOrders()
            compareAgain(in: Self.secondLook)
        case .promoted(let product): updateLog.postPromoted(product.text)
        case .storefrontChanged:
            await catalog.storefrontChanged()
            updateLog.postStorefrontChanged()
        }
    }

    /// On a full disk the journal reports nothing, so the server's answer is posted here.
    private func report(_ outcome: SubmitOutcome, of transaction: QueuedTransaction) async {
        guard case .completed = outcome, let token = transaction.token, let entry = await journal[token],
            entry.transactionID == nil
        else { return }
        updateLog.post(StoreOrder(entry).showing(.completed), owner: entry.userID)
    }

    /// Without a token, an order is closed only if no other order matches.
    private func fail(_ order: OrderID?, _ product: ProductID, _ problem: AppStoreError) async {
        guard let id = await journal.unpaid(order, product) else { return }
        if problem == .cancelled {
            try? await purchase.cancelled(id, reason: problem.code)
        } else {
            try? await purchase.failed(id, reason: problem.code)
        }
    }
}
