/// What can go wrong in a simulated world.
public enum FaultKind: String, Sendable, Hashable, CaseIterable {
    /// A connection can't be made.
    case cut = "connection_cut"
    case requestLost = "request_lost"
    case answerLost = "answer_lost"
    case delayed
    /// A request arrives twice.
    case duplicated
    /// Something in between answers for itself: HTML, an empty body, a redirect, 5xx, 429.
    case garbled
    /// The app ends between two awaits.
    case appKilled = "app_killed"
    /// The device loses power in the middle of a write.
    case tornWrite = "device_write_torn"
    case deviceFull = "device_disk_full"
    /// App and data are deleted, and installed anew.
    case reinstalled = "app_reinstalled"
    /// The server process ends between two awaits.
    case serverKilled = "server_killed"
    /// The server's machine loses power in the middle of a disk operation, and what was not synced.
    case powerCut = "server_power_cut"
    case serverDiskFull = "server_disk_full"
    /// Reads, writes and syncs of the server's disk fail now and then.
    case serverDiskFails = "server_disk_error"
    /// The database rolls a body back and runs it again, as PostgreSQL does after a deadlock.
    case bodyRerun = "body_run_again"
    /// The database commits, and the connection is lost before it can say so.
    case commitInDoubt = "commit_in_doubt"
    /// A transaction draws its row ids and commits after others that drew theirs later.
    case rowsLate = "rows_visible_late"
    /// The server stays down for hours or days.
    case serverDown = "server_down"
    /// Apple answers nobody, for hours or days.
    case appleDown = "apple_down"
    /// A notification that never comes, however often Apple tries.
    case notificationLost = "notification_never_sent"
    /// A device's clock, or the server's, is set wrong.
    case clockJump = "clock_jump"
    /// Apple loses `applicationUsername` (U1).
    case tokenLost = "token_lost"
    /// Proofs made by somebody who is not Apple, of another app, for another environment, or altered.
    case forged = "forged_proof"
    /// Genuine proofs in the hands of somebody else.
    case borrowed = "borrowed_proof"
    /// Genuine proofs and notifications, again.
    case replayed = "replayed_proof"
    /// The app's backend does not take webhooks.
    case receiverDown = "webhook_receiver_down"
}

/// How often each fault strikes where it can, and how often it did.
final class FaultLedger: @unchecked Sendable {
    private(set) var counts: [FaultKind: Int] = [:]
    /// None strikes any more once the world calms down.
    private(set) var isCalm = false
    /// How many faults may still strike: a shorter story has fewer.
    private var left: Int
    private let rates: [FaultKind: Double]
    private let seed: UInt64
    private var streams: [String: SeededRandom] = [:]
    private let note: (FaultKind, String) -> Void

    init(
        seed: UInt64, rates: [FaultKind: Double], limit: Int = .max, note: @escaping (FaultKind, String) -> Void
    ) {
        self.seed = seed
        self.rates = rates
        left = limit
        self.note = note
    }

    /// Whether a fault strikes here and now: drawn from a stream of its own for each kind and place.
    func strikes(_ kind: FaultKind, at place: String, _ detail: @autoclosure () -> String = "") -> Bool {
        guard !isCalm, let rate = rates[kind], rate > 0 else { return false }
        let stream = "\(kind.rawValue) \(place)"
        let strikes = streams[stream, default: SeededRandom(seed: seed, stream: stream)].chance(rate)
        guard strikes, left > 0 else { return false }
        record(kind, "\(place) \(detail())")
        return true
    }

    /// One that somebody made happen.
    func record(_ kind: FaultKind, _ detail: String) {
        left -= 1
        counts[kind, default: 0] += 1
        note(kind, detail)
    }

    /// Whether faults of the kind are wanted at all, and not yet too many.
    func allows(_ kind: FaultKind) -> Bool { !isCalm && left > 0 && (rates[kind] ?? 0) > 0 }

    func calmDown() { isCalm = true }
}
