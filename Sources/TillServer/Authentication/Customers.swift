import TillBilling
import TillLedger
import TillSQL
import TillThreads

/// Which customers are on record already, so that no request asks the ledger twice. Bounded: when it is full it begins
/// anew, and the ledger is asked once more.
final class RecordedCustomers: Sendable {
    private struct Seen: Hashable {
        let user: UserID
        let kind: CustomerKind
    }

    private static let limit = 50_000
    private let seen = Locked<Set<Seen>>([])

    func contains(_ user: UserID, as kind: CustomerKind) -> Bool {
        seen.withLock { $0.contains(Seen(user: user, kind: kind)) }
    }

    func insert(_ user: UserID, as kind: CustomerKind) {
        seen.withLock { seen in
            if seen.count >= Self.limit { seen.removeAll() }
            seen.insert(Seen(user: user, kind: kind))
        }
    }
}

extension Server {
    /// Writes down as what kind of customer somebody was seen: one look at the ledger for each user and process, one
    /// row for each user. A disk that takes no row now refuses nobody who only reads: the next request tries again.
    func record(_ bearer: Bearer) async throws {
        guard case .user(let user) = bearer.credential, let kind = bearer.kind,
            !recordedCustomers.contains(user, as: kind)
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
        } catch let fault as DatabaseError where fault.isRetryable {}
    }
}
