/// The kind of customer behind a user id. Only guests can be merged into an account.
public enum CustomerKind: Int64, Hashable, Sendable, CaseIterable {
    /// The user made a purchase before kinds were recorded.
    case unknown = 0
    /// The user's token said so, or the id has the form of guest ids.
    case guest = 1
    /// A backend named the user as a buyer, and no token of the user has been seen.
    case named = 2
    /// A token of the user has been seen, and did not declare a guest.
    case account = 3

    /// Whether a customer of this kind, now seen as another kind, is recorded as that kind from now on. An account
    /// never becomes a guest.
    public func changes(to seen: CustomerKind) -> Bool {
        switch (self, seen) {
        case (_, .unknown), (.account, _): false
        case (.unknown, _): true
        case (_, .account): true
        case (.guest, _), (.named, _): false
        }
    }
}

/// The party that requests a merge, which determines how the other user is known to be a guest.
public enum MergeRequester: Hashable, Sendable {
    /// A backend with a secret key.
    case backend
    /// An app that presents the guest's token; the token describes a customer of this kind.
    case token(CustomerKind)

    /// Whether a user recorded as this kind may be merged into an account; nil for a user without a record.
    public func mayMerge(_ recorded: CustomerKind?) -> Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.mergesAccounts.isPlanted { return true }
        #endif
        switch self {
        case .backend: return recorded != .account
        case .token(let kind):
            guard kind == .guest else { return false }
            return recorded != .account && recorded != .named
        }
    }
}

/// The configuration of guests.
public struct GuestTerms: Hashable, Sendable {
    /// Ids with this prefix belong to guests, even if their tokens do not say so. At least `shortestPrefix` bytes.
    public var prefix: String?
    /// The number of days in which a merge can be undone.
    public var undoDays: Int

    public static let shortestPrefix = 4

    public init(prefix: String? = nil, undoDays: Int = 30) {
        self.prefix = prefix
        self.undoDays = undoDays
    }

    /// The kind of a user whose own token was presented.
    ///
    /// - Parameter claim: the token's `guest` claim. It takes precedence over the form of the id.
    public func kind(of user: UserID, claim: Bool?) -> CustomerKind {
        claim ?? hasForm(user) ? .guest : .account
    }

    /// The kind of a user whom a backend names as a buyer.
    public func kind(named user: UserID) -> CustomerKind { hasForm(user) ? .guest : .named }

    private func hasForm(_ user: UserID) -> Bool {
        guard let prefix, prefix.utf8.count >= Self.shortestPrefix else { return false }
        return user.text.utf8.starts(with: prefix.utf8)
    }

    /// The last moment at which a merge can be undone.
    public func undoEnds(for merge: Transfer) -> Instant { merge.at.adding(seconds: Int64(undoDays) * 86_400) }
}
