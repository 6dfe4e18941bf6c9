import TillCrypto
import TillSQL

extension DatabaseSchema {
    /// The ledger's schema. Its files are marked with "Till" in ASCII.
    public static let ledger = DatabaseSchema(
        migrations: [
            Schema.migration(Schema.first, PostgresTables.first),
            Schema.migration([Schema.phones], [PostgresTables.phones]),
            Schema.migration([Schema.leases], [PostgresTables.leases]),
            Schema.migration([Schema.compressedProofs], [PostgresTables.compressedProofs]),
            Schema.migration([Schema.erasures], [PostgresTables.erasures]),
            Schema.migration([Schema.ledgerRestores], [PostgresTables.ledgerRestores]),
            Schema.migration([Schema.sealStreams], [PostgresTables.sealStreams]),
            Schema.migration([Schema.imports], [PostgresTables.imports]),
            Schema.migration([Schema.accountTokenLog], [PostgresTables.accountTokenLog]),
            Schema.migration([Schema.commitMarks], [PostgresTables.commitMarks]),
            Schema.migration([Schema.rightsIndices], [PostgresTables.rightsIndices]),
            Schema.migration([Schema.shortEvents], [PostgresTables.shortEvents]),
            Schema.migration([Schema.purchasesWithRights], [PostgresTables.purchasesWithRights]),
            Schema.migration([Schema.shortTokens], [PostgresTables.shortTokens]),
            Schema.migration([Schema.orderReasons], [PostgresTables.orderReasons]),
            Schema.migration([Schema.grantDecisions], [PostgresTables.grantDecisions]),
            Schema.migration([Schema.listedWhenInserted], [PostgresTables.listedWhenInserted]),
        ],
        applicationID: 0x5469_6C6C, firstVersion: Schema.firstVersion,
        appendOnlyTables: [
            "catalog_versions", "evidence", "grants", "grant_decisions", "consents", "transfers", "postings", "outbox",
        ],
        watchedTables: SealedStream.allCases.map(\.table))
}

/// The tables, as a list of migrations: the database's version is the number of the last migration applied. A released
/// migration is never edited; a change is a new migration at the end. Each has a second text in `PostgresTables`.
///
/// Times are milliseconds since 1970 UTC. Environments are 1 production, 2 sandbox, and no constraint forbids a third.
/// Booleans are 1 and 0, and are compared with these values. Rows refer to each other by `row_id`, a small row id
/// that follows the order of insertion. The database enforces the rules that it can: one row for each transaction of an
/// environment and one grant for that row, postings and grants never edited or deleted (DESIGN §4). Every grant costs a
/// page of log for each index with unordered keys, so there are few such indices.
///
/// No table and no column has a name that PostgreSQL reserves (docs/decisions/0057).
public enum Schema {
    static func migration(
        _ scripts: [StaticString], _ postgres: [StaticString], _ phase: Migration.Phase = .expand
    ) -> Migration {
        func digest(_ scripts: [StaticString]) -> [UInt8] {
            Digest.sha256.hash(Array(scripts.map { "\($0)" }.joined(separator: "\n").utf8))
        }
        return Migration(
            scripts, postgres: postgres, phase: phase, sha256: digest(scripts), postgresSHA256: digest(postgres))
    }

    /// Lower numbers are files from before the first release.
    static let firstVersion = 101

    /// Scripts of statements separated by `;`, run in one transaction together with the version's number. Some are
    /// defined here, the others beside their tables. A table comes after the tables that it refers to.
    static let first: [StaticString] = [
        customers, catalogVersions, orders, purchases, proofsAndNotifications, foreignNotifications, waitingForApple,
        subscriptions, consumption, transfers, postings, webhooks, reminders, finance, appleTasks, savedProofs, claims,
        reconciliations, accountTokens, ledger, ownership, quarantineReasons,
    ]

    /// The buyer's phone, beside the device that a plan is for. Orders that name only a device are matched by it. A
    /// grant writes to neither index.
    static let phones: StaticString = """
        ALTER TABLE orders ADD COLUMN phone TEXT;
        ALTER TABLE saved_proofs ADD COLUMN phone TEXT;
        ALTER TABLE waiting_proofs ADD COLUMN phone TEXT;
        DROP INDEX orders_by_device;
        CREATE INDEX orders_by_phone ON orders (coalesce(phone, device), row_id)
            WHERE coalesce(phone, device) IS NOT NULL;
        CREATE INDEX orders_refunded_by_user ON orders (customer_id, row_id) WHERE status = 6;
        """

    /// What may give a right: a purchase of points alone writes to neither index, and a customer's rights are read
    /// without their purchases of points (`PurchaseHistory`).
    static let rightsIndices: StaticString = """
        CREATE INDEX transactions_with_rights ON transactions (order_row_id)
            WHERE order_row_id IS NOT NULL AND (coalesce(type, 0) <> 1 OR state = 3);
        CREATE INDEX grants_with_entitlement ON grants (customer_id) WHERE entitlement IS NOT NULL;
        """

    /// Changes no table: programs that do not know `ShortToken` must not open the file.
    static let shortTokens: StaticString = """
        SELECT 1;
        """

    /// Changes no table: programs that do not know short events (`OutboxTable.Form`) must not open the file.
    static let shortEvents: StaticString = """
        SELECT 1;
        """

    /// Work that one server at a time does, where several share the database. Each new holder gets the next term.
    static let leases: StaticString = """
        CREATE TABLE leases (
            name TEXT PRIMARY KEY,
            holder TEXT NOT NULL,
            term INTEGER NOT NULL,
            until INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    /// Signed transactions as `CompressedProof` writes them. A table of its own, because rows that shrink where they
    /// are leave their pages half empty: `proofs` gives its pages back, and this table fills its own one by one.
    static let compressedProofs: StaticString = """
        CREATE TABLE compressed_proofs (
            transaction_row_id INTEGER PRIMARY KEY REFERENCES transactions (row_id),
            header_row_id INTEGER NOT NULL REFERENCES proof_headers (row_id),
            body BLOB NOT NULL
        ) STRICT;
        """

    /// `orders_by_device` covers all orders of a device, so a grant does not write to it.
    private static let orders: StaticString = """
        CREATE TABLE orders (
            row_id INTEGER PRIMARY KEY,
            app_id INTEGER NOT NULL DEFAULT 1 REFERENCES apps (app_id),
            id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
            customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
            product TEXT NOT NULL,
            quantity INTEGER NOT NULL CHECK (quantity > 0),
            status INTEGER NOT NULL CHECK (status BETWEEN 0 AND 6),
            price INTEGER NOT NULL,
            currency TEXT NOT NULL,
            environment INTEGER,
            transaction_id TEXT,
            device TEXT,
            metadata TEXT,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            moves INTEGER NOT NULL,
            previewed_at INTEGER,
            previewed_until INTEGER,
            id_source INTEGER NOT NULL CHECK (id_source BETWEEN 1 AND 6),
            catalog_version INTEGER REFERENCES catalog_versions (version),
            CHECK ((transaction_id IS NULL) = (environment IS NULL)),
            CHECK ((previewed_at IS NULL) = (previewed_until IS NULL))
        ) STRICT;
        CREATE INDEX orders_by_user ON orders (customer_id, row_id);
        CREATE INDEX orders_not_completed ON orders (status, row_id) WHERE status <> 1;
        CREATE INDEX orders_by_device ON orders (device, row_id) WHERE device IS NOT NULL;

        CREATE TABLE order_moves (
            order_row_id INTEGER NOT NULL REFERENCES orders (row_id),
            number INTEGER NOT NULL,
            status INTEGER NOT NULL CHECK (status BETWEEN 0 AND 6),
            at INTEGER NOT NULL,
            reason TEXT NOT NULL,
            PRIMARY KEY (order_row_id, number)
        ) STRICT, WITHOUT ROWID;
        """

    /// Types of transactions are 1 consumable, 2 non-consumable, 3 auto-renewable, 4 non-renewing, 5 free; null is a
    /// type that the server did not know. `ownership_type` is Apple's raw value, and null for PURCHASED and if Apple
    /// stated none. `price` is in Apple's milliunits, as signed. `app_transaction` is Apple's id of the account in this
    /// app. `grants.catalog_version` is the catalogue that defines what the grant gives.
    private static let purchases: StaticString = """
        CREATE TABLE transactions (
            row_id INTEGER PRIMARY KEY,
            app_id INTEGER NOT NULL DEFAULT 1 REFERENCES apps (app_id),
            environment INTEGER NOT NULL,
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
            order_row_id INTEGER REFERENCES orders (row_id),
            received_at INTEGER NOT NULL,
            type INTEGER,
            expires_at INTEGER,
            is_renewal INTEGER NOT NULL DEFAULT 0,
            is_upgraded INTEGER NOT NULL DEFAULT 0,
            group_id TEXT,
            storefront TEXT,
            offer_type INTEGER,
            offer_id TEXT,
            offer_discount TEXT,
            revocation_type TEXT,
            revocation_percentage INTEGER,
            ownership_type TEXT,
            app_transaction TEXT,
            UNIQUE (environment, id, app_id),
            CHECK ((state = 2) = (quarantine IS NOT NULL))
        ) STRICT;
        CREATE INDEX transactions_by_order ON transactions (order_row_id) WHERE order_row_id IS NOT NULL;
        CREATE INDEX transactions_not_granted ON transactions (state, row_id) WHERE state <> 1;

        CREATE TABLE proof_headers (
            row_id INTEGER PRIMARY KEY,
            header BLOB NOT NULL UNIQUE
        ) STRICT;

        CREATE TABLE proofs (
            transaction_row_id INTEGER PRIMARY KEY REFERENCES transactions (row_id),
            kind INTEGER NOT NULL CHECK (kind IN (1, 2)),
            header_row_id INTEGER REFERENCES proof_headers (row_id),
            body BLOB NOT NULL
        ) STRICT;

        CREATE TABLE evidence (
            row_id INTEGER PRIMARY KEY,
            transaction_row_id INTEGER NOT NULL REFERENCES transactions (row_id),
            at INTEGER NOT NULL,
            decision TEXT NOT NULL,
            ground TEXT NOT NULL,
            source TEXT NOT NULL,
            caller_kind TEXT NOT NULL,
            caller_customer_id INTEGER REFERENCES customers (customer_id),
            caller_key TEXT,
            detail TEXT,
            CHECK ((caller_kind = 'user') = (caller_customer_id IS NOT NULL))
        ) STRICT;
        CREATE INDEX evidence_by_transaction ON evidence (transaction_row_id);
        CREATE TRIGGER evidence_is_never_edited BEFORE UPDATE ON evidence
            BEGIN SELECT RAISE(ABORT, 'evidence is never edited'); END;
        CREATE TRIGGER evidence_is_never_deleted BEFORE DELETE ON evidence
            BEGIN SELECT RAISE(ABORT, 'evidence is never deleted'); END;

        CREATE TABLE grants (
            transaction_row_id INTEGER PRIMARY KEY REFERENCES transactions (row_id),
            id BLOB NOT NULL CHECK (length(id) = 16),
            order_row_id INTEGER NOT NULL REFERENCES orders (row_id),
            customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
            entitlement TEXT,
            catalog_version INTEGER REFERENCES catalog_versions (version),
            at INTEGER NOT NULL
        ) STRICT;
        CREATE TRIGGER grants_are_never_edited BEFORE UPDATE ON grants
            BEGIN SELECT RAISE(ABORT, 'grants are never edited'); END;
        CREATE TRIGGER grants_are_never_deleted BEFORE DELETE ON grants
            BEGIN SELECT RAISE(ABORT, 'grants are never deleted'); END;

        """

    /// Every change of a balance. Its cause is the grant it belongs to, the transfer that moved it, or the request
    /// whose reference it carries.
    private static let postings: StaticString = """
        CREATE TABLE postings (
            row_id INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL,
            customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
            contra TEXT NOT NULL,
            currency TEXT NOT NULL,
            amount INTEGER NOT NULL CHECK (amount <> 0),
            kind TEXT NOT NULL,
            grant_row_id INTEGER REFERENCES grants (transaction_row_id),
            transfer_row_id INTEGER REFERENCES transfers (row_id),
            reference TEXT,
            at INTEGER NOT NULL,
            reason TEXT,
            caller_kind TEXT,
            caller_customer_id INTEGER REFERENCES customers (customer_id),
            caller_key TEXT,
            CHECK ((caller_kind = 'user') = (caller_customer_id IS NOT NULL)),
            CHECK ((grant_row_id IS NULL) = (reference IS NOT NULL)),
            CHECK (kind <> 'moved' OR grant_row_id IS NOT NULL OR transfer_row_id IS NOT NULL)
        ) STRICT;
        CREATE INDEX postings_by_user ON postings (customer_id, row_id);
        CREATE UNIQUE INDEX postings_one_purchase ON postings (grant_row_id, currency) WHERE kind = 'purchase';
        CREATE UNIQUE INDEX postings_one_debit ON postings (environment, reference) WHERE kind = 'debit';
        CREATE UNIQUE INDEX postings_one_manual ON postings (environment, kind, reference)
            WHERE kind IN ('bonus', 'correction');
        CREATE INDEX postings_written_off ON postings (customer_id, environment, at) WHERE kind = 'write_off';
        CREATE TRIGGER postings_are_never_edited BEFORE UPDATE ON postings
            BEGIN SELECT RAISE(ABORT, 'postings are never edited'); END;
        CREATE TRIGGER postings_are_never_deleted BEFORE DELETE ON postings
            BEGIN SELECT RAISE(ABORT, 'postings are never deleted'); END;

        CREATE TABLE balances (
            app_id INTEGER NOT NULL DEFAULT 1 REFERENCES apps (app_id),
            environment INTEGER NOT NULL,
            customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
            currency TEXT NOT NULL,
            amount INTEGER NOT NULL,
            PRIMARY KEY (environment, customer_id, currency)
        ) STRICT, WITHOUT ROWID;
        """

    /// `app_id` comes last in a unique key, so that searches do not compare it first.
    private static let proofsAndNotifications: StaticString = """
        CREATE TABLE notifications (
            row_id INTEGER PRIMARY KEY,
            app_id INTEGER NOT NULL DEFAULT 1 REFERENCES apps (app_id),
            uuid TEXT NOT NULL UNIQUE,
            environment INTEGER NOT NULL,
            type TEXT NOT NULL,
            subtype TEXT,
            signed_at INTEGER,
            received_at INTEGER NOT NULL,
            state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
            detail TEXT NOT NULL,
            payload TEXT NOT NULL
        ) STRICT;
        CREATE INDEX notifications_pending ON notifications (row_id) WHERE state = 0;

        CREATE TABLE refused_proofs (
            row_id INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            source TEXT NOT NULL,
            caller_kind TEXT NOT NULL,
            caller_customer_id INTEGER REFERENCES customers (customer_id),
            caller_key TEXT,
            claimed_order BLOB,
            code TEXT NOT NULL,
            detail TEXT NOT NULL,
            digest BLOB NOT NULL,
            record TEXT,
            budget TEXT NOT NULL,
            count INTEGER NOT NULL,
            last_at INTEGER,
            CHECK ((caller_kind = 'user') = (caller_customer_id IS NOT NULL))
        ) STRICT;
        CREATE INDEX refused_proofs_by_order ON refused_proofs (claimed_order) WHERE claimed_order IS NOT NULL;
        CREATE INDEX refused_proofs_by_budget ON refused_proofs (budget, row_id);
        CREATE INDEX refused_proofs_by_digest ON refused_proofs (digest);

        CREATE TABLE heartbeat (
            single_row INTEGER PRIMARY KEY CHECK (single_row = 1),
            at INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE idempotency_keys (
            app_id INTEGER NOT NULL DEFAULT 1 REFERENCES apps (app_id),
            credential TEXT NOT NULL,
            method TEXT NOT NULL,
            path TEXT NOT NULL,
            query_digest BLOB NOT NULL,
            environment INTEGER NOT NULL,
            key TEXT NOT NULL,
            digest BLOB NOT NULL,
            lease_until INTEGER,
            status INTEGER,
            body BLOB,
            at INTEGER NOT NULL,
            PRIMARY KEY (credential, method, path, query_digest, environment, key, app_id),
            CHECK ((status IS NULL) = (lease_until IS NOT NULL)),
            CHECK ((status IS NULL) = (body IS NULL))
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX idempotency_keys_by_age ON idempotency_keys (at);
        """

    private static let foreignNotifications: StaticString = """
        CREATE TABLE foreign_notifications (
            row_id INTEGER PRIMARY KEY,
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
        CREATE INDEX foreign_notifications_by_bundle ON foreign_notifications (bundle, row_id);
        """

    /// Receipts about which Apple has to be asked. `network` is the client network that submitted the proof (an
    /// address, for IPv6 a /64; empty if unknown); it is used to alternate between clients, and is deleted with its
    /// row. `is_recorded` says whether the ledger has processed the claims beside the receipt, so that only Apple's
    /// copy is awaited.
    private static let waitingForApple: StaticString = """
        CREATE TABLE waiting_receipts (
            row_id INTEGER PRIMARY KEY,
            digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
            body BLOB NOT NULL
        ) STRICT;

        CREATE TABLE waiting_proofs (
            row_id INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL,
            transaction_id TEXT NOT NULL,
            caller TEXT NOT NULL,
            named_user TEXT,
            claimed_order BLOB NOT NULL,
            receipt_row_id INTEGER NOT NULL REFERENCES waiting_receipts (row_id),
            received_at INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            detail TEXT NOT NULL,
            device TEXT,
            network TEXT NOT NULL,
            is_recorded INTEGER NOT NULL CHECK (is_recorded IN (0, 1)),
            UNIQUE (environment, transaction_id, caller, claimed_order)
        ) STRICT;
        CREATE INDEX waiting_proofs_due ON waiting_proofs (environment, due_at, row_id);
        CREATE INDEX waiting_proofs_by_receipt ON waiting_proofs (receipt_row_id);
        """
}
