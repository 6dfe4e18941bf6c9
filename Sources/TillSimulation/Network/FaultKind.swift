/// The faults of a simulated world.
public enum FaultKind: String, Sendable, Hashable, CaseIterable {
    /// A connection can't be established.
    case cut = "connection_cut"
    case requestLost = "request_lost"
    case answerLost = "answer_lost"
    case delayed
    /// A request arrives twice.
    case duplicated
    /// An intermediary answers instead: HTML, an empty body, a redirect, 5xx, 429.
    case garbled
    /// The app ends between two suspension points.
    case appKilled = "app_killed"
    /// The device loses power during a write.
    case tornWrite = "device_write_torn"
    case deviceFull = "device_disk_full"
    /// The app and its data are deleted, and the app is installed again.
    case reinstalled = "app_reinstalled"
    /// The server process ends between two suspension points.
    case serverKilled = "server_killed"
    /// The server's machine loses power during a disk operation, and with it all unsynced data.
    case powerCut = "server_power_cut"
    case serverDiskFull = "server_disk_full"
    /// Some reads, writes and syncs of the server's disk fail.
    case serverDiskFails = "server_disk_error"
    /// The database rolls a body back and runs it again, as PostgreSQL does after a deadlock.
    case bodyRerun = "body_run_again"
    /// The database commits, and the connection is lost before it can report the commit.
    case commitInDoubt = "commit_in_doubt"
    /// A transaction draws its row ids and commits after others that drew theirs later.
    case rowsLate = "rows_visible_late"
    /// The server is down for hours or days.
    case serverDown = "server_down"
    /// Apple's servers are down for hours or days.
    case appleDown = "apple_down"
    /// A notification never arrives, however often Apple retries.
    case notificationLost = "notification_never_sent"
    /// The clock of a device or of the server is wrong.
    case clockJump = "clock_jump"
    /// Apple loses `applicationUsername`.
    case tokenLost = "token_lost"
    /// Proofs by another authority, for another app or environment, or altered.
    case forged = "forged_proof"
    /// Genuine proofs submitted by another user.
    case borrowed = "borrowed_proof"
    /// Genuine proofs and notifications, sent again.
    case replayed = "replayed_proof"
    /// The app's backend does not accept webhooks.
    case receiverDown = "webhook_receiver_down"
}

/// The rates of all faults, and the number of their occurrences.
final class FaultLog: @unchecked Sendable {
    private(set) var counts: [FaultKind: Int] = [:]
    /// No fault occurs after the fault phase.
    private(set) var isQuiet = false
    /// The number of faults that may still occur; a smaller limit gives a shorter trace.
    private var left: Int
    private let rates: [FaultKind: Double]
    private let seed: UInt64
    private var streams: [Stream: SeededRandom] = [:]
    private let note: (FaultKind, String) -> Void

    private struct Stream: Hashable {
        let kind: FaultKind
        let place: String
    }

    init(
        seed: UInt64, rates: [FaultKind: Double], limit: Int = .max, note: @escaping (FaultKind, String) -> Void
    ) {
        self.seed = seed
        self.rates = rates
        left = limit
        self.note = note
    }

    /// Whether a fault occurs here and now, drawn from a separate stream for each kind and place.
    func occurs(_ kind: FaultKind, at place: String, _ detail: @autoclosure () -> String = "") -> Bool {
        guard !isQuiet, let rate = rates[kind], rate > 0 else { return false }
        let occurs = streams[
            Stream(kind: kind, place: place), default: SeededRandom(seed: seed, stream: "\(kind.rawValue) \(place)")
        ].chance(rate)
        guard occurs, left > 0 else { return false }
        record(kind, "\(place) \(detail())")
        return true
    }

    /// Records a fault that the caller injects.
    func record(_ kind: FaultKind, _ detail: String) {
        left -= 1
        counts[kind, default: 0] += 1
        note(kind, detail)
    }

    /// Whether faults of this kind may occur, and the limit is not reached.
    func allows(_ kind: FaultKind) -> Bool { !isQuiet && left > 0 && (rates[kind] ?? 0) > 0 }

    func stop() { isQuiet = true }
}
