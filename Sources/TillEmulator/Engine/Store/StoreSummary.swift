import TillBilling
import TillSQL

/// The whole store in a few numbers.
struct StoreSummary: Sendable {
    var products: Int
    var accounts: Int64
    var tallies: [TransactionTally]
    /// The number of subscriptions in each state.
    var subscriptions: [String: Int64]
    var notificationURL: String?
    var notifications: Int64
    var pendingNotifications: Int64
    var failedNotifications: Int64
    var clock: ClockState
    var nextAttempt: Instant?
}

/// The number of transactions with the same state, kind and flags.
struct TransactionTally: Sendable, Hashable {
    var state: String
    var kind: String
    var isFinished: Bool
    var isRefunded: Bool
    var count: Int64
}

extension StoreSchema {
    /// The store keeps these counts, because a store of a million transactions reports its state every second.
    static let storeTallies: StaticString =
        """
        CREATE TABLE transaction_tallies (
            state TEXT NOT NULL,
            kind TEXT NOT NULL,
            finished INTEGER NOT NULL,
            refunded INTEGER NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (state, kind, finished, refunded)
        ) STRICT, WITHOUT ROWID;

        CREATE TRIGGER transactions_tallied_new AFTER INSERT ON transactions BEGIN
            INSERT INTO transaction_tallies (state, kind, finished, refunded, count)
            VALUES (new.state, new.kind, new.finished, new.revoked_at IS NOT NULL, 1)
            ON CONFLICT (state, kind, finished, refunded) DO UPDATE SET count = count + 1;
        END;

        CREATE TRIGGER transactions_tallied_gone AFTER DELETE ON transactions BEGIN
            UPDATE transaction_tallies SET count = count - 1
            WHERE state = old.state AND kind = old.kind AND finished = old.finished
                AND refunded = (old.revoked_at IS NOT NULL);
        END;

        CREATE TRIGGER transactions_tallied_changed AFTER UPDATE OF state, finished, revoked_at ON transactions
        WHEN old.state <> new.state OR old.finished <> new.finished
            OR (old.revoked_at IS NULL) <> (new.revoked_at IS NULL)
        BEGIN
            UPDATE transaction_tallies SET count = count - 1
            WHERE state = old.state AND kind = old.kind AND finished = old.finished
                AND refunded = (old.revoked_at IS NOT NULL);
            INSERT INTO transaction_tallies (state, kind, finished, refunded, count)
            VALUES (new.state, new.kind, new.finished, new.revoked_at IS NOT NULL, 1)
            ON CONFLICT (state, kind, finished, refunded) DO UPDATE SET count = count + 1;
        END;

        INSERT INTO transaction_tallies (state, kind, finished, refunded, count)
        SELECT state, kind, finished, revoked_at IS NOT NULL, count(*) FROM transactions GROUP BY 1, 2, 3, 4;

        CREATE INDEX subscriptions_in_state ON subscriptions (state);
        """

    /// `TransactionTally.add` counts a new transaction. With a trigger, SQLite would copy each page that the insertion
    /// changes.
    static let talliesWithoutTrigger: StaticString = "DROP TRIGGER transactions_tallied_new;"
}

extension TransactionTally {
    /// Counts a transaction that was just inserted.
    static func add(_ transaction: StoreTransaction, _ connection: any Connection) throws {
        let tally: [SQLValue] = [
            .text(transaction.state.rawValue), .text(transaction.kind.rawValue), .flag(transaction.isFinished),
            .flag(transaction.revocation != nil),
        ]
        let changed = try connection.execute(
            """
            UPDATE transaction_tallies SET count = count + 1
            WHERE state = ? AND kind = ? AND finished = ? AND refunded = ?
            """, tally)
        guard changed == 0 else { return }
        try connection.execute(
            "INSERT INTO transaction_tallies (state, kind, finished, refunded, count) VALUES (?, ?, ?, ?, 1)", tally)
    }
}

extension Store {
    func summary() async throws -> StoreSummary {
        let clock = clock
        return try await ask { connection in
            StoreSummary(
                products: try ProductTable.all(connection).count,
                accounts: try connection.first("SELECT count(*) AS count FROM accounts", []) { $0.integer("count") }
                    ?? 0,
                tallies: try Self.tallies(connection), subscriptions: try Self.subscriptionsByState(connection),
                notificationURL: try SettingTable.value(.notificationURL, connection),
                notifications: try NotificationTable.count(connection),
                pendingNotifications: try Counter.pendingNotifications.value(connection),
                failedNotifications: try NotificationTable.failed(connection),
                clock: try ClockState(clock, connection), nextAttempt: try NotificationTable.nextDue(connection))
        }
    }

    private static func tallies(_ connection: any Connection) throws -> [TransactionTally] {
        try connection.query(
            "SELECT state, kind, finished, refunded, count FROM transaction_tallies WHERE count > 0", []
        ) { row in
            TransactionTally(
                state: row.text("state"), kind: row.text("kind"), isFinished: row.flag("finished"),
                isRefunded: row.flag("refunded"),
                count: row.integer("count"))
        }
    }

    private static func subscriptionsByState(_ connection: any Connection) throws -> [String: Int64] {
        let counts = try connection.query("SELECT state, count(*) AS count FROM subscriptions GROUP BY state", []) {
            row in
            (row.text("state"), row.integer("count"))
        }
        return Dictionary(counts) { $0 + $1 }
    }
}
