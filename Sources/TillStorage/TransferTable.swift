import TillBilling

extension Schema {
    /// What was moved from one customer to another, why and by whom. A transfer is never edited; taking it back is a
    /// transfer of its own. `holders` is what the transfers come to: whose a granted purchase is now, where that is
    /// not whom it was granted to, or not whose order it was; with the chain it belongs to, so that what follows in a
    /// chain goes to the same customer.
    static let transfers: StaticString = """
        CREATE TABLE transfers (
            sequence INTEGER PRIMARY KEY,
            id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
            kind TEXT NOT NULL,
            from_user TEXT NOT NULL,
            to_user TEXT NOT NULL,
            reason TEXT NOT NULL,
            actor TEXT NOT NULL,
            reverses INTEGER UNIQUE REFERENCES transfers (sequence),
            at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX transfers_by_giver ON transfers (from_user, sequence);
        CREATE INDEX transfers_by_taker ON transfers (to_user, sequence);
        CREATE TRIGGER transfers_are_never_edited BEFORE UPDATE ON transfers
            BEGIN SELECT RAISE(ABORT, 'transfers are never edited'); END;
        CREATE TRIGGER transfers_are_never_deleted BEFORE DELETE ON transfers
            BEGIN SELECT RAISE(ABORT, 'transfers are never deleted'); END;

        CREATE TABLE transfer_items (
            transfer_sequence INTEGER NOT NULL REFERENCES transfers (sequence),
            grant_sequence INTEGER NOT NULL REFERENCES grants (transaction_sequence),
            PRIMARY KEY (transfer_sequence, grant_sequence)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE holders (
            grant_sequence INTEGER PRIMARY KEY REFERENCES grants (transaction_sequence),
            environment INTEGER NOT NULL CHECK (environment IN (1, 2)),
            original_id TEXT NOT NULL,
            user TEXT NOT NULL
        ) STRICT;
        CREATE INDEX holders_by_user ON holders (user, grant_sequence);
        CREATE INDEX holders_by_chain ON holders (environment, original_id);

        CREATE TABLE guests (
            guest TEXT PRIMARY KEY,
            account TEXT NOT NULL,
            transfer_sequence INTEGER NOT NULL REFERENCES transfers (sequence)
        ) STRICT, WITHOUT ROWID;
        """
}
