import TillBilling

extension Schema {
    /// Who posted by hand, and why.
    static let walletNotes: StaticString = """
        ALTER TABLE postings ADD COLUMN reason TEXT;
        ALTER TABLE postings ADD COLUMN actor TEXT;
        """

    /// What Apple asks about a refund, and whether the customer agreed to an answer.
    static let consumption: StaticString = """
        CREATE TABLE consents (
            sequence INTEGER PRIMARY KEY,
            user TEXT NOT NULL,
            given INTEGER NOT NULL CHECK (given IN (0, 1)),
            actor TEXT NOT NULL,
            at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX consents_by_user ON consents (user, sequence);

        CREATE TABLE consumption_requests (
            sequence INTEGER PRIMARY KEY,
            notification_sequence INTEGER NOT NULL UNIQUE REFERENCES notifications (sequence),
            environment INTEGER NOT NULL CHECK (environment IN (1, 2)),
            transaction_id TEXT NOT NULL,
            reason TEXT,
            requested_at INTEGER NOT NULL,
            answer_by INTEGER NOT NULL,
            state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
            attempts INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            detail TEXT NOT NULL,
            answer TEXT
        ) STRICT;
        CREATE INDEX consumption_requests_due ON consumption_requests (due_at) WHERE state = 0;
        """
}
