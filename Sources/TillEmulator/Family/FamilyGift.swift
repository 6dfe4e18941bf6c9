import TillBilling
import TillSQL

/// One purchase on its way to one member of the purchaser's family.
struct FamilyGift {
    let transaction: StoreTransaction
    /// The purchaser's, for a period of a subscription.
    let subscription: StoreSubscription?
    let member: StoreAccount
    /// When the member's access begins.
    let start: Instant

    func give(_ turn: Turn) throws {
        if let subscription, let period = transaction.subscription {
            try givePeriod(period, of: subscription, turn)
        } else {
            try giveOnce(turn)
        }
    }

    /// A non-consumable: ONE_TIME_CHARGE, unless the member has this copy or bought the product too.
    private func giveOnce(_ turn: Turn) throws {
        let copies = try SharedPurchaseTable.copies(of: transaction.number, turn.session)
            .filter { $0.account == member.name }
        let isOff = try copies.contains { try SharedPurchaseTable.isOff($0.original, turn.session) }
        let own = try SharedPurchaseTable.owned(
            transaction.productID, by: member.name, bundleID: transaction.bundleID, turn.session)
        guard !isOff, own == nil, copies.allSatisfy({ $0.revocation != nil }) else { return }
        let copy = try TransactionTable.insert(try copy(from: start, turn), turn.session)
        try turn.note(.oneTimeCharge, about: copy)
    }

    /// A period of a subscription: the member's first, the next one, or one after a gap (facts/notifications §4).
    /// Nothing new for who pays for the group already; a copy from before that goes on beside it, as StoreKit has it
    /// (`Product.SubscriptionInfo.status` lists both). Nothing for whom this sharing was ended with either.
    private func givePeriod(
        _ period: StoreTransaction.Subscription, of subscription: StoreSubscription, _ turn: Turn
    ) throws {
        let own = try SubscriptionTable.own(
            account: member.name, bundleID: transaction.bundleID, groupID: period.groupID, turn.session)
        guard period.expires > turn.now else { return }
        let known = try SubscriptionTable.shares(of: transaction.original, turn.session)
            .first { $0.account == member.name }
        if let known, try SharedPurchaseTable.isOff(known.original, turn.session) { return }
        // Until Apple gives up charging, the member has a subscription to go on with.
        if let own, own.isGoingOn, known?.isServed != true { return }
        let before = try known.map { try TransactionTable.find($0.current, turn.session) } ?? nil
        if let before, before.sharedFrom == transaction.number, before.revocation == nil { return }
        let goesOn = known?.isServed ?? false
        // A lower plan comes with a renewal, a higher one is bought at once (facts/business-rules §8.2).
        let isUpgrade = goesOn && transaction.reason == "PURCHASE" && before?.productID != transaction.productID
        var copy = try copy(from: goesOn ? transaction.purchased : start, turn)
        copy.subscription = StoreTransaction.Subscription(
            groupID: period.groupID, expires: period.expires, lineItem: try Counter.lineItem.take(turn.session))
        copy.reason = goesOn && !isUpgrade ? "RENEWAL" : "PURCHASE"
        if let known {
            copy.original = known.original
            copy.firstPurchased = try TransactionTable.find(known.original, turn.session)?.firstPurchased ?? start
        }
        if isUpgrade, let known { try cutShort(known, turn) }
        copy = try TransactionTable.insert(copy, turn.session)
        let share = share(copy, of: subscription, since: goesOn ? known?.recentStart : nil)
        try SubscriptionTable.save(share, turn.session)
        switch (known, goesOn) {
        case (nil, _): try turn.note(.subscribed, .initialBuy, about: copy, share)
        case (_, false): try turn.note(.subscribed, .resubscribe, about: copy, share)
        case (_, true) where isUpgrade: try turn.note(.didChangeRenewalPref, .upgrade, about: copy, share)
        case (_, true):
            // After a charge that had failed there is a gap, for the members as for who pays.
            let recovers = before?.subscription.map { $0.expires < copy.purchased } ?? false
            try turn.note(.didRenew, recovers ? .billingRecovery : nil, about: copy, share)
        }
    }

    /// The member's periods that an upgrade cuts short, as it does the purchaser's: two, if one was renewed early.
    private func cutShort(_ known: StoreSubscription, _ turn: Turn) throws {
        let running = try TransactionTable.running(
            original: known.original, at: turn.now, isShared: true, turn.session)
        for number in running {
            guard var old = try TransactionTable.find(number, turn.session), old.revocation == nil else { continue }
            old.isUpgraded = true
            try TransactionTable.update(old, turn.session)
        }
    }

    /// The member's own transaction, not stored yet. It costs nothing: the purchaser paid.
    private func copy(from start: Instant, _ turn: Turn) throws -> StoreTransaction {
        let number = try Counter.transaction.take(turn.session)
        let download = try DownloadTable.download(
            account: member.name, bundleID: transaction.bundleID, at: turn.now, turn.session)
        var copy = transaction
        copy.price = Money(amount: 0, currency: transaction.price.currency)
        copy.number = number
        copy.original = number
        copy.isFinished = false
        copy.account = member.name
        copy.appAccountToken = nil
        copy.appTransaction = download.appTransaction
        copy.reason = "PURCHASE"
        copy.purchased = start
        copy.firstPurchased = start
        copy.subscription = nil
        copy.offer = nil
        copy.isUpgraded = false
        copy.commitment = nil
        copy.isBilledUpFront = false
        copy.sharedFrom = transaction.number
        return copy
    }

    /// The member's subscription as it is with this period. It renews when the purchaser's does, and costs nothing.
    private func share(
        _ copy: StoreTransaction, of subscription: StoreSubscription, since: Instant?
    ) -> StoreSubscription {
        var share = subscription
        share.original = copy.original
        share.account = member.name
        share.state = .active
        share.productID = copy.productID
        share.current = copy.number
        share.expires = copy.subscription?.expires ?? subscription.expires
        share.renewalPrice = copy.price
        share.runningOffer = nil
        share.priceIncrease = nil
        share.graceExpires = nil
        share.retryUntil = nil
        share.expirationIntent = nil
        share.recentStart = since ?? copy.purchased
        share.eligibleWinBacks = []
        share.appAccountToken = nil
        share.extensions = []
        share.billingFails = false
        share.sharedFrom = subscription.original
        share.renews = subscription.renewsNext
        share.renewalProductID = subscription.nextProductID
        share.monthlyBilling = false
        share.commitment = nil
        return share
    }
}
