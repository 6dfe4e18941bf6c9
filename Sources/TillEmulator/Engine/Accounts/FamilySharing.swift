import TillAppStore
import TillBilling
import TillSQL

/// What one member of a family buys, and the others get (facts/business-rules §1, `isFamilyShareable`).
///
/// A member's copy is a transaction of the member's own, with ids of its own. Nobody charged the member, so it costs
/// nothing, in the purchaser's currency and storefront; Apple does not say what `price` holds there. It has no
/// `appAccountToken`: that belongs to the purchaser's customer. Each purchaser's purchase gives one copy, so that what
/// two of a family bought is still there when one of them leaves.
enum FamilySharing {
    /// A shareable product was paid for, or renewed: the members get their copies, or the next period of them. Who has
    /// it already gets nothing twice, so this may be called as often as one likes.
    static func share(_ transaction: StoreTransaction, _ subscription: StoreSubscription?, _ turn: Turn) throws {
        try share(transaction, subscription, with: nil, from: turn.now, turn)
    }

    /// What was paid is gone, by refund or expiry or because somebody left: the members' copies go too. A period that
    /// ran out is no revocation: the member's subscription expires as the purchaser's did.
    static func revoke(_ transaction: StoreTransaction, _ turn: Turn) throws {
        for copy in try SharedPurchaseTable.copies(of: transaction.number, turn.session) where copy.revocation == nil {
            if transaction.revocation == nil, let expires = copy.subscription?.expires, expires <= turn.now {
                try expire(copy, as: try SubscriptionTable.find(transaction.original, turn.session), turn)
            } else {
                try end(copy, turn)
            }
        }
    }

    /// Everything that this account bought and that its family may use goes to the others, or to one of them.
    static func shareEverything(of account: StoreAccount, with member: String? = nil, _ turn: Turn) throws {
        for transaction in try SharedPurchaseTable.shareable(by: account.name, turn.session) {
            let subscription =
                transaction.subscription == nil
                ? nil : try SubscriptionTable.find(transaction.original, turn.session)
            try share(transaction, subscription, with: member, from: turn.now, turn)
        }
    }

    /// The purchaser's subscription changed without a new period: switched off or on, in grace, another plan ahead. The
    /// members' show the same; Apple tells nobody but the purchaser's line.
    static func mirror(_ subscription: StoreSubscription, _ turn: Turn) throws {
        for var share in try SubscriptionTable.shares(of: subscription.original, turn.session)
        where share.state == .active || share.state == .gracePeriod {
            share.renews = subscription.renewsNext
            share.renewalProductID = subscription.nextProductID
            share.graceExpires = subscription.graceExpires
            if subscription.state == .active || subscription.state == .gracePeriod { share.state = subscription.state }
            try SubscriptionTable.save(share, turn.session)
        }
    }

    /// Who lost a purchase, by refund or because it ended, may still have it from the family.
    static func fallBack(_ name: String, _ turn: Turn) throws {
        guard let family = try AccountTable.find(name, turn.session)?.family else { return }
        for member in try AccountTable.family(family, turn.session) where member.name != name {
            try shareEverything(of: member, with: name, turn)
        }
    }

    /// Access to this one copy ends: REVOKE.
    /// - Returns: the copy as it is then.
    @discardableResult
    static func end(_ copy: StoreTransaction, _ turn: Turn) throws -> StoreTransaction {
        guard copy.revocation == nil else { return copy }
        var copy = copy
        copy.revocation = StoreTransaction.Revocation(date: turn.now, reason: 0, type: "FAMILY_REVOKE", percentage: nil)
        copy = try TransactionTable.update(copy, turn.session)
        var subscription: StoreSubscription?
        if copy.subscription != nil, var found = try SubscriptionTable.find(copy.original, turn.session) {
            if found.current == copy.number {
                found.state = .revoked
                found.renews = false
                try SubscriptionTable.save(found, turn.session)
            }
            subscription = found
        }
        try turn.note(.revoke, about: copy, subscription)
        return copy
    }

    /// Who paid for it.
    static func sharer(of copy: StoreTransaction, _ session: any Connection) throws -> String? {
        guard let number = copy.sharedFrom else { return nil }
        return try TransactionTable.find(number, session)?.account
    }

    private static func share(
        _ transaction: StoreTransaction, _ subscription: StoreSubscription?, with only: String?, from start: Instant,
        _ turn: Turn
    ) throws {
        guard transaction.state == .purchased, transaction.revocation == nil, transaction.sharedFrom == nil,
            let family = try AccountTable.find(transaction.account, turn.session)?.family
        else { return }
        let isShareable = try ProductTable.find(transaction.productID, turn.session)?.isFamilyShareable ?? false
        guard isShareable, try !SharedPurchaseTable.isOff(transaction.original, turn.session) else {
            // A change of plan may lead to one that is not for families.
            for share in try SubscriptionTable.shares(of: transaction.original, turn.session) where share.isServed {
                if let copy = try TransactionTable.find(share.current, turn.session) { try end(copy, turn) }
            }
            return
        }
        for member in try AccountTable.family(family, turn.session)
        where member.name != transaction.account && member.name == only ?? member.name && !member.isDeleted {
            let gift = FamilyGift(transaction: transaction, subscription: subscription, member: member, start: start)
            try gift.give(turn)
        }
    }

    /// The purchaser's period ran out, and with it the member's: EXPIRED, for the purchaser's reason.
    private static func expire(
        _ copy: StoreTransaction, as purchaser: StoreSubscription?, _ turn: Turn
    ) throws {
        guard var share = try SubscriptionTable.find(copy.original, turn.session), share.current == copy.number,
            share.isServed
        else { return }
        share.state = .expired
        share.renews = false
        share.expirationIntent = purchaser?.expirationIntent
        share.graceExpires = nil
        try SubscriptionTable.save(share, turn.session)
        let reason: NotificationSubtype? =
            switch share.expirationIntent {
            case 1: .voluntary
            case 2: .billingRetry
            case 3: .priceIncrease
            case 4: .productNotForSale
            default: nil
            }
        try turn.note(.expired, reason, about: copy, share)
    }
}

extension StoreSubscription {
    /// Whether its customer has the service now.
    var isServed: Bool { state == .active || state == .gracePeriod }
}

/// Who belongs to a family: an organizer and up to five others (facts/limits §2).
enum FamilyCircle {
    static let limit = 6

    /// Why an account can't join; nil if it can.
    static func refusal(
        of account: StoreAccount, joining organizer: String, _ change: AccountChange, _ turn: Turn
    ) throws -> StoreRefusal? {
        if change.isDeleted ?? account.isDeleted { return .accountDeleted(account.name) }
        if account.family != nil { return .inAnotherFamily(account.name) }
        guard organizer != account.name else { return nil }
        guard let host = try AccountTable.find(organizer, turn.session) else { return .unknownAccount(organizer) }
        if host.isDeleted { return .accountDeleted(organizer) }
        guard host.family == nil || host.family == organizer else { return .inAnotherFamily(organizer) }
        return try AccountTable.family(organizer, turn.session).count < limit ? nil : .familyFull(organizer)
    }

    /// Who joins gets what the others share, and the others get what the new one shares.
    static func join(_ account: StoreAccount, organizer: String, _ turn: Turn) throws -> StoreAccount {
        if organizer != account.name, var host = try AccountTable.find(organizer, turn.session), host.family == nil {
            host.family = organizer
            try AccountTable.update(host, turn.session)
        }
        var account = account
        account.family = organizer
        try AccountTable.update(account, turn.session)
        for member in try AccountTable.family(organizer, turn.session) where member.name != account.name {
            try FamilySharing.shareEverything(of: member, with: account.name, turn)
        }
        try FamilySharing.shareEverything(of: account, turn)
        return account
    }

    /// Without its organizer there is no family: then all of them leave.
    static func leave(_ account: StoreAccount, _ turn: Turn) throws -> StoreAccount {
        guard let organizer = account.family else { return account }
        let members = try AccountTable.family(organizer, turn.session)
        for member in members {
            for copy in try SharedPurchaseTable.living(of: member.name, turn.session) {
                let sharer = try FamilySharing.sharer(of: copy, turn.session)
                if organizer == account.name || member.name == account.name || sharer == account.name {
                    try FamilySharing.end(copy, turn)
                }
            }
        }
        for var member in members where organizer == account.name || member.name == account.name {
            member.family = nil
            try AccountTable.update(member, turn.session)
        }
        var account = account
        account.family = nil
        return account
    }
}
