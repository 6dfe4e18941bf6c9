/// The kinds of thieves in a simulated world.
public enum TheftKind: String, Sendable, Hashable, CaseIterable {
    /// Creates orders with ids that occur, or will occur, in a stranger's payment.
    case squatter
    /// A user whose id looks like another's, or compares as equal to it.
    case twin
    /// Posts another customer's receipt with an earlier order of their own, and uses one payment twice.
    case receiptThief = "receipt_thief"
    /// Names another customer's device.
    case borrowedDevice = "borrowed_device"
    /// Claims that another customer is their guest, and uses former guests' tokens.
    case guestMerger = "guest_merger"
    /// Has another customer's token for seconds.
    case shortLivedToken = "short_lived_token"
    /// Submits another customer's proofs to every endpoint that accepts proofs.
    case replayAcrossUsers = "replay_across_users"
    /// Claims unclaimed purchases, and restores another customer's transactions without a token.
    case falseClaimant = "false_claimant"
    /// Restores another customer's purchases.
    case hostileRestorer = "hostile_restorer"
    /// Keeps the server busy.
    case flooder
}

/// Counts the attempts of each kind.
final class TheftLog: @unchecked Sendable {
    private(set) var counts: [TheftKind: Int] = [:]
    private let note: (TheftKind, String) -> Void

    init(note: @escaping (TheftKind, String) -> Void) { self.note = note }

    /// One request that is an attempt to steal.
    func record(_ kind: TheftKind, _ detail: String) {
        counts[kind, default: 0] += 1
        note(kind, detail)
    }
}
