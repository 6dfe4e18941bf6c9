import TillSQL

extension DatabaseSchema {
    /// The ledger's. Its files are marked with "Till" in ASCII.
    public static let ledger = DatabaseSchema(migrations: Schema.migrations, applicationID: 0x5469_6C6C)
}

/// The tables, as a list of migrations: the database's version is how many of them it has been through. A migration
/// that has been released is never edited; a change is a new one at the end.
///
/// Times are milliseconds since 1970 UTC. Environments are 1 production, 2 sandbox. Rows refer to each other by
/// `sequence`, which is small, and which also says in what order things came. Rules that the database can hold, it
/// holds: one row for a transaction of an environment and one grant for that row, postings and grants never edited or
/// deleted (DESIGN §4). Every grant costs a page of log for each index with keys in no order, so there are few.
public enum Schema {
    /// Each entry is a script of statements separated by `;`, run in one transaction together with the new version.
    ///
    /// The older ones stand here, the others beside the table that they make.
    public static let migrations: [StaticString] = [
        ledger, foreignNotifications, waitingForApple, signedTerms, subscriptions, walletNotes, consumption, transfers,
        previewedOrders, reminders, finance, errands, savedProofs, claims, reconciliations,
        webhooks, refusalBudgets, foreignNotificationApps, otherOwnership, orderIDs,
        ledgerSecret, payingAccounts, customers, ownership, savedProofTurns, webhookTurns, unmatchedTokens,
        quarantineReasons, acceptances, fairTurns, catalogVersions, forgiveness,
        savedProofKinds,
    ]

    private static let ledger: StaticString = """
        CREATE TABLE orders (
            sequence INTEGER PRIMARY KEY,
            id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
            user TEXT NOT NULL,
            product TEXT NOT NULL,
            quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 10),
            status INTEGER NOT NULL CHECK (status BETWEEN 0 AND 6),
            price INTEGER NOT NULL,
            currency TEXT NOT NULL,
            environment INTEGER CHECK (environment IN (1, 2)),
            transaction_id TEXT,
            device TEXT,
            metadata TEXT,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            moves INTEGER NOT NULL,
            CHECK ((transaction_id IS NULL) = (environment IS NULL))
        ) STRICT;
        CREATE INDEX orders_by_user ON orders (user, sequence);
        CREATE INDEX orders_unsettled ON orders (status, sequence) WHERE status <> 1;

        CREATE TABLE order_moves (
            order_sequence INTEGER NOT NULL REFERENCES orders (sequence),
            number INTEGER NOT NULL,
            status INTEGER NOT NULL CHECK (status BETWEEN 0 AND 6),
            at INTEGER NOT NULL,
            reason TEXT NOT NULL,
            PRIMARY KEY (order_sequence, number)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE transactions (
            sequence INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL CHECK (environment IN (1, 2)),
            id TEXT NOT NULL,
            original_id TEXT NOT NULL,
            product TEXT NOT NULL,
            quantity INTEGER NOT NULL,
            token BLOB,
            purchased_at INTEGER NOT NULL,
            signed_at INTEGER NOT NULL,
            revoked_at INTEGER,
            price INTEGER,
            currency TEXT,
            state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
            quarantine TEXT,
            order_sequence INTEGER REFERENCES orders (sequence),
            received_at INTEGER NOT NULL,
            UNIQUE (environment, id),
            CHECK ((state = 2) = (quarantine IS NOT NULL))
        ) STRICT;
        CREATE INDEX transactions_by_order ON transactions (order_sequence) WHERE order_sequence IS NOT NULL;
        CREATE INDEX transactions_unsettled ON transactions (state, sequence) WHERE state <> 1;

        CREATE TABLE proof_headers (
            sequence INTEGER PRIMARY KEY,
            header BLOB NOT NULL UNIQUE
        ) STRICT;

        CREATE TABLE proofs (
            transaction_sequence INTEGER PRIMARY KEY REFERENCES transactions (sequence),
            kind INTEGER NOT NULL CHECK (kind IN (1, 2)),
            header_sequence INTEGER REFERENCES proof_headers (sequence),
            body BLOB NOT NULL
        ) STRICT;

        CREATE TABLE evidence (
            sequence INTEGER PRIMARY KEY,
            transaction_sequence INTEGER NOT NULL REFERENCES transactions (sequence),
            at INTEGER NOT NULL,
            decision TEXT NOT NULL,
            ground TEXT NOT NULL,
            door TEXT NOT NULL,
            caller TEXT NOT NULL
        ) STRICT;
        CREATE INDEX evidence_by_transaction ON evidence (transaction_sequence);
        CREATE TRIGGER evidence_is_never_edited BEFORE UPDATE ON evidence
            BEGIN SELECT RAISE(ABORT, 'evidence is never edited'); END;
        CREATE TRIGGER evidence_is_never_deleted BEFORE DELETE ON evidence
            BEGIN SELECT RAISE(ABORT, 'evidence is never deleted'); END;

        CREATE TABLE grants (
            transaction_sequence INTEGER PRIMARY KEY REFERENCES transactions (sequence),
            id BLOB NOT NULL CHECK (length(id) = 16),
            order_sequence INTEGER NOT NULL REFERENCES orders (sequence),
            user TEXT NOT NULL,
            entitlement TEXT,
            at INTEGER NOT NULL
        ) STRICT;
        CREATE TRIGGER grants_are_never_edited BEFORE UPDATE ON grants
            BEGIN SELECT RAISE(ABORT, 'grants are never edited'); END;
        CREATE TRIGGER grants_are_never_deleted BEFORE DELETE ON grants
            BEGIN SELECT RAISE(ABORT, 'grants are never deleted'); END;

        CREATE TABLE postings (
            sequence INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL CHECK (environment IN (1, 2)),
            user TEXT NOT NULL,
            contra TEXT NOT NULL,
            currency TEXT NOT NULL,
            amount INTEGER NOT NULL CHECK (amount <> 0),
            kind TEXT NOT NULL,
            grant_sequence INTEGER REFERENCES grants (transaction_sequence),
            reference TEXT,
            at INTEGER NOT NULL,
            CHECK ((grant_sequence IS NULL) = (reference IS NOT NULL))
        ) STRICT;
        CREATE INDEX postings_by_user ON postings (user, sequence);
        CREATE UNIQUE INDEX postings_one_purchase ON postings (grant_sequence, currency) WHERE kind = 'purchase';
        CREATE UNIQUE INDEX postings_one_debit ON postings (environment, reference) WHERE kind = 'debit';
        CREATE TRIGGER postings_are_never_edited BEFORE UPDATE ON postings
            BEGIN SELECT RAISE(ABORT, 'postings are never edited'); END;
        CREATE TRIGGER postings_are_never_deleted BEFORE DELETE ON postings
            BEGIN SELECT RAISE(ABORT, 'postings are never deleted'); END;

        CREATE TABLE balances (
            environment INTEGER NOT NULL CHECK (environment IN (1, 2)),
            user TEXT NOT NULL,
            currency TEXT NOT NULL,
            amount INTEGER NOT NULL,
            PRIMARY KEY (environment, user, currency)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE outbox (
            sequence INTEGER PRIMARY KEY,
            type TEXT NOT NULL,
            user TEXT,
            transaction_sequence INTEGER REFERENCES transactions (sequence),
            at INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE notifications (
            sequence INTEGER PRIMARY KEY,
            uuid TEXT NOT NULL UNIQUE,
            environment INTEGER NOT NULL CHECK (environment IN (1, 2)),
            type TEXT NOT NULL,
            subtype TEXT,
            signed_at INTEGER,
            received_at INTEGER NOT NULL,
            state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
            detail TEXT NOT NULL,
            payload TEXT NOT NULL
        ) STRICT;
        CREATE INDEX notifications_pending ON notifications (sequence) WHERE state = 0;

        CREATE TABLE refused_proofs (
            sequence INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            door TEXT NOT NULL,
            caller TEXT NOT NULL,
            claimed_order BLOB,
            code TEXT NOT NULL,
            detail TEXT NOT NULL,
            digest BLOB NOT NULL
        ) STRICT;
        CREATE INDEX refused_proofs_by_order ON refused_proofs (claimed_order) WHERE claimed_order IS NOT NULL;

        CREATE TABLE heartbeat (
            only INTEGER PRIMARY KEY CHECK (only = 1),
            at INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE idempotency_keys (
            credential TEXT NOT NULL,
            route TEXT NOT NULL,
            key TEXT NOT NULL,
            digest BLOB NOT NULL,
            status INTEGER NOT NULL,
            body BLOB NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (credential, route, key)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX idempotency_keys_by_age ON idempotency_keys (at);
        """

    private static let foreignNotifications: StaticString = """
        CREATE TABLE foreign_notifications (
            sequence INTEGER PRIMARY KEY,
            uuid TEXT NOT NULL UNIQUE,
            bundle TEXT,
            app_apple_id INTEGER,
            environment TEXT,
            type TEXT NOT NULL,
            subtype TEXT,
            received_at INTEGER NOT NULL,
            code TEXT NOT NULL,
            detail TEXT NOT NULL,
            payload TEXT NOT NULL
        ) STRICT;
        """

    /// Receipts that Apple has to be asked about, and why a proof was refused in all detail.
    private static let waitingForApple: StaticString = """
        CREATE TABLE waiting_receipts (
            sequence INTEGER PRIMARY KEY,
            digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
            body BLOB NOT NULL
        ) STRICT;

        CREATE TABLE waiting_proofs (
            sequence INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL CHECK (environment IN (1, 2)),
            transaction_id TEXT NOT NULL,
            caller TEXT NOT NULL,
            named_user TEXT,
            claimed_order BLOB NOT NULL,
            receipt_sequence INTEGER NOT NULL REFERENCES waiting_receipts (sequence),
            received_at INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            detail TEXT NOT NULL,
            UNIQUE (environment, transaction_id, caller, claimed_order)
        ) STRICT;
        CREATE INDEX waiting_proofs_due ON waiting_proofs (due_at, sequence);
        CREATE INDEX waiting_proofs_by_receipt ON waiting_proofs (receipt_sequence);

        ALTER TABLE refused_proofs ADD COLUMN record TEXT;
        """
}
