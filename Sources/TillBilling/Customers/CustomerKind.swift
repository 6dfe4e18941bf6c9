/// What kind of customer a user id is. Only guests become part of an account (P12).
public enum CustomerKind: Int64, Hashable, Sendable, CaseIterable {
    /// Had bought something before kinds were recorded.
    case unknown = 0
    /// Its token said so, or its id has the form of guests.
    case guest = 1
    /// A backend named it as a buyer, and no token of its own was seen.
    case named = 2
    /// A token of its own was seen that did not call it a guest.
    case account = 3

    /// Whether a customer of this kind, seen as another one now, is recorded as that from now on. An account never
    /// becomes a guest.
    public func changes(to seen: CustomerKind) -> Bool {
        switch (self, seen) {
        case (_, .unknown), (.account, _): false
        case (.unknown, _): true
        case (_, .account): true
        case (.guest, _), (.named, _): false
        }
    }
}

/// Who asks for a merge, and so who says that the other one is a guest.
public enum MergeRequester: Hashable, Sendable {
    /// A backend with a secret key.
    case backend
    /// An app that shows the guest's token, which speaks of a customer of this kind.
    case token(CustomerKind)

    /// Whether a user that is recorded as this kind may become part of an account; nil for one that is not recorded.
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

/// What the configuration says of guests.
public struct GuestTerms: Hashable, Sendable {
    /// Ids that begin so are guests', whatever their tokens leave out. At least `shortestPrefix` bytes.
    public var prefix: String?
    /// Days for which a merge can be taken back.
    public var undoDays: Int

    public static let shortestPrefix = 4

    public init(prefix: String? = nil, undoDays: Int = 30) {
        self.prefix = prefix
        self.undoDays = undoDays
    }

    /// The kind of a user whose own token was shown.
    ///
    /// - Parameter claim: `guest` in the token. What it says goes before the form of the id.
    public func kind(of user: UserID, claim: Bool?) -> CustomerKind {
        claim ?? hasForm(user) ? .guest : .account
    }

    /// The kind of a user whom a backend names as a buyer.
    public func kind(named user: UserID) -> CustomerKind { hasForm(user) ? .guest : .named }

    private func hasForm(_ user: UserID) -> Bool {
        guard let prefix, prefix.utf8.count >= Self.shortestPrefix else { return false }
        return user.text.utf8.starts(with: prefix.utf8)
    }

    /// The last moment at which a merge can be taken back.
    public func undoEnds(for merge: Transfer) -> Instant { merge.at.adding(seconds: Int64(undoDays) * 86_400) }
}
