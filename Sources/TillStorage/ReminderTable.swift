import TillBilling

extension Schema {
    /// What a customer is to be reminded of and when. Rows move when service is extended and go when it is taken back;
    /// what was told is an event in the outbox, whose body says what it is about.
    static let reminders: StaticString = """
        CREATE TABLE reminders (
            sequence INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL CHECK (environment IN (1, 2)),
            user TEXT NOT NULL,
            subject TEXT NOT NULL,
            kind TEXT NOT NULL,
            expires_at INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            sent_at INTEGER,
            UNIQUE (environment, user, subject, kind)
        ) STRICT;
        CREATE INDEX reminders_due ON reminders (due_at, sequence) WHERE sent_at IS NULL;

        ALTER TABLE outbox ADD COLUMN body TEXT;
        """
}
