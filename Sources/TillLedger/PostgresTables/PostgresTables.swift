/// PostgreSQL's text of the migrations in `Schema`. A test compares the tables that both texts make: names, columns,
/// rules, keys and indices.
///
/// The differences, apart from the names of types:
/// - `row_id` is an identity column. The driver draws ids from its sequence.
/// - Text compares by its bytes, whatever the database's collation, as on SQLite. Equal texts have equal bytes in both.
/// - No row refers to `apps`, `catalog_versions` or `proof_headers` by a foreign key: nearly every purchase refers to
///   the same row of them, and would lock it. The audit finds a missing row (`AuditWalk.references`).
/// - A proof's header is longer than an entry of a sorted index may be, so a hash index keeps it unique.
/// - What is never edited and never deleted is also never truncated.
enum PostgresTables {
    static let first: [StaticString] = [
        rules, customers, catalogVersions, orders, purchases, proofsAndNotifications, foreignNotifications,
        waitingForApple, subscriptions, consumption, transfers, postings, webhooks, reminders, finance, appleTasks,
        savedProofs, claims, reconciliations, accountTokens, ledger, ownership, quarantineReasons,
    ]

    /// The trigger states the rule that it enforces. The error's class is that of the other constraints.
    private static let rules: StaticString = """
        CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE = TG_ARGV[0];
        END
        $$;
        """

    static let phones: StaticString = """
        ALTER TABLE orders ADD COLUMN phone TEXT COLLATE "C";
        ALTER TABLE saved_proofs ADD COLUMN phone TEXT COLLATE "C";
        ALTER TABLE waiting_proofs ADD COLUMN phone TEXT COLLATE "C";
        DROP INDEX orders_by_device;
        CREATE INDEX orders_by_phone ON orders (coalesce(phone, device), row_id)
            WHERE coalesce(phone, device) IS NOT NULL;
        CREATE INDEX orders_refunded_by_user ON orders (customer_id, row_id) WHERE status = 6;
        """

    static let rightsIndices: StaticString = """
        CREATE INDEX transactions_with_rights ON transactions (order_row_id)
            WHERE order_row_id IS NOT NULL AND (coalesce(type, 0) <> 1 OR state = 3);
        CREATE INDEX grants_with_entitlement ON grants (customer_id) WHERE entitlement IS NOT NULL;
        """

    /// Servers of earlier releases go on: events are stored whole here.
    static let shortEvents: StaticString = """
        SELECT 1;
        """

    /// Servers of earlier releases go on: tokens are stored whole here.
    static let shortTokens: StaticString = """
        SELECT 1;
        """

    /// Null here, as servers of earlier releases go on: all entries are in `order_moves`.
    static let orderReasons: StaticString = """
        ALTER TABLE orders ADD COLUMN reason TEXT COLLATE "C";
        """

    /// `grants.decision` is null here, as servers of earlier releases go on: `evidence` has all decisions.
    static let grantDecisions: StaticString = """
        CREATE TABLE grant_decisions (
            number BIGINT PRIMARY KEY,
            ground TEXT COLLATE "C" NOT NULL,
            source TEXT COLLATE "C" NOT NULL,
            caller_kind TEXT COLLATE "C" NOT NULL
        );
        INSERT INTO grant_decisions (number, ground, source, caller_kind) VALUES
            (1, 'token', 'app', 'user'), (2, 'token', 'app', 'key'), (3, 'token', 'restore', 'user'),
            (4, 'token', 'restore', 'key'), (5, 'token', 'notification', 'apple'),
            (6, 'token', 'reconciliation', 'apple'), (7, 'account_token', 'app', 'user'),
            (8, 'account_token', 'app', 'key'), (9, 'account_token', 'restore', 'user'),
            (10, 'account_token', 'restore', 'key'), (11, 'account_token', 'notification', 'apple'),
            (12, 'account_token', 'reconciliation', 'apple');
        CREATE TRIGGER grant_decisions_are_never_edited BEFORE UPDATE ON grant_decisions FOR EACH ROW
            EXECUTE FUNCTION refuse_change('decisions of grants are never edited');
        CREATE TRIGGER grant_decisions_are_never_deleted BEFORE DELETE ON grant_decisions FOR EACH ROW
            EXECUTE FUNCTION refuse_change('decisions of grants are never deleted');
        CREATE TRIGGER grant_decisions_are_never_truncated BEFORE TRUNCATE ON grant_decisions FOR EACH STATEMENT
            EXECUTE FUNCTION refuse_change('decisions of grants are never deleted');
        ALTER TABLE grants ADD COLUMN decision BIGINT REFERENCES grant_decisions (number);
        ALTER TABLE grants ADD COLUMN caller_key TEXT COLLATE "C";
        """

    static let leases: StaticString = """
        CREATE TABLE leases (
            name TEXT COLLATE "C" PRIMARY KEY,
            holder TEXT COLLATE "C" NOT NULL,
            term BIGINT NOT NULL,
            until BIGINT NOT NULL
        );
        """

    static let compressedProofs: StaticString = """
        CREATE TABLE compressed_proofs (
            transaction_row_id BIGINT PRIMARY KEY REFERENCES transactions (row_id),
            header_row_id BIGINT NOT NULL,
            body BYTEA NOT NULL
        );
        """

    static let erasures: StaticString = """
        CREATE TABLE erasures (
            row_id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            app_id BIGINT NOT NULL DEFAULT 1,
            customer_id BIGINT NOT NULL UNIQUE REFERENCES customers (customer_id),
            user_hash BYTEA NOT NULL CHECK (length(user_hash) = 32),
            caller TEXT COLLATE "C" NOT NULL,
            at BIGINT NOT NULL,
            position BIGINT NOT NULL,
            finished_at BIGINT
        );
        CREATE INDEX erasures_by_hash ON erasures (user_hash, row_id);
        CREATE INDEX erasures_unfinished ON erasures (row_id) WHERE finished_at IS NULL;
        """
}
