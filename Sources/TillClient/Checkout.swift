import TillAPI
import TillBilling

/// Runs one purchase from the tap to its outcome, with at most one purchase of a product at a time.
actor Checkout {
    private let access: StoreAccess
    private let catalogue: Catalogue
    private let journal: OrderJournal
    private let purchase: Purchase
    private let submit: Submit
    private let upkeep: Upkeep
    private let retry: Retry
    private let restore: Restore
    private let signIn: SignIn
    /// Products with a purchase in progress.
    private(set) var underWay: Set<ProductID> = []

    init(_ rooms: Rooms, upkeep: Upkeep) {
        access = rooms.access
        catalogue = rooms.catalogue
        journal = rooms.journal
        purchase = rooms.purchase
        submit = rooms.submit
        retry = rooms.retry
        restore = Restore(rooms)
        signIn = rooms.signIn
        self.upkeep = upkeep
    }

    /// - Parameter preview: the preview of a plan that the buyer was shown.
    func buy(
        _ product: ProductID, quantity: Int, as preview: OpenOrderBody.Preview? = nil, by user: UserID? = nil
    ) async -> PurchaseEnding {
        guard underWay.insert(product).inserted else { return PurchaseEnding(.inProgress) }
        let ending = await goThrough(product, quantity: quantity, as: preview, by: user)
        underWay.remove(product)
        return ending
    }

    private func goThrough(
        _ product: ProductID, quantity: Int, as preview: OpenOrderBody.Preview?, by user: UserID?
    ) async -> PurchaseEnding {
        guard (1...10).contains(quantity) else { return PurchaseEnding(.failed(nil, .badQuantity)) }
        guard await access.canMakePayments() else {
            return PurchaseEnding(.failed(nil, .paymentsNotAllowed), .notAllowed)
        }
        guard let buyer = await signIn.userID, user == nil || user == buyer else {
            return PurchaseEnding(.failed(nil, .notSignedIn))
        }
        let listing: StoreListing
        do throws(StoreError) { listing = try await catalogue.listing(of: product) } catch {
            return PurchaseEnding(.failed(nil, error), .productsUnavailable)
        }
        // Without the observer, a payment requested now would be reported at the next launch only.
        await upkeep.start()
        await submitUnfinished(before: product)
        let entry: JournalEntry
        do throws(PurchaseFault) {
            entry = try await purchase.prepare(
                product, price: listing.price(of: quantity), quantity: quantity, as: preview)
        } catch {
            return await notBegun(error)
        }
        return await pay(entry)
    }

    /// An unfinished paid transaction is submitted before the next payment is requested, and never cleared. Whatever
    /// the outcome, the purchase continues. Another purchase under way submits its own transaction, under its order.
    private func submitUnfinished(before product: ProductID) async {
        guard let shown = try? await access.unfinished() else { return }
        let left = shown.filter { $0.productID == product || !underWay.contains($0.productID) }
        for outcome in await retry.sendUnfinished(left) { await upkeep.hear(outcome) }
    }

    /// Closes an order for which nothing was requested from the store.
    private func notBegun(_ fault: PurchaseFault) async -> PurchaseEnding {
        switch fault {
        case .cannotOpen(let id, let serverFault):
            await purchase.abandon(id, because: serverFault.code)
            return PurchaseEnding(.failed(await journal.summary(of: id), StoreError(fault)))
        case .refused(let id, _):
            return PurchaseEnding(.failed(await journal.summary(of: id), StoreError(fault)))
        case .notSignedIn, .badQuantity, .journal: return PurchaseEnding(.failed(nil, StoreError(fault)))
        }
    }

    private func pay(_ entry: JournalEntry) async -> PurchaseEnding {
        let wish = StoreWish(order: entry.id, productID: entry.productID, quantity: entry.quantity)
        switch await access.purchase(wish) {
        case .paid(let transaction):
            let outcome = await submit(transaction, paying: entry.id)
            await upkeep.hear(outcome)
            return await ending(of: outcome, for: entry)
        case .deferred:
            // If the journal cannot be written, the order stays prepared, and is completed from that status.
            try? await purchase.deferred(entry.id)
            return PurchaseEnding(.deferred(await summary(of: entry)))
        case .cancelled:
            try? await purchase.cancelled(entry.id, reason: StoreProblem.cancelled.code)
            return PurchaseEnding(.cancelled(await summary(of: entry)))
        case .failed(let problem):
            try? await purchase.failed(entry.id, reason: problem.code)
            // The store may still report the payment later.
            await upkeep.lookSoon()
            return PurchaseEnding(.failed(await summary(of: entry), .store(problem)))
        }
    }

    /// Sends one order's proof again at the buyer's request. Any signed-in user may send it, even if another user
    /// paid.
    func resubmit(_ id: OrderID) async -> PurchaseOutcome {
        guard let entry = await journal[id] else { return .failed(nil, .unknownOrder) }
        let order = OrderSummary(entry)
        switch entry.status {
        case .completed: return .completed(order)
        case .deferred: return .deferred(order)
        case .cancelled: return .cancelled(order)
        case .ongoing:
            guard let outcome = await retry.resubmit(id) else { return .willArrive(order, nil) }
            await upkeep.hear(outcome)
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
        case .willArrive(let trouble, _):
            return PurchaseEnding(
                .willArrive(order.showing(.ongoing, note: trouble.sentence), .undelivered(trouble)),
                trouble.isOfNetwork ? .network : nil)
        case .refused(let trouble):
            return PurchaseEnding(
                .failed(order.showing(.ongoing, note: trouble.sentence), .undelivered(trouble)))
        }
    }

    func restoreAll() async -> RestoreOutcome {
        guard await signIn.userID != nil else { return RestoreOutcome(error: .notSignedIn) }
        await upkeep.start()
        // Pending orders of this device are handled like purchases, so they are sent first.
        await upkeep.checkAll()
        return await restore()
    }

    private func summary(of entry: JournalEntry) async -> OrderSummary {
        OrderSummary(await journal[entry.id] ?? entry)
    }
}

extension StoreListing {
    /// Nil if the product exceeds 64 bits.
    fileprivate func price(of quantity: Int) -> Money? {
        let (amount, overflow) = price.amount.multipliedReportingOverflow(by: Int64(quantity))
        return overflow ? nil : Money(amount: amount, currency: price.currency)
    }
}
