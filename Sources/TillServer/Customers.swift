import TillBilling
import TillLedger
import TillSQL
import TillThreads

/// A credential, and what kind of customer its token speaks of.
struct Bearer: Sendable {
    let credential: Credential
    /// Nil for a backend.
    let kind: CustomerKind?
}

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
                try await database.write { try CustomerTable($0).record(user, as: kind, under: terms, at: now) }
            }
            recordedCustomers.insert(user, as: kind)
        } catch let fault as DatabaseError where fault.isRetryable {}
    }

    /// A user id that is not in normalization form C has a twin that looks the same, so the ledger takes in no new one.
    /// A customer who has such an id already keeps it (R10). Asked wherever a user's first row would be written.
    func requireKnownForm(of user: UserID, _ field: String) async throws {
        guard !user.text.isNormalized else { return }
        guard try await database.read({ try CustomerTable($0).isKnown(user) }) else {
            throw Refused(
                .invalidField,
                "\(field): no user of this id is known, and a new id has to be in Unicode normalization form C (NFC). "
                    + "Normalize the id before it is sent")
        }
    }
}
