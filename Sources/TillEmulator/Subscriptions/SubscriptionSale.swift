import TillAppStore
import TillBilling
import TillStorage

/// A period of a subscription that a customer pays for at the payment sheet: it begins at once.
enum SubscriptionSale {
    /// - Parameter known: what the customer has or had in the group.
    static func charge(
        _ purchase: Purchase, known: StoreSubscription?, _ turn: Turn
    ) throws -> Result<PurchaseResult, StoreRefusal> {
        guard purchase.account.paymentMethodWorks else { return .success(.failed) }
        let offer: StoreSubscription.RunningOffer?
        switch try SubscriptionOffer.choose(purchase, known: known, turn) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let chosen): offer = chosen
        }
        var transaction = try purchase.transaction(price: offer?.price, turn)
        transaction.offer = offer?.offer
        let ownPeriod = purchase.product.subscription.map { OfferPeriod($0.period) }
        guard let period = offer?.period ?? ownPeriod, let groupID = purchase.product.subscription?.groupID else {
            return .failure(.notForSale(product: purchase.product.id.text, storefront: purchase.storefront))
        }
        let pace = try RenewalPace.current(turn.session)
        transaction.subscription = StoreTransaction.Subscription(
            groupID: groupID, expires: pace.end(of: period, from: turn.now, billingDay: turn.now.dayOfMonth),
            lineItem: try Counter.lineItem.take(turn.session))
        if let known {
            transaction.original = known.original
            transaction.firstPurchased =
                try TransactionTable.find(known.original, turn.session)?.firstPurchased ?? turn.now
        }
        switch purchase.request.outcome {
        case .deferred: transaction.state = .deferred
        case .interrupted: transaction.state = .interrupted
        case .purchased, .cancelled, .failed: break
        }
        transaction = try TransactionTable.insert(transaction, turn.session)
        guard transaction.state == .purchased else { return .success(.waiting(transaction)) }
        return .success(
            .purchased(
                try begin(transaction, known: known, offer: offer, period: period, listPrice: purchase.price, turn)))
    }

    /// A purchase that waited for a parent or for the customer is paid now, and its period starts now. Meanwhile the
    /// customer may have come by a subscription in the group: then it goes on as that one.
    static func complete(_ transaction: StoreTransaction, _ turn: Turn) throws -> StoreTransaction {
        guard let waiting = transaction.subscription else { return transaction }
        let known = try SubscriptionTable.own(
            account: transaction.account, bundleID: transaction.bundleID, groupID: waiting.groupID, turn.session)
        let product = try ProductTable.find(transaction.productID, turn.session)
        let listPrice = product?.prices[transaction.storefront] ?? transaction.price
        let chosen = transaction.offer.flatMap { offer in
            product?.offers(offer.kind).first { $0.identifier == offer.identifier }
        }
        let offer = chosen.flatMap {
            SubscriptionOffer.terms(of: $0, storefront: transaction.storefront, listPrice: listPrice)
        }
        let ownPeriod = product?.subscription.map { OfferPeriod($0.period) }
        let period = offer?.period ?? ownPeriod ?? OfferPeriod(1, .month)
        let pace = try RenewalPace.current(turn.session)
        var transaction = transaction
        transaction.state = .purchased
        transaction.purchased = turn.now
        transaction.firstPurchased = turn.now
        transaction.subscription?.expires = pace.end(of: period, from: turn.now, billingDay: turn.now.dayOfMonth)
        if let known {
            try TransactionTable.join(transaction.number, to: known.original, turn.session)
            transaction.original = known.original
            transaction.firstPurchased =
                try TransactionTable.find(known.original, turn.session)?.firstPurchased ?? turn.now
        }
        transaction = try TransactionTable.update(transaction, turn.session)
        return try begin(transaction, known: known, offer: offer, period: period, listPrice: listPrice, turn)
    }

    /// The subscription of what was just paid for, and what tells of it.
    private static func begin(
        _ transaction: StoreTransaction, known: StoreSubscription?, offer: StoreSubscription.RunningOffer?,
        period: OfferPeriod, listPrice: Money, _ turn: Turn
    ) throws -> StoreTransaction {
        let (type, subtype) = notification(known: known, offer: offer)
        if let known, known.isGoingOn { try cutShort(known, by: transaction.number, turn) }
        let expires = transaction.subscription?.expires ?? turn.now
        var subscription = StoreSubscription(
            original: transaction.original, account: transaction.account, bundleID: transaction.bundleID,
            groupID: transaction.subscription?.groupID ?? "", state: .active, productID: transaction.productID,
            current: transaction.number, expires: expires,
            billingDay: period.isCalendar ? turn.now.dayOfMonth : expires.dayOfMonth, renews: true,
            renewalProductID: transaction.productID, renewalPrice: listPrice, recentStart: turn.now,
            eligibleWinBacks: [], appAccountToken: transaction.appAccountToken, renewals: 0,
            extensions: known?.extensions ?? [], billingFails: false, monthlyBilling: false)
        if let offer, offer.charges > 1 {
            subscription.runningOffer = offer
            subscription.runningOffer?.charges -= 1
        }
        subscription.nextCharge = try SubscriptionLife.chargeDate(before: expires, turn)
        subscription.hadIntroductory =
            offer?.offer.kind == .introductory ? turn.now : known?.hadIntroductory
        subscription.shelfPrice = listPrice
        subscription.lastIncrease = known?.lastIncrease
        if let known {
            let gap = try RenewalPace.current(turn.session).retry
            if turn.now <= known.expires.adding(milliseconds: gap) { subscription.recentStart = known.recentStart }
        }
        try SubscriptionLife.keep(subscription, turn)
        try turn.note(type, subtype, about: transaction, subscription)
        try FamilySharing.share(transaction, subscription, turn)
        return transaction
    }

    private static func notification(
        known: StoreSubscription?, offer: StoreSubscription.RunningOffer?
    ) -> (NotificationType, NotificationSubtype) {
        guard let known else { return (.subscribed, .initialBuy) }
        // Who redeems an offer without a subscription that runs subscribes; only subscribers redeem
        // (facts/notifications §4).
        guard known.isServing else { return (.subscribed, .resubscribe) }
        return (offer == nil || offer?.offer.kind == .introductory ? .didChangeRenewalPref : .offerRedeemed, .upgrade)
    }

    /// The periods that the new one cuts short: the newest, and the one before it if the newest was charged early.
    private static func cutShort(_ known: StoreSubscription, by new: Int64, _ turn: Turn) throws {
        let running = try TransactionTable.running(original: known.original, at: turn.now, turn.session)
        for number in running where number != new {
            guard var old = try TransactionTable.find(number, turn.session), old.revocation == nil else { continue }
            old.isUpgraded = true
            try TransactionTable.update(old, turn.session)
        }
    }
}

extension SubscriptionLife {
    /// Completes a purchase of a subscription that waited: charges now and starts the period. `ApprovalDesk` decides
    /// whether it may.
    /// - Returns: the transaction as it is stored then.
    static func complete(_ transaction: StoreTransaction, _ turn: Turn) throws -> StoreTransaction {
        try SubscriptionSale.complete(transaction, turn)
    }
}
