import TillBilling
import TillSQL

extension Schema {
    /// The decisions that the rows of grants say by a number, in the order of `GrantDecision.all`.
    static let grantDecisions: StaticString = """
        CREATE TABLE grant_decisions (
            number INTEGER PRIMARY KEY,
            ground TEXT NOT NULL,
            source TEXT NOT NULL,
            caller_kind TEXT NOT NULL
        ) STRICT;
        INSERT INTO grant_decisions (number, ground, source, caller_kind) VALUES
            (1, 'token', 'app', 'user'), (2, 'token', 'app', 'key'), (3, 'token', 'restore', 'user'),
            (4, 'token', 'restore', 'key'), (5, 'token', 'notification', 'apple'),
            (6, 'token', 'reconciliation', 'apple'), (7, 'account_token', 'app', 'user'),
            (8, 'account_token', 'app', 'key'), (9, 'account_token', 'restore', 'user'),
            (10, 'account_token', 'restore', 'key'), (11, 'account_token', 'notification', 'apple'),
            (12, 'account_token', 'reconciliation', 'apple');
        ALTER TABLE grants ADD COLUMN decision INTEGER REFERENCES grant_decisions (number);
        ALTER TABLE grants ADD COLUMN caller_key TEXT;
        """
}

/// The decision that made a grant, where the grant's own row says it in place of a row of `evidence`: a purchase that
/// was recorded and granted in one commit, to the customer whom its token names, without anything else to note. If
/// `grants.decision` is null, `evidence` has the decision: so PostgreSQL stores it, as servers of earlier releases read
/// it there.
package struct GrantDecision: Sendable {
    /// What a row of `evidence` would say, from a grant `g` and its decision `d` (`grant_decisions`).
    package static let columns: Columns = """
        g.at, 'granted' AS decision, d.ground, d.source, NULL AS detail, d.caller_kind, \
        CASE WHEN d.caller_kind = 'user' THEN g.customer_id END AS caller_customer_id, g.caller_key
        """

    private enum CallerKind { case user, key, apple }

    /// Their position here, counted from 1, is the number in `grant_decisions`.
    private static let all: [(ground: OwnerMatch, source: PurchaseSource, caller: CallerKind)] =
        [OwnerMatch.token, .accountToken].flatMap { ground in
            [
                (ground, .app, .user), (ground, .app, .key), (ground, .restore, .user), (ground, .restore, .key),
                (ground, .notification, .apple), (ground, .reconciliation, .apple),
            ]
        }

    let number: Int64
    /// The name of the caller's secret key. A caller who is a user is the grant's customer.
    let callerKey: String?

    /// Nil for a decision that only a row of `evidence` can say.
    init?(_ ground: OwnerMatch, from origin: PurchaseOrigin, owner: UserID) {
        guard origin.actor == nil else { return nil }
        let kind: CallerKind
        switch origin.caller {
        case .user(let caller):
            guard caller == owner else { return nil }
            (kind, callerKey) = (.user, nil)
        case .backend(let keyID, _): (kind, callerKey) = (.key, keyID)
        case .apple: (kind, callerKey) = (.apple, nil)
        }
        let index = Self.all.firstIndex { $0.ground == ground && $0.source == origin.source && $0.caller == kind }
        guard let index else { return nil }
        number = Int64(index + 1)
    }
}
