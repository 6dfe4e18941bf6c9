import TillAppStore
import TillBilling
import TillSQL

/// Shares purchases among the members of a family (facts/business-rules §1, `isFamilyShareable`).
///
/// A member's copy is a transaction with its own ids. Its price is zero in the purchaser's currency and storefront;
/// Apple does not document `price` there. It has no `appAccountToken`, which belongs to the purchaser. Each member's
/// purchase gives a copy of its own, so a product bought by two members remains shared when one of them leaves.
enum FamilySharing {
    /// Shares a paid or renewed product with the members: a copy, or the next period of it. A member who has it gets
    /// nothing twice, so repeated calls are safe.
    static func share(_ transaction: StoreTransaction, _ subscription: StoreSubscription?, _ storeChange: StoreChange)
        throws
    {
        try share(transaction, subscription, with: nil, from: storeChange.now, storeChange)
    }

    /// Ends the members' copies after a refund, an expiry or a departure from the family. After an expired period the
    /// member's subscription expires like the purchaser's, without a revocation.
    static func revoke(_ transaction: StoreTransaction, _ storeChange: StoreChange) throws {
        for copy in try SharedPurchaseTable.copies(of: transaction.number, storeChange.connection)
        where copy.revocation == nil {
            if transaction.revocation == nil, let expires = copy.subscription?.expires, expires <= storeChange.now {
                try expire(
                    copy, as: try SubscriptionTable.find(transaction.original, storeChange.connection), storeChange)
            } else {
                try end(copy, storeChange)
            }
        }
    }

    /// Shares all shareable purchases of this account with the family, or with one member.
    static func shareEverything(of account: StoreAccount, with member: String? = nil, _ storeChange: StoreChange) throws
    {
        for transaction in try SharedPurchaseTable.shareable(by: account.name, storeChange.connection) {
            let subscription =
                transaction.subscription == nil
                ? nil : try SubscriptionTable.find(transaction.original, storeChange.connection)
            try share(transaction, subscription, with: member, from: storeChange.now, storeChange)
        }
    }

    /// Copies changes of the purchaser's subscription that start no period, such as renewal status, grace period and
    /// next plan, to the members' subscriptions. Apple notifies only about the purchaser's.
    static func mirror(_ subscription: StoreSubscription, _ storeChange: StoreChange) throws {
        for var share in try SubscriptionTable.shares(of: subscription.original, storeChange.connection)
        where share.state == .active || share.state == .gracePeriod {
            share.renews = subscription.renewsNext
            share.renewalProductID = subscription.nextProductID
            share.graceExpires = subscription.graceExpires
            if subscription.state == .active || subscription.state == .gracePeriod { share.state = subscription.state }
            try SubscriptionTable.save(share, storeChange.connection)
        }
    }

    /// Shares the family's purchases again with a member who lost one by a refund or at its end.
    static func fallBack(_ name: String, _ storeChange: StoreChange) throws {
        guard let family = try AccountTable.find(name, storeChange.connection)?.family else { return }
        for member in try AccountTable.family(family, storeChange.connection) where member.name != name {
            try shareEverything(of: member, with: name, storeChange)
        }
    }

    /// Ends access to this copy, with the notification REVOKE.
    /// - Returns: the updated copy.
    @discardableResult
    static func end(_ copy: StoreTransaction, _ storeChange: StoreChange) throws -> StoreTransaction {
        guard copy.revocation == nil else { return copy }
        var copy = copy
        copy.revocation = StoreTransaction.Revocation(
            date: storeChange.now, reason: 0, type: "FAMILY_REVOKE", percentage: nil)
        copy = try TransactionTable.update(copy, storeChange.connection)
        var subscription: StoreSubscription?
        if copy.subscription != nil, var found = try SubscriptionTable.find(copy.original, storeChange.connection) {
            if found.current == copy.number {
                found.state = .revoked
                found.renews = false
                try SubscriptionTable.save(found, storeChange.connection)
            }
            subscription = found
        }
        try storeChange.note(.revoke, about: copy, subscription)
        return copy
    }

    /// The account that paid for it.
    static func sharer(of copy: StoreTransaction, _ connection: any Connection) throws -> String? {
        guard let number = copy.sharedFrom else { return nil }
        return try TransactionTable.find(number, connection)?.account
    }

    private static func share(
        _ transaction: StoreTransaction, _ subscription: StoreSubscription?, with only: String?, from start: Instant,
        _ storeChange: StoreChange
    ) throws {
        guard transaction.state == .purchased, transaction.revocation == nil, transaction.sharedFrom == nil,
            let family = try AccountTable.find(transaction.account, storeChange.connection)?.family
        else { return }
        let isShareable =
            try ProductTable.find(transaction.productID, storeChange.connection)?.isFamilyShareable ?? false
        guard isShareable, try !SharedPurchaseTable.isOff(transaction.original, storeChange.connection) else {
            // A change of plan may lead to a product that is not shareable.
            for share in try SubscriptionTable.shares(of: transaction.original, storeChange.connection)
            where share.isServed {
                if let copy = try TransactionTable.find(share.current, storeChange.connection) {
                    try end(copy, storeChange)
                }
            }
            return
        }
        for member in try AccountTable.family(family, storeChange.connection)
        where member.name != transaction.account && member.name == only ?? member.name && !member.isDeleted {
            let sharedPurchase = SharedPurchase(
                transaction: transaction, subscription: subscription, member: member, start: start)
            try sharedPurchase.share(storeChange)
        }
    }

    /// Expires the member's subscription with the purchaser's, with the notification EXPIRED and the purchaser's
    /// reason.
    private static func expire(
        _ copy: StoreTransaction, as purchaser: StoreSubscription?, _ storeChange: StoreChange
    ) throws {
        guard var share = try SubscriptionTable.find(copy.original, storeChange.connection),
            share.current == copy.number,
            share.isServed
        else { return }
        share.state = .expired
        share.renews = false
        share.expirationIntent = purchaser?.expirationIntent
        share.graceExpires = nil
        try SubscriptionTable.save(share, storeChange.connection)
        let reason: NotificationSubtype? =
            switch share.expirationIntent {
            case 1: .voluntary
            case 2: .billingRetry
            case 3: .priceIncrease
            case 4: .productNotForSale
            default: nil
            }
        try storeChange.note(.expired, reason, about: copy, share)
    }
}

extension StoreSubscription {
    /// Whether its customer has the service now.
    var isServed: Bool { state == .active || state == .gracePeriod }
}

/// The members of a family: an organizer and up to five others (facts/limits §2).
enum FamilyMembership {
    static let limit = 6

    /// Why an account can't join; nil if it can.
    static func refusal(
        of account: StoreAccount, joining organizer: String, _ change: AccountChange, _ storeChange: StoreChange
    ) throws -> StoreRefusal? {
        if change.isDeleted ?? account.isDeleted { return .accountDeleted(account.name) }
        if account.family != nil { return .inAnotherFamily(account.name) }
        guard organizer != account.name else { return nil }
        guard let host = try AccountTable.find(organizer, storeChange.connection) else {
            return .unknownAccount(organizer)
        }
        if host.isDeleted { return .accountDeleted(organizer) }
        guard host.family == nil || host.family == organizer else { return .inAnotherFamily(organizer) }
        return try AccountTable.family(organizer, storeChange.connection).count < limit ? nil : .familyFull(organizer)
    }

    /// Adds an account to a family; the new member's purchases are shared with the others and theirs with the new
    /// member.
    static func join(_ account: StoreAccount, organizer: String, _ storeChange: StoreChange) throws -> StoreAccount {
        if organizer != account.name, var host = try AccountTable.find(organizer, storeChange.connection),
            host.family == nil
        {
            host.family = organizer
            try AccountTable.update(host, storeChange.connection)
        }
        var account = account
        account.family = organizer
        try AccountTable.update(account, storeChange.connection)
        for member in try AccountTable.family(organizer, storeChange.connection) where member.name != account.name {
            try FamilySharing.shareEverything(of: member, with: account.name, storeChange)
        }
        try FamilySharing.shareEverything(of: account, storeChange)
        return account
    }

    /// Removes an account from its family. When the organizer leaves, all members do.
    static func leave(_ account: StoreAccount, _ storeChange: StoreChange) throws -> StoreAccount {
        guard let organizer = account.family else { return account }
        let members = try AccountTable.family(organizer, storeChange.connection)
        for member in members {
            for copy in try SharedPurchaseTable.living(of: member.name, storeChange.connection) {
                let sharer = try FamilySharing.sharer(of: copy, storeChange.connection)
                if organizer == account.name || member.name == account.name || sharer == account.name {
                    try FamilySharing.end(copy, storeChange)
                }
            }
        }
        for var member in members where organizer == account.name || member.name == account.name {
            member.family = nil
            try AccountTable.update(member, storeChange.connection)
        }
        var account = account
        account.family = nil
        return account
    }
}
