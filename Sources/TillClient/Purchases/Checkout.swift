import TillAPI
import TillBilling

/// Runs one purchase from the tap to its outcome, with at most one purchase of a product at a time.
actor Checkout {
    private let access: StoreAccess
    private let catalog: ProductCatalog
    private let journal: OrderJournal
    private let purchase: OrderPreparation
    private let submitter: ProofSubmitter
    private let retryCoordinator: RetryCoordinator
    private let retry: Resubmission
    private let restore: RestoreService
    private let signIn: SignInState
    /// Products with a purchase in progress.
    private(set) var underWay: Set<ProductID> = []
    private let showPurchasing: @Sendable (Set<ProductID>) -> Void
    private let log: StoreLog

    init(_ components: StoreComponents, retryCoordinator: RetryCoordinator) {
        access = components.access
        catalog = components.catalog
        journal = components.journal
        purchase = components.purchase
        submitter = components.submitter
        retry = components.retry
        restore = RestoreService(components)
        signIn = components.signIn
        showPurchasing = { [state = components.state] in state.setPurchasing($0) }
        log = components.log
        self.retryCoordinator = retryCoordinator
    }

    /// - Parameter user: the user whom the app means; nil for the signed-in one.
    func buy(_ product: ProductID, _ options: PurchaseOptions, by user: UserID? = nil) async -> PurchaseEnding {
        guard underWay.insert(product).inserted else { return PurchaseEnding(.inProgress) }
        showPurchasing(underWay)
        log.record(.debug, "purchase_begun", product: product)
        let ending = await goThrough(product, options, by: user)
        log.record(ending, of: product)
        underWay.remove(product)
        showPurchasing(underWay)
        return ending
    }

    private func goThrough(
        _ product: ProductID, _ options: PurchaseOptions, by user: UserID?
    ) async -> PurchaseEnding {
        guard (1...10).contains(options.quantity) else { return .notBegun(nil, .badQuantity) }
        if let preview = options.preview, preview.productID != product.text || preview.quantity != options.quantity {
            return .notBegun(nil, .otherPreview)
        }
        let terms: PaymentTerms
        do throws(StoreError) { terms = try PaymentTerms(options, for: product) } catch { return .notBegun(nil, error) }
        guard await access.canMakePayments() else {
            return .notBegun(nil, .paymentsNotAllowed, .notAllowed)
        }
        guard let buyer = await signIn.userID, user == nil || user == buyer else {
            return .notBegun(nil, .notSignedIn)
        }
        let listing: StoreListing
        do throws(StoreError) { listing = try await catalog.listing(of: product) } catch {
            return .notBegun(nil, error, .productsUnavailable)
        }
        if let option = await access.unsupported(terms, product) { return .notBegun(nil, .unsupportedOption(option)) }
        // Without the observer, a payment requested now would be reported at the next launch only.
        await retryCoordinator.start()
        await submitUnfinished(before: product)
        let entry: JournalEntry
        do throws(PurchaseError) {
            var request = OrderRequest(product, options)
            request.price = listing.price(of: options.quantity)
            request.label = await catalog.label(of: product)
            entry = try await purchase.prepare(request)
        } catch {
            return await notBegun(error)
        }
        var request = PurchaseRequest(order: entry.id, productID: entry.productID, quantity: entry.quantity)
        request.terms = terms
        if terms.offer == nil, let offer = options.promotionalOffer {
            do throws(ServerError) {
                request.terms.offer = try await purchase.signedOffer(offer, for: entry)
            } catch {
                // Closed at the server too, so that the next tap opens a new order.
                try? await purchase.failed(entry.id, reason: error.code)
                return .notBegun(await summary(of: entry), .server(error))
            }
        }
        return await pay(entry, request, isSubscription: listing.type == .autoRenewable)
    }

    /// An unfinished paid transaction is submitted before the next payment is requested, and never cleared. Whatever
    /// the outcome, the purchase continues. Another purchase under way submits its own transaction, under its order.
    private func submitUnfinished(before product: ProductID) async {
        guard let shown = try? await access.unfinished() else { return }
        let left = shown.filter { $0.productID == product || !underWay.contains($0.productID) }
        for outcome in await retry.sendUnfinished(left) { await retryCoordinator.handle(outcome) }
    }

    /// Closes an order for which nothing was requested from the store.
    private func notBegun(_ error: PurchaseError) async -> PurchaseEnding {
        switch error {
        case .cannotOpen(let id, let serverFault):
            await purchase.abandon(id, because: serverFault.code)
            return .notBegun(await journal.summary(of: id), StoreError(error))
        case .refused(let id, _):
            return .notBegun(await journal.summary(of: id), StoreError(error))
        case .deferred(let id):
            guard let order = await journal.summary(of: id) else { return .notBegun(nil, StoreError(error)) }
            return PurchaseEnding(.deferred(order))
        case .notSignedIn, .badQuantity, .journal, .unknownOrder: return .notBegun(nil, StoreError(error))
        }
    }

    private func pay(
        _ entry: JournalEntry, _ request: PurchaseRequest, isSubscription: Bool
    ) async -> PurchaseEnding {
        switch await access.purchase(request) {
        case .paid(let transaction):
            let outcome = await submitter.submit(transaction, paying: entry.id)
            await retryCoordinator.handle(outcome)
            if isSubscription, let running = await running(transaction, insteadOf: entry) {
                return await ending(of: outcome, for: running)
            }
            return await ending(of: outcome, for: entry)
        case .deferred:
            // If the journal cannot be written, the order stays prepared, and is completed from that status.
            try? await purchase.deferred(entry.id)
            return PurchaseEnding(.deferred(await summary(of: entry)))
        case .cancelled:
            try? await purchase.cancelled(entry.id, reason: AppStoreError.cancelled.code)
            return PurchaseEnding(.cancelled(await summary(of: entry)))
        case .failed(let problem):
            try? await purchase.failed(entry.id, reason: problem.code)
            // The store may still report the payment later.
            await retryCoordinator.checkSoon()
            return PurchaseEnding(
                .failed(await summary(of: entry), .store(problem)),
                isUncharged: !problem.mayBePaid && !problem.isCancellation)
        }
    }

    /// The order of a period that the customer had before. The App Store returns its transaction if it charges nothing:
    /// for the subscription that runs already, and for a plan that begins at the next renewal.
    private func running(_ transaction: QueuedTransaction, insteadOf entry: JournalEntry) async -> JournalEntry? {
        guard let running = await journal.entry(of: transaction.id), running.id != entry.id,
            await journal[entry.id]?.transactionID == nil
        else { return nil }
        let reason: PendingReason = running.productID == entry.productID ? .alreadySubscribed : .startsAtRenewal
        try? await purchase.cancelled(entry.id, reason: reason.code)
        return running
    }

    /// Sends one order's proof again at the buyer's request. Any signed-in user may send it, even if another user
    /// paid.
    func resubmit(_ id: OrderID) async -> PurchaseOutcome {
        guard let entry = await journal[id] else { return .failed(nil, .unknownOrder) }
        let order = StoreOrder(entry)
        switch entry.status {
        case .completed: return .completed(order)
        case .deferred: return .deferred(order)
        case .cancelled: return .cancelled(order)
        case .ongoing:
            guard let outcome = await retry.resubmit(id) else { return .deliveryPending(order, nil) }
            await retryCoordinator.handle(outcome)
            return await ending(of: outcome, for: entry).outcome
        case .prepared, .failed, .refunded:
            return .failed(order, .journal(.illegalMove(from: entry.status, to: .completed)))
        }
    }

    private func ending(of outcome: SubmitOutcome, for entry: JournalEntry) async -> PurchaseEnding {
        let order = await summary(of: entry)
        switch outcome {
        // If the disk is full the journal falls behind; the server's answer counts.
        case .completed: return PurchaseEnding(.completed(order.showing(.completed)))
        case .refunded: return PurchaseEnding(.failed(order.showing(.refunded), .refunded))
        case .deliveryPending(let pendingReason, _):
            return PurchaseEnding(
                .deliveryPending(order.showing(.ongoing, note: pendingReason.sentence), .undelivered(pendingReason)),
                pendingReason.isOfNetwork ? .network : nil)
        case .refused(let pendingReason):
            return PurchaseEnding(
                .failed(order.showing(.ongoing, note: pendingReason.sentence), .undelivered(pendingReason)))
        }
    }

    func restoreAll() async -> RestoreResult {
        guard await signIn.userID != nil else { return RestoreResult(failure: .notSignedIn) }
        await retryCoordinator.start()
        // Pending orders of this device are handled like purchases, so they are sent first.
        await retryCoordinator.checkAll()
        return await restore.restore()
    }

    private func summary(of entry: JournalEntry) async -> StoreOrder {
        StoreOrder(await journal[entry.id] ?? entry)
    }
}

extension StoreListing {
    /// Nil if the product exceeds 64 bits.
    fileprivate func price(of quantity: Int) -> Money? {
        let (amount, overflow) = price.amount.multipliedReportingOverflow(by: Int64(quantity))
        return overflow ? nil : Money(amount: amount, currency: price.currency)
    }
}
