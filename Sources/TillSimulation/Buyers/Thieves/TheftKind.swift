/// What thieves of a simulated world try.
public enum TheftKind: String, Sendable, Hashable, CaseIterable {
    /// Opens orders under ids that stand, or will stand, in a stranger's payment.
    case squatter
    /// Is a user whose id looks like another's, or compares like it.
    case twin
    /// Posts another customer's receipt beside an older order of their own, and sells one payment twice.
    case receiptThief = "receipt_thief"
    /// Names another customer's device.
    case borrowedDevice = "borrowed_device"
    /// Calls another customer their guest, and uses what is left of guests.
    case guestMerger = "guest_merger"
    /// Has another customer's token for seconds.
    case shortLivedToken = "short_lived_token"
    /// Brings another customer's proofs to every address that takes proofs.
    case replayAcrossUsers = "replay_across_users"
    /// Claims what is in quarantine, and what a family shares.
    case claimJumper = "claim_jumper"
    /// Restores another customer's purchases.
    case hostileRestorer = "hostile_restorer"
    /// Keeps the server busy.
    case flooder
}

/// How often each kind of theft was tried, and what came of it.
final class TheftLedger: @unchecked Sendable {
    private(set) var counts: [TheftKind: Int] = [:]
    private let note: (TheftKind, String) -> Void

    init(note: @escaping (TheftKind, String) -> Void) { self.note = note }

    /// One request that is to steal something.
    func record(_ kind: TheftKind, _ detail: String) {
        counts[kind, default: 0] += 1
        note(kind, detail)
    }
}
