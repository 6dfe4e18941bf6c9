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
}
