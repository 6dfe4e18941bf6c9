import TillBilling
import TillLedger
import TillSQL
import TillThreads

/// Caches which customers are recorded, so that a request for one of them skips the ledger. The cache is bounded: when
/// it is full, it is emptied and the next requests read the ledger again.
final class RecordedCustomers: Sendable {
    private struct Seen: Hashable {
        let user: UserID
        let kind: CustomerKind
    }

    private struct State {
        var seen: Set<Seen> = []
        /// `Ledger.erasedCustomers` when they were seen.
        var erasures = 0
    }

    private static let limit = 50_000
    private let state = Locked(State())

    /// - Parameter erasures: `Ledger.erasedCustomers`. The same user id is another customer after an erasure.
    func contains(_ user: UserID, as kind: CustomerKind, after erasures: Int) -> Bool {
        state.withLock { state in
            if state.erasures != erasures { state = State(erasures: erasures) }
            return state.seen.contains(Seen(user: user, kind: kind))
        }
    }

    func insert(_ user: UserID, as kind: CustomerKind) {
        state.withLock { state in
            if state.seen.count >= Self.limit { state.seen.removeAll() }
            state.seen.insert(Seen(user: user, kind: kind))
        }
    }
}

extension Server {
    /// Records the kind of customer that a token states: one read per user and process, one row per user. A retryable
    /// database error does not fail the request; the next request tries again.
    func record(_ bearer: Bearer) async throws {
        guard case .user(let user) = bearer.credential, let kind = bearer.kind,
            !recordedCustomers.contains(user, as: kind, after: ledger.erasedCustomers.withLock { $0 })
        else { return }
        do {
            let terms = configuration.guests
            let known = try await database.read { try CustomerTable($0).kind(of: user, under: terms) }
            if known.map({ $0.changes(to: kind) }) ?? true {
                let now = clock()
                try await database.write(locking: [.customer(user)]) {
                    try CustomerTable($0).record(user, as: kind, under: terms, at: now)
                }
            }
            recordedCustomers.insert(user, as: kind)
        } catch let error as DatabaseError where error.isRetryable {
            log.write(.workFailed, ["work": "customer_kind", "id": .text(user.text), "cause": .cause(error)])
        }
    }
}
