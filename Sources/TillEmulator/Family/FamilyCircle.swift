import TillBilling

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
