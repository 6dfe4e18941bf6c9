import TillBilling
import TillSQL

/// One purchase shared with one member of the purchaser's family.
struct SharedPurchase {
    let transaction: StoreTransaction
    /// The purchaser's subscription, if a period is shared.
    let subscription: StoreSubscription?
    let member: StoreAccount
    /// The start of the member's access.
    let start: Instant

    func share(_ change: StoreChange) throws {
        if let subscription, let period = transaction.subscription {
            try sharePeriod(period, of: subscription, change)
        } else {
            try shareOnce(change)
        }
    }

    /// Shares a non-consumable, with the notification ONE_TIME_CHARGE, unless the member has this copy or bought the
    /// product.
    private func shareOnce(_ change: StoreChange) throws {
        let copies = try SharedPurchaseTable.copies(of: transaction.number, change.connection)
            .filter { $0.account == member.name }
        let isOff = try copies.contains { try SharedPurchaseTable.isOff($0.original, change.connection) }
        let own = try SharedPurchaseTable.owned(
            transaction.productID, by: member.name, bundleID: transaction.bundleID, change.connection)
        guard !isOff, own == nil, copies.allSatisfy({ $0.revocation != nil }) else { return }
        let copy = try TransactionTable.insert(try copy(from: start, change), change.connection)
        try change.note(.oneTimeCharge, about: copy)
    }

    /// Shares a subscription's period: the member's first, the next, or one after a gap (facts/notifications §4). A
    /// member who pays for the group gets no new copy; an existing copy continues beside the member's own subscription
    /// (StoreKit's `Product.SubscriptionInfo.status` lists both). A member whose sharing was ended gets none either.
    private func sharePeriod(
        _ period: StoreTransaction.Subscription, of subscription: StoreSubscription, _ change: StoreChange
    ) throws {
        let own = try SubscriptionTable.own(
            account: member.name, bundleID: transaction.bundleID, groupID: period.groupID, change.connection)
        guard period.expires > change.now else { return }
        let known = try SubscriptionTable.shares(of: transaction.original, change.connection)
            .first { $0.account == member.name }
        if let known, try SharedPurchaseTable.isOff(known.original, change.connection) { return }
        // A subscription in billing retry still counts as the member's own.
        if let own, own.isGoingOn, known?.isServed != true { return }
        let before = try known.map { try TransactionTable.find($0.current, change.connection) } ?? nil
        if let before, before.sharedFrom == transaction.number, before.revocation == nil { return }
        let isContinued = known?.isServed ?? false
        // A lower plan starts at a renewal, a higher one is bought at once (facts/business-rules §8.2).
        let isUpgrade = isContinued && transaction.reason == "PURCHASE" && before?.productID != transaction.productID
        var copy = try copy(from: isContinued ? transaction.purchased : start, change)
        copy.subscription = StoreTransaction.Subscription(
            groupID: period.groupID, expires: period.expires, lineItem: try Counter.lineItem.take(change.connection))
        copy.reason = isContinued && !isUpgrade ? "RENEWAL" : "PURCHASE"
        if let known {
            copy.original = known.original
            copy.firstPurchased = try TransactionTable.find(known.original, change.connection)?.firstPurchased ?? start
        }
        if isUpgrade, let known { try cutShort(known, change) }
        copy = try TransactionTable.insert(copy, change.connection)
        let share = share(copy, of: subscription, since: isContinued ? known?.recentStart : nil)
        try SubscriptionTable.save(share, change.connection)
        switch (known, isContinued) {
        case (nil, _): try change.note(.subscribed, .initialBuy, about: copy, share)
        case (_, false): try change.note(.subscribed, .resubscribe, about: copy, share)
        case (_, true) where isUpgrade: try change.note(.didChangeRenewalPref, .upgrade, about: copy, share)
        case (_, true):
            // A recovered charge leaves a gap before it, for the members as for the purchaser.
            let recovers = before?.subscription.map { $0.expires < copy.purchased } ?? false
            try change.note(.didRenew, recovers ? .billingRecovery : nil, about: copy, share)
        }
    }

    /// Ends the member's periods at an upgrade, as for the purchaser: two periods, if one was renewed early.
    private func cutShort(_ known: StoreSubscription, _ change: StoreChange) throws {
        let running = try TransactionTable.running(
            original: known.original, at: change.now, isShared: true, change.connection)
        for number in running {
            guard var old = try TransactionTable.find(number, change.connection), old.revocation == nil else {
                continue
            }
            old.isUpgraded = true
            try TransactionTable.update(old, change.connection)
        }
    }

    /// The member's own transaction, not stored yet. Its price is zero, because the purchaser paid.
    private func copy(from start: Instant, _ change: StoreChange) throws -> StoreTransaction {
        let number = try Counter.transaction.take(change.connection)
        let download = try DownloadTable.download(
            account: member.name, bundleID: transaction.bundleID, at: change.now, change.connection)
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

    /// The member's subscription with this period. It renews with the purchaser's and costs nothing.
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

extension StoreSchema {
    /// Purchases whose owner stopped sharing them, and copies taken from one member, by original transaction.
    static let familySharing: StaticString = """
        CREATE TABLE family_sharing_off (
            original INTEGER PRIMARY KEY
        ) STRICT;
        """
}

/// Shared purchases. The queries name their index because a customer may have very many consumables, which are never
/// shared.
enum SharedPurchaseTable {
    /// The copies of this purchase, ended ones included, oldest first.
    static func copies(of number: Int64, _ connection: any Connection) throws -> [StoreTransaction] {
        try transactions(
            try connection.query(
                "SELECT number FROM transactions WHERE shared_from = ? ORDER BY number", [.integer(number)]
            ) { $0.integer("number") }, connection)
    }

    /// The copies that an account uses now: of non-consumables, and the current one of each subscription.
    static func living(of account: String, _ connection: any Connection) throws -> [StoreTransaction] {
        try transactions(
            try connection.query(
                """
                SELECT number FROM transactions INDEXED BY transactions_of_product
                WHERE account = ? AND shared_from IS NOT NULL AND group_id IS NULL AND revoked_at IS NULL
                    AND state = 'purchased' AND kind <> 'Consumable'
                """, [.text(account)]
            ) { $0.integer("number") }, connection)
            + transactions(
                try subscriptions(
                    connection.query(
                        """
                        SELECT content FROM subscriptions
                        WHERE account = ? AND shared_from IS NOT NULL AND state IN ('active', 'gracePeriod')
                        """, [.text(account)], { $0.text("content") })
                ).map(\.current), connection)
    }

    /// An account's own purchases that a family could use now: non-consumables, and the current period of each
    /// subscription. Whether the product is shareable is not checked here.
    static func shareable(by account: String, _ connection: any Connection) throws -> [StoreTransaction] {
        try transactions(
            try connection.query(
                """
                SELECT number FROM transactions INDEXED BY transactions_of_product
                WHERE account = ? AND kind = 'Non-Consumable' AND shared_from IS NULL AND revoked_at IS NULL
                    AND state = 'purchased' AND kind <> 'Consumable'
                """, [.text(account)]
            ) { $0.integer("number") }, connection)
            + transactions(
                try subscriptions(
                    connection.query(
                        """
                        SELECT content FROM subscriptions
                        WHERE account = ? AND shared_from IS NULL AND state IN ('active', 'gracePeriod')
                        """, [.text(account)], { $0.text("content") })
                ).map(\.current), connection)
    }

    /// The account's valid purchase of a non-consumable. With `shared`, a family's copy counts too.
    static func owned(
        _ product: ProductID, by account: String, bundleID: String, shared: Bool = false, _ connection: any Connection
    ) throws -> StoreTransaction? {
        let number = try connection.first(
            """
            SELECT number FROM transactions
            WHERE account = ? AND bundle_id = ? AND product_id = ? AND state = 'purchased' AND kind <> 'Consumable'
                AND kind = 'Non-Consumable' AND revoked_at IS NULL AND (shared_from IS NULL OR ?)
            ORDER BY shared_from IS NOT NULL, number DESC LIMIT 1
            """, [.text(account), .text(bundleID), .text(product.text), .flag(shared)]
        ) { $0.integer("number") }
        guard let number else { return nil }
        return try TransactionTable.find(number, connection)
    }

    static func turnOff(_ original: Int64, _ connection: any Connection) throws {
        try connection.execute(
            "INSERT INTO family_sharing_off (original) VALUES (?) ON CONFLICT DO NOTHING", [.integer(original)])
    }

    static func isOff(_ original: Int64, _ connection: any Connection) throws -> Bool {
        try connection.first("SELECT 1 FROM family_sharing_off WHERE original = ?", [.integer(original)]) { _ in true }
            ?? false
    }

    private static func transactions(_ numbers: [Int64], _ connection: any Connection) throws -> [StoreTransaction] {
        try numbers.compactMap { try TransactionTable.find($0, connection) }
    }

    private static func subscriptions(_ documents: [String]) throws -> [StoreSubscription] {
        try documents.map { try StoredDocument.read(StoreSubscription.self, from: $0) }
    }
}
