import TillAppStore
import TillBilling
import TillSQL

/// A subscription period that is paid at the payment sheet and starts at once.
enum SubscriptionSale {
    /// - Parameter known: the customer's current or former subscription in the group.
    static func charge(
        _ purchase: Purchase, known: StoreSubscription?, _ change: StoreChange
    ) throws -> Result<PurchaseResult, StoreRefusal> {
        let offer: StoreSubscription.RunningOffer?
        switch try SubscriptionOffer.choose(purchase, known: known, change) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let chosen): offer = chosen
        }
        var transaction = try purchase.transaction(price: offer?.price, change)
        transaction.offer = offer?.offer
        let ownPeriod = purchase.product.subscription.map { OfferPeriod($0.period) }
        let byTheMonth = purchase.request.monthlyBilling
        guard let period = byTheMonth ? Commitment.period : offer?.period ?? ownPeriod,
            let groupID = purchase.product.subscription?.groupID
        else {
            return .failure(.notForSale(product: purchase.product.id.text, storefront: purchase.storefront))
        }
        let pace = try RenewalPace.current(change.connection)
        transaction.subscription = StoreTransaction.Subscription(
            groupID: groupID, expires: pace.end(of: period, from: change.now, billingDay: change.now.dayOfMonth),
            lineItem: try Counter.lineItem.take(change.connection))
        if byTheMonth {
            transaction.commitment = Commitment.begin(
                monthly: purchase.price, at: change.now, billingDay: change.now.dayOfMonth, pace)
        }
        transaction.isBilledUpFront = !byTheMonth && purchase.product.subscription?.hasBothPlans == true
        if let known {
            transaction.original = known.original
            transaction.firstPurchased =
                try TransactionTable.find(known.original, change.connection)?.firstPurchased ?? change.now
        }
        switch purchase.outcome {
        case .deferred: transaction.state = .deferred
        case .interrupted: transaction.state = .interrupted
        case .purchased, .cancelled, .failed: break
        }
        transaction = try TransactionTable.insert(transaction, change.connection)
        guard transaction.state == .purchased else { return .success(.waiting(transaction)) }
        return .success(
            .purchased(
                try begin(transaction, known: known, offer: offer, period: period, listPrice: purchase.price, change)))
    }

    /// Completes a purchase that waited for approval or for the customer: it is paid now, and its period starts now. If
    /// the customer subscribed in the group in the meantime, that subscription continues with it.
    static func complete(_ transaction: StoreTransaction, _ change: StoreChange) throws -> StoreTransaction {
        guard let waiting = transaction.subscription else { return transaction }
        let known = try SubscriptionTable.own(
            account: transaction.account, bundleID: transaction.bundleID, groupID: waiting.groupID, change.connection)
        let product = try ProductTable.find(transaction.productID, change.connection)
        let byTheMonth = transaction.commitment != nil
        let listPrice =
            product?.chargePrice(in: transaction.storefront, byTheMonth: byTheMonth) ?? transaction.price
        let offer = offer(of: transaction, product, known: known, listPrice: listPrice)
        let ownPeriod = product?.subscription.map { OfferPeriod($0.period) }
        let period = byTheMonth ? Commitment.period : offer?.period ?? ownPeriod ?? Commitment.period
        let pace = try RenewalPace.current(change.connection)
        var transaction = transaction
        // A customer who used the introductory offer in the meantime pays the list price.
        if transaction.offer != nil, offer == nil {
            transaction.offer = nil
            transaction.price = listPrice
        }
        transaction.state = .purchased
        transaction.purchased = change.now
        transaction.firstPurchased = change.now
        transaction.subscription?.expires = pace.end(of: period, from: change.now, billingDay: change.now.dayOfMonth)
        if let asked = transaction.commitment {
            transaction.commitment = Commitment.begin(
                monthly: asked.monthlyPrice, at: change.now, billingDay: change.now.dayOfMonth, pace)
        }
        if let known {
            transaction.original = known.original
            transaction.firstPurchased =
                try TransactionTable.find(known.original, change.connection)?.firstPurchased ?? change.now
        }
        try TransactionTable.join(transaction, change.connection)
        transaction = try TransactionTable.update(transaction, change.connection)
        return try begin(transaction, known: known, offer: offer, period: period, listPrice: listPrice, change)
    }

    /// The offer of the waiting purchase. An introductory offer is dropped if the customer has subscribed or used one
    /// since the request, because it is available once.
    private static func offer(
        of transaction: StoreTransaction, _ product: StoreProduct?, known: StoreSubscription?, listPrice: Money
    ) -> StoreSubscription.RunningOffer? {
        guard let asked = transaction.offer,
            let chosen = product?.offers(asked.kind).first(where: { $0.identifier == asked.identifier })
        else { return nil }
        if asked.kind == .introductory, let known {
            if let had = known.hadIntroductory, had >= transaction.purchased { return nil }
            if known.isGoingOn, known.recentStart >= transaction.purchased { return nil }
        }
        return SubscriptionOffer.terms(of: chosen, storefront: transaction.storefront, listPrice: listPrice)
    }

    /// Why a waiting purchase can't be paid any more; nil if it can. After a subscription in the meantime it must not
    /// charge twice for one plan, nor let a lower plan cut a higher one short.
    static func refusal(of transaction: StoreTransaction, _ change: StoreChange) throws -> StoreRefusal? {
        guard let waiting = transaction.subscription,
            let known = try SubscriptionTable.own(
                account: transaction.account, bundleID: transaction.bundleID, groupID: waiting.groupID,
                change.connection),
            known.isServing
        else { return nil }
        let old = try ProductTable.find(known.productID, change.connection)?.subscription
        let new = try ProductTable.find(transaction.productID, change.connection)?.subscription
        guard let old, let new else { return nil }
        let isLater = PlanChange(from: old, to: new) == .atRenewal
        return known.productID == transaction.productID || isLater
            ? .subscribedMeanwhile(product: known.productID.text) : nil
    }

    /// Starts the subscription of a paid transaction and records its notification.
    private static func begin(
        _ transaction: StoreTransaction, known: StoreSubscription?, offer: StoreSubscription.RunningOffer?,
        period: OfferPeriod, listPrice: Money, _ change: StoreChange
    ) throws -> StoreTransaction {
        let (type, subtype) = notification(known: known, offer: offer)
        if let known, known.isGoingOn { try cutShort(known, by: transaction.number, change) }
        let expires = transaction.subscription?.expires ?? change.now
        var subscription = StoreSubscription(
            original: transaction.original, account: transaction.account, bundleID: transaction.bundleID,
            groupID: transaction.subscription?.groupID ?? "", state: .active, productID: transaction.productID,
            current: transaction.number, expires: expires,
            billingDay: period.isCalendar ? change.now.dayOfMonth : expires.dayOfMonth, renews: true,
            renewalProductID: transaction.productID, renewalPrice: listPrice, recentStart: change.now,
            eligibleWinBacks: [], appAccountToken: transaction.appAccountToken, renewals: 0,
            extensions: known?.extensions ?? [], billingFails: false,
            monthlyBilling: transaction.commitment != nil)
        subscription.commitment = transaction.commitment
        if let offer, offer.charges > 1 {
            subscription.runningOffer = offer
            subscription.runningOffer?.charges -= 1
        }
        subscription.nextCharge = try SubscriptionLifecycle.chargeDate(before: expires, change)
        subscription.hadIntroductory =
            offer?.offer.kind == .introductory ? change.now : known?.hadIntroductory
        subscription.catalogPrice = listPrice
        subscription.lastIncrease = known?.lastIncrease
        if let known {
            let gap = try RenewalPace.current(change.connection).retry
            if change.now <= known.expires.adding(milliseconds: gap) { subscription.recentStart = known.recentStart }
        }
        try SubscriptionLifecycle.save(subscription, change)
        try change.note(type, subtype, about: transaction, subscription)
        try FamilySharing.share(transaction, subscription, change)
        return transaction
    }

    private static func notification(
        known: StoreSubscription?, offer: StoreSubscription.RunningOffer?
    ) -> (NotificationType, NotificationSubtype) {
        guard let known else { return (.subscribed, .initialBuy) }
        // A customer without a running subscription subscribes with an offer; OFFER_REDEEMED is for active subscribers
        // (facts/notifications §4).
        guard known.isServing else { return (.subscribed, .resubscribe) }
        return (offer == nil || offer?.offer.kind == .introductory ? .didChangeRenewalPref : .offerRedeemed, .upgrade)
    }

    /// Ends the periods that the new one replaces: the newest, and the one before it if the newest was charged early.
    private static func cutShort(_ known: StoreSubscription, by new: Int64, _ change: StoreChange) throws {
        let running = try TransactionTable.running(original: known.original, at: change.now, change.connection)
        for number in running where number != new {
            guard var old = try TransactionTable.find(number, change.connection), old.revocation == nil else {
                continue
            }
            old.isUpgraded = true
            try TransactionTable.update(old, change.connection)
        }
    }
}

extension SubscriptionLifecycle {
    /// Completes a subscription purchase that waited: charges now and starts the period. `PurchaseApprovals` checks
    /// whether it may.
    /// - Returns: the stored transaction.
    static func complete(_ transaction: StoreTransaction, _ change: StoreChange) throws -> StoreTransaction {
        try SubscriptionSale.complete(transaction, change)
    }
}
