/// What each column of the ledger holds about a person, and what becomes of it when the person is erased: the one list
/// behind the export, the erasure and docs/personal-data.md. A test compares it with the tables of both databases, so a
/// new column has to be added here.
package enum PersonalData {
    /// How a column concerns a person.
    package enum Holding: String, Sendable, CaseIterable {
        /// It concerns no person: keys of rows, states of work, data of the shop and of its operators.
        case none
        /// The number of a customer, by which other rows name the person. After an erasure it leads to no name.
        case customer
        /// What was bought, paid, granted and decided. Kept: money, rights and evidence rest on it.
        case books
        /// What Apple signed, or repeats from it, such as the token of a payment. Kept: the signature covers it.
        case signed
        /// Texts and references of backends and operators in rows that are never edited. Kept.
        case notes
        /// Replaced by a hash under a key that is not in the database.
        case hashed
        /// Removed.
        case removed

        /// Whether it says something about a person besides who it is about.
        package var isPersonal: Bool { self != .none && self != .customer }
        /// Whether an erased customer still has it.
        package var isKept: Bool { self != .hashed && self != .removed }
    }

    /// One table.
    package struct Table: Sendable {
        package let name: String
        /// The columns, by what they hold.
        package let columns: [(holding: Holding, name: String)]

        fileprivate init(_ name: StaticString, _ columns: KeyValuePairs<Holding, StaticString>) {
            self.name = "\(name)"
            self.columns = columns.flatMap { entry in
                "\(entry.value)".split(separator: " ").map { (entry.key, String($0)) }
            }
        }
    }

    package static let tables = customers + purchases + ownership + money + proofs + delivery + work

    /// `table.column` of everything with this holding.
    package static func columns(_ matches: (Holding) -> Bool) -> Set<String> {
        Set(
            tables.flatMap { table in
                table.columns.filter { matches($0.holding) }.map { "\(table.name).\($0.name)" }
            })
    }

    private static let customers: [Table] = [
        Table(
            "customers",
            [
                .customer: "customer_id merged_into", .hashed: "user_id", .books: "kind first_seen",
                .none: "app_id last_event erased_at",
            ]),
        Table("account_tokens", [.customer: "customer_id", .removed: "token since"]),
        Table(
            "account_token_log",
            [.none: "row_id kind", .customer: "customer_id", .hashed: "token", .books: "sealed_token at"]),
        Table(
            "consents",
            [
                .none: "row_id", .customer: "customer_id caller_customer_id", .books: "given at",
                .notes: "caller_kind caller_key",
            ]),
        Table(
            "erasures",
            [
                .none: "row_id app_id caller at position finished_at", .customer: "customer_id",
                .books: "user_hash sealed_name",
            ]),
        Table(
            "imports",
            [
                .none: """
                row_id id format name sha256 environment caller began_at ended_at row_count imported unchanged \
                refused undone_at undone_by undone
                """
            ]),
        Table(
            "imported_purchases",
            [
                .none: "transaction_row_id import_row_id signed_at is_signed", .customer: "customer_id",
                .books: "line undone_at",
            ]),
        Table(
            "imported_balances",
            [
                .none: "row_id import_row_id", .customer: "customer_id",
                .books: "line environment currency amount stated_at undone_at",
            ]),
        Table("imported_tokens", [.none: "import_row_id", .customer: "customer_id", .removed: "token"]),
    ]

    private static let purchases: [Table] = [
        Table(
            "orders",
            [
                .none: "row_id app_id moves id_source catalog_version", .customer: "customer_id",
                .books: """
                id product quantity status price currency environment transaction_id created_at updated_at \
                previewed_at previewed_until
                """,
                .hashed: "device phone", .removed: "metadata reason",
            ]),
        Table("order_moves", [.none: "order_row_id number", .books: "status at", .removed: "reason"]),
        Table(
            "transactions",
            [
                .none: "row_id app_id state order_row_id",
                .signed: """
                environment id original_id product quantity token purchased_at signed_at revoked_at price currency \
                type expires_at is_renewal is_upgraded group_id storefront offer_type offer_id offer_discount \
                revocation_type revocation_percentage ownership_type app_transaction
                """,
                .books: "quarantine received_at",
            ]),
        Table(
            "grants",
            [
                .none: "transaction_row_id order_row_id catalog_version decision", .customer: "customer_id",
                .books: "id entitlement at", .notes: "caller_key",
            ]),
        Table("grant_decisions", [.none: "number ground source caller_kind"]),
        Table(
            "evidence",
            [
                .none: "row_id transaction_row_id", .customer: "caller_customer_id",
                .books: "at decision ground source", .notes: "caller_kind caller_key detail",
            ]),
        Table(
            "subscriptions",
            [
                .none: "row_id renewal_signed_at updated_at",
                .signed: """
                environment original_id renewal_product auto_renews in_billing_retry grace_until expiration_intent \
                price_increase renewal_price renewal_currency renewal_at renewal_offer_type renewal_offer_id \
                renewal_offer_discount renewal_proof
                """,
            ]),
        Table("subscription_periods", [.none: "subscription_row_id transaction_row_id"]),
        Table("purchases_with_rights", [.none: "transaction_row_id", .customer: "customer_id"]),
    ]

    private static let ownership: [Table] = [
        Table(
            "grant_owners",
            [.none: "grant_row_id", .books: "environment original_id", .customer: "customer_id"]),
        Table(
            "ownership_basis",
            [
                .none: "grant_row_id environment lookup_at lookup_attempts", .customer: "customer_id",
                .books: "basis hold_until withdrawn_at", .signed: "contested_token",
            ]),
        Table("distrusted_receipts", [.customer: "customer_id", .books: "since"]),
        Table(
            "transfers",
            [
                .none: "row_id reverses", .books: "id kind at",
                .customer: "from_customer_id to_customer_id caller_customer_id",
                .notes: "reason caller_kind caller_key operator",
            ]),
        Table("transfer_items", [.none: "transfer_row_id grant_row_id"]),
        Table("transfer_points", [.none: "transfer_row_id", .books: "environment currency amount"]),
        Table(
            "claims",
            [
                .none: "row_id transaction_row_id attempts due_at detail is_acceptance",
                .books: "id state answer at ended_at", .customer: "customer_id caller_customer_id",
                .removed: "order_number", .notes: "reason caller_kind caller_key operator",
            ]),
        Table(
            "quarantine_reasons",
            [
                .none: "transaction_row_id", .customer: "caller_customer_id",
                .books: "reason submissions first_at last_at", .notes: "caller_kind caller_key",
            ]),
    ]

    private static let money: [Table] = [
        Table(
            "postings",
            [
                .none: "row_id grant_row_id transfer_row_id", .customer: "customer_id caller_customer_id",
                .books: "environment contra currency amount kind at", .notes: "reference reason caller_kind caller_key",
            ]),
        Table("balances", [.none: "app_id", .customer: "customer_id", .books: "environment currency amount"]),
        Table("apple_reports", [.none: "row_id digest name imported_at actor starts_on ends_on lines body"]),
        Table(
            "consumption_requests",
            [
                .none: "row_id notification_row_id environment transaction_id attempts due_at detail",
                .signed: "reason requested_at answer_by", .books: "state answer ended_at",
            ]),
        Table(
            "reminders",
            [
                .none: "row_id subject", .customer: "customer_id",
                .books: "environment kind entitlement product expires_at renews due_at sent_at",
            ]),
    ]

    private static let proofs: [Table] = [
        Table("proof_headers", [.none: "row_id header"]),
        Table("proofs", [.none: "transaction_row_id kind header_row_id", .signed: "body"]),
        Table("compressed_proofs", [.none: "transaction_row_id header_row_id", .signed: "body"]),
        Table(
            "refused_proofs",
            [
                .none: "row_id digest budget caller_kind caller_key", .customer: "caller_customer_id",
                .removed: "at source claimed_order code detail record count last_at",
            ]),
        Table(
            "saved_proofs",
            [
                .none: "row_id kind claimed_order attempts due_at detail", .signed: "environment transaction_id body",
                .books: "received_at", .hashed: "caller named_user device phone", .removed: "network",
            ]),
        Table(
            "waiting_proofs",
            [
                .none: "row_id claimed_order receipt_row_id attempts due_at detail is_recorded",
                .signed: "environment transaction_id", .books: "received_at", .hashed: "caller named_user device phone",
                .removed: "network",
            ]),
        Table("waiting_receipts", [.none: "row_id digest", .signed: "body"]),
        Table(
            "notifications",
            [
                .none: "row_id app_id uuid environment type subtype signed_at received_at state detail",
                .signed: "payload",
            ]),
        Table(
            "foreign_notifications",
            [
                .none: """
                row_id uuid bundle app_apple_id environment type subtype received_at code detail
                """,
                .signed: "payload",
            ]),
        Table("unmatched_tokens", [.signed: "token", .none: "environment first_seen"]),
    ]

    private static let delivery: [Table] = [
        Table(
            "outbox",
            [
                .none: "row_id transaction_row_id transfer_row_id key_hash revision version",
                .customer: "customer_id", .books: "event_id type user_sequence at body",
            ]),
        Table("seals", [.none: "row_id first_position last_position digest mac at stream is_found"]),
        Table("sealed_changes", [.none: "row_id stream changed_row_id at", .books: "was now"]),
        Table("seal_summary", [.none: "single_row at mac"]),
        Table("seal_gaps", [.none: "stream position at seal_row_id"]),
        Table("event_positions", [.none: "position event_row_id seal_row_id"]),
        Table("unplaced_events", [.none: "event_row_id"]),
        Table(
            "webhook_endpoints",
            [
                .none: """
                row_id id url position created_at is_silent rests_until gone_at succeeded_at failed_at error
                """
            ]),
        Table(
            "webhook_deliveries",
            [
                .none: """
                row_id endpoint_row_id event_position queue state attempts due_at attempted_at status error ended_at
                """,
                .customer: "customer_id",
            ]),
        Table(
            "webhook_replays",
            [.none: "row_id endpoint_row_id from_at to_at position last_row_id count created_at ended_at"]),
        Table(
            "idempotency_keys",
            [
                .none: "app_id query_digest environment digest lease_until status",
                .removed: "credential method path key body at",
            ]),
    ]

    /// The shop's own data, and the work of servers.
    private static let work: [Table] = [
        Table("apps", [.none: "app_id bundle_id"]),
        Table("catalog_versions", [.none: "version app_id sha256 body since"]),
        Table("ledger", [.none: "single_row ledger_id epoch secret created_at"]),
        Table("ledger_restores", [.none: "epoch taken_at restored_at first_position last_run"]),
        Table("heartbeat", [.none: "single_row at"]),
        Table("leases", [.none: "name holder term until"]),
        Table("commit_marks", [.none: "number code"]),
        Table("server_activity", [.none: "single_row at chains_seen"]),
        Table(
            "apple_tasks",
            [.none: "row_id kind transaction_row_id state attempts due_at detail", .signed: "token"]),
        Table(
            "apple_chains",
            [
                .none: "row_id history_run history_revision refunds_run refunds_revision refusal",
                .signed: "environment original_id customer",
            ]),
        Table(
            "reconciliations",
            [
                .none: """
                row_id environments reason caller since state environment phase position done subject token \
                has_undecided began_at progressed_at attempts waits_until waits_for ended_at ending
                """
            ]),
        Table("reconciliation_counts", [.none: "run environment name count"]),
        Table(
            "differences",
            [
                .none: "row_id run notification_uuid environment",
                .books: "kind transaction_id order_id was now purchased_at found_at",
            ]),
    ]
}
