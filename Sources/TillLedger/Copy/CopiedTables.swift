extension CopiedTable {
    /// Every table whose rows are the ledger's, after those that it refers to. A test compares them with the schemas.
    /// `leases`, `heartbeat` and `commit_marks` concern running servers; the tables of the schema's versions are the
    /// driver's.
    package static let all: [CopiedTable] = purchases + work

    private static let purchases: [CopiedTable] = [
        CopiedTable("apps", key: ["app_id"], ["app_id": .integer, "bundle_id": .text]),
        CopiedTable(
            "customers", key: ["customer_id"], later: "merged_into",
            [
                "customer_id": .integer, "app_id": .integer, "user_id": .text, "kind": .integer,
                "merged_into": .integer, "last_event": .integer, "first_seen": .integer, "erased_at": .integer,
            ]),
        CopiedTable(
            "catalog_versions", key: ["version"],
            [
                "version": .integer, "app_id": .integer, "sha256": .blob, "body": .blob, "since": .integer,
            ]),
        CopiedTable(
            "orders", key: ["row_id"],
            [
                "row_id": .integer, "app_id": .integer, "id": .blob, "customer_id": .integer, "product": .text,
                "quantity": .integer, "status": .integer, "price": .integer, "currency": .text,
                "environment": .integer, "transaction_id": .text, "device": .text, "metadata": .text,
                "created_at": .integer, "updated_at": .integer, "moves": .integer, "previewed_at": .integer,
                "previewed_until": .integer, "id_source": .integer, "catalog_version": .integer, "phone": .text,
                "reason": .text,
            ]),
        CopiedTable(
            "order_moves", key: ["order_row_id", "number"],
            [
                "order_row_id": .integer, "number": .integer, "status": .integer, "at": .integer, "reason": .text,
            ]),
        CopiedTable(
            "transactions", key: ["row_id"],
            [
                "row_id": .integer, "app_id": .integer, "environment": .integer, "id": .text, "original_id": .text,
                "product": .text, "quantity": .integer, "token": .blob, "purchased_at": .integer,
                "signed_at": .integer, "revoked_at": .integer, "price": .integer, "currency": .text,
                "state": .integer, "quarantine": .text, "order_row_id": .integer, "received_at": .integer,
                "type": .integer, "expires_at": .integer, "is_renewal": .integer, "is_upgraded": .integer,
                "group_id": .text, "storefront": .text, "offer_type": .integer, "offer_id": .text,
                "offer_discount": .text, "revocation_type": .text, "revocation_percentage": .integer,
                "ownership_type": .text, "app_transaction": .text,
            ]),
        CopiedTable("proof_headers", key: ["row_id"], ["row_id": .integer, "header": .blob]),
        CopiedTable(
            "proofs", key: ["transaction_row_id"],
            [
                "transaction_row_id": .integer, "kind": .integer, "header_row_id": .integer, "body": .blob,
            ]),
        CopiedTable(
            "compressed_proofs", key: ["transaction_row_id"],
            ["transaction_row_id": .integer, "header_row_id": .integer, "body": .blob]),
        CopiedTable(
            "evidence", key: ["row_id"],
            [
                "row_id": .integer, "transaction_row_id": .integer, "at": .integer, "decision": .text,
                "ground": .text, "source": .text, "caller_kind": .text, "caller_customer_id": .integer,
                "caller_key": .text, "detail": .text,
            ]),
        CopiedTable(
            "grants", key: ["transaction_row_id"],
            [
                "transaction_row_id": .integer, "id": .blob, "order_row_id": .integer, "customer_id": .integer,
                "entitlement": .text, "catalog_version": .integer, "at": .integer, "decision": .integer,
                "caller_key": .text,
            ]),
        CopiedTable(
            "notifications", key: ["row_id"],
            [
                "row_id": .integer, "app_id": .integer, "uuid": .text, "environment": .integer, "type": .text,
                "subtype": .text, "signed_at": .integer, "received_at": .integer, "state": .integer, "detail": .text,
                "payload": .text,
            ]),
        CopiedTable(
            "refused_proofs", key: ["row_id"],
            [
                "row_id": .integer, "at": .integer, "source": .text, "caller_kind": .text,
                "caller_customer_id": .integer, "caller_key": .text, "claimed_order": .blob, "code": .text,
                "detail": .text, "digest": .blob, "record": .text, "budget": .text, "count": .integer,
                "last_at": .integer,
            ]),
        CopiedTable(
            "idempotency_keys",
            key: ["credential", "method", "path", "query_digest", "environment", "key", "app_id"],
            [
                "app_id": .integer, "credential": .text, "method": .text, "path": .text, "query_digest": .blob,
                "environment": .integer, "key": .text, "digest": .blob, "lease_until": .integer, "status": .integer,
                "body": .blob, "at": .integer,
            ]),
        CopiedTable(
            "foreign_notifications", key: ["row_id"],
            [
                "row_id": .integer, "uuid": .text, "bundle": .text, "app_apple_id": .integer, "environment": .text,
                "type": .text, "subtype": .text, "received_at": .integer, "code": .text, "detail": .text,
                "payload": .text,
            ]),
        CopiedTable("waiting_receipts", key: ["row_id"], ["row_id": .integer, "digest": .blob, "body": .blob]),
        CopiedTable(
            "waiting_proofs", key: ["row_id"],
            [
                "row_id": .integer, "environment": .integer, "transaction_id": .text, "caller": .text,
                "named_user": .text, "claimed_order": .blob, "receipt_row_id": .integer, "received_at": .integer,
                "attempts": .integer, "due_at": .integer, "detail": .text, "device": .text, "network": .text,
                "is_recorded": .integer, "phone": .text,
            ]),
        CopiedTable(
            "subscriptions", key: ["row_id"],
            [
                "row_id": .integer, "environment": .integer, "original_id": .text, "renewal_signed_at": .integer,
                "renewal_product": .text, "auto_renews": .integer, "in_billing_retry": .integer,
                "grace_until": .integer, "expiration_intent": .integer, "price_increase": .integer,
                "renewal_price": .integer, "renewal_currency": .text, "renewal_at": .integer,
                "renewal_offer_type": .integer, "renewal_offer_id": .text, "renewal_offer_discount": .text,
                "renewal_proof": .blob, "updated_at": .integer,
            ]),
        CopiedTable(
            "subscription_periods", key: ["subscription_row_id", "transaction_row_id"],
            [
                "subscription_row_id": .integer, "transaction_row_id": .integer,
            ]),
        CopiedTable(
            "consents", key: ["row_id"],
            [
                "row_id": .integer, "customer_id": .integer, "given": .integer, "caller_kind": .text,
                "caller_customer_id": .integer, "caller_key": .text, "at": .integer,
            ]),
        CopiedTable(
            "consumption_requests", key: ["row_id"],
            [
                "row_id": .integer, "notification_row_id": .integer, "environment": .integer, "transaction_id": .text,
                "reason": .text, "requested_at": .integer, "answer_by": .integer, "state": .integer,
                "attempts": .integer, "due_at": .integer, "detail": .text, "answer": .text, "ended_at": .integer,
            ]),
        CopiedTable(
            "transfers", key: ["row_id"],
            [
                "row_id": .integer, "id": .blob, "kind": .text, "from_customer_id": .integer,
                "to_customer_id": .integer, "reason": .text, "caller_kind": .text, "caller_customer_id": .integer,
                "caller_key": .text, "operator": .text, "reverses": .integer, "at": .integer,
            ]),
        CopiedTable(
            "transfer_items", key: ["transfer_row_id", "grant_row_id"],
            [
                "transfer_row_id": .integer, "grant_row_id": .integer,
            ]),
        CopiedTable(
            "transfer_points", key: ["transfer_row_id", "environment", "currency"],
            [
                "transfer_row_id": .integer, "environment": .integer, "currency": .text, "amount": .integer,
            ]),
        CopiedTable(
            "imports", key: ["row_id"],
            [
                "row_id": .integer, "id": .blob, "format": .text, "name": .text, "sha256": .blob,
                "environment": .integer, "caller": .text, "began_at": .integer, "ended_at": .integer,
                "row_count": .integer, "imported": .integer, "unchanged": .integer, "refused": .integer,
                "undone_at": .integer, "undone_by": .text, "undone": .integer,
            ]),
        CopiedTable(
            "imported_purchases", key: ["transaction_row_id"],
            [
                "transaction_row_id": .integer, "import_row_id": .integer, "line": .integer, "customer_id": .integer,
                "signed_at": .integer, "is_signed": .integer, "undone_at": .integer,
            ]),
        CopiedTable(
            "imported_balances", key: ["row_id"],
            [
                "row_id": .integer, "import_row_id": .integer, "line": .integer, "customer_id": .integer,
                "environment": .integer, "currency": .text, "amount": .integer, "stated_at": .integer,
                "undone_at": .integer,
            ]),
        CopiedTable(
            "imported_tokens", key: ["token"],
            ["token": .blob, "import_row_id": .integer, "customer_id": .integer]),
        CopiedTable(
            "grant_owners", key: ["grant_row_id"],
            [
                "grant_row_id": .integer, "environment": .integer, "original_id": .text, "customer_id": .integer,
            ]),
    ]

    private static let work: [CopiedTable] = [
        CopiedTable(
            "postings", key: ["row_id"],
            [
                "row_id": .integer, "environment": .integer, "customer_id": .integer, "contra": .text,
                "currency": .text, "amount": .integer, "kind": .text, "grant_row_id": .integer,
                "transfer_row_id": .integer, "reference": .text, "at": .integer, "reason": .text,
                "caller_kind": .text, "caller_customer_id": .integer, "caller_key": .text,
            ]),
        CopiedTable(
            "balances", key: ["environment", "customer_id", "currency"],
            [
                "app_id": .integer, "environment": .integer, "customer_id": .integer, "currency": .text,
                "amount": .integer,
            ]),
        CopiedTable(
            "outbox", key: ["row_id"],
            [
                "row_id": .integer, "event_id": .blob, "type": .text, "customer_id": .integer,
                "user_sequence": .integer, "transaction_row_id": .integer, "transfer_row_id": .integer,
                "at": .integer, "key_hash": .integer, "revision": .integer, "version": .integer, "body": .text,
            ]),
        CopiedTable(
            "seals", key: ["row_id"],
            [
                "row_id": .integer, "first_position": .integer, "last_position": .integer, "digest": .blob,
                "mac": .blob, "at": .integer, "stream": .integer, "is_found": .integer,
            ]),
        CopiedTable(
            "sealed_changes", key: ["row_id"],
            [
                "row_id": .integer, "stream": .integer, "changed_row_id": .integer, "was": .blob, "now": .blob,
                "at": .integer,
            ]),
        CopiedTable("seal_summary", key: ["single_row"], ["single_row": .integer, "at": .integer, "mac": .blob]),
        CopiedTable(
            "seal_gaps", key: ["stream", "position"],
            ["stream": .integer, "position": .integer, "at": .integer, "seal_row_id": .integer]),
        CopiedTable(
            "event_positions", key: ["position"],
            [
                "position": .integer, "event_row_id": .integer, "seal_row_id": .integer,
            ]),
        CopiedTable("unplaced_events", key: ["event_row_id"], ["event_row_id": .integer]),
        CopiedTable(
            "webhook_endpoints", key: ["row_id"],
            [
                "row_id": .integer, "id": .text, "url": .text, "position": .integer, "created_at": .integer,
                "is_silent": .integer, "rests_until": .integer, "gone_at": .integer, "succeeded_at": .integer,
                "failed_at": .integer, "error": .text,
            ]),
        CopiedTable(
            "webhook_deliveries", key: ["row_id"],
            [
                "row_id": .integer, "endpoint_row_id": .integer, "event_position": .integer, "queue": .integer,
                "customer_id": .integer, "state": .integer, "attempts": .integer, "due_at": .integer,
                "attempted_at": .integer, "status": .integer, "error": .text, "ended_at": .integer,
            ]),
        CopiedTable(
            "webhook_replays", key: ["row_id"],
            [
                "row_id": .integer, "endpoint_row_id": .integer, "from_at": .integer, "to_at": .integer,
                "position": .integer, "last_row_id": .integer, "count": .integer, "created_at": .integer,
                "ended_at": .integer,
            ]),
        CopiedTable(
            "reminders", key: ["row_id"],
            [
                "row_id": .integer, "environment": .integer, "customer_id": .integer, "subject": .text, "kind": .text,
                "entitlement": .text, "product": .text, "expires_at": .integer, "renews": .integer,
                "due_at": .integer, "sent_at": .integer,
            ]),
        CopiedTable(
            "apple_reports", key: ["row_id"],
            [
                "row_id": .integer, "digest": .blob, "name": .text, "imported_at": .integer, "actor": .text,
                "starts_on": .integer, "ends_on": .integer, "lines": .integer, "body": .blob,
            ]),
        CopiedTable(
            "apple_tasks", key: ["row_id"],
            [
                "row_id": .integer, "kind": .integer, "transaction_row_id": .integer, "token": .blob,
                "state": .integer, "attempts": .integer, "due_at": .integer, "detail": .text,
            ]),
        CopiedTable(
            "saved_proofs", key: ["row_id"],
            [
                "row_id": .integer, "environment": .integer, "transaction_id": .text, "kind": .integer, "body": .blob,
                "caller": .text, "named_user": .text, "claimed_order": .blob, "device": .text,
                "received_at": .integer, "attempts": .integer, "due_at": .integer, "detail": .text, "network": .text,
                "phone": .text,
            ]),
        CopiedTable(
            "claims", key: ["row_id"],
            [
                "row_id": .integer, "id": .blob, "customer_id": .integer, "order_number": .text,
                "transaction_row_id": .integer, "caller_kind": .text, "caller_customer_id": .integer,
                "caller_key": .text, "operator": .text, "reason": .text, "state": .integer, "attempts": .integer,
                "due_at": .integer, "detail": .text, "answer": .text, "at": .integer, "ended_at": .integer,
                "is_acceptance": .integer,
            ]),
        CopiedTable(
            "reconciliations", key: ["row_id"],
            [
                "row_id": .integer, "environments": .integer, "reason": .text, "caller": .text, "since": .integer,
                "state": .integer, "environment": .integer, "phase": .integer, "position": .integer, "done": .integer,
                "subject": .text, "token": .text, "has_undecided": .integer, "began_at": .integer,
                "progressed_at": .integer, "attempts": .integer, "waits_until": .integer, "waits_for": .text,
                "ended_at": .integer, "ending": .text,
            ]),
        CopiedTable(
            "reconciliation_counts", key: ["run", "environment", "name"],
            [
                "run": .integer, "environment": .integer, "name": .text, "count": .integer,
            ]),
        CopiedTable(
            "differences", key: ["row_id"],
            [
                "row_id": .integer, "run": .integer, "kind": .text, "environment": .integer, "transaction_id": .text,
                "order_id": .blob, "notification_uuid": .text, "was": .text, "now": .text, "purchased_at": .integer,
                "found_at": .integer,
            ]),
        CopiedTable(
            "apple_chains", key: ["row_id"], later: "customer",
            [
                "row_id": .integer, "environment": .integer, "original_id": .text, "customer": .integer,
                "history_run": .integer, "history_revision": .text, "refunds_run": .integer,
                "refunds_revision": .text, "refusal": .text,
            ]),
        CopiedTable(
            "server_activity", key: ["single_row"],
            [
                "single_row": .integer, "at": .integer, "chains_seen": .integer,
            ]),
        CopiedTable("account_tokens", key: ["token"], ["token": .blob, "customer_id": .integer, "since": .integer]),
        CopiedTable(
            "account_token_log", key: ["row_id"],
            [
                "row_id": .integer, "kind": .integer, "token": .blob, "sealed_token": .blob, "customer_id": .integer,
                "at": .integer,
            ]),
        CopiedTable(
            "unmatched_tokens", key: ["token", "environment"],
            [
                "token": .blob, "environment": .integer, "first_seen": .integer,
            ]),
        CopiedTable(
            "ledger", key: ["single_row"],
            [
                "single_row": .integer, "ledger_id": .blob, "epoch": .integer, "secret": .blob,
                "created_at": .integer,
            ]),
        CopiedTable(
            "ledger_restores", key: ["epoch"],
            [
                "epoch": .integer, "taken_at": .integer, "restored_at": .integer, "first_position": .integer,
                "last_run": .integer,
            ]),
        CopiedTable(
            "ownership_basis", key: ["grant_row_id"],
            [
                "grant_row_id": .integer, "environment": .integer, "customer_id": .integer, "basis": .text,
                "hold_until": .integer, "contested_token": .blob, "withdrawn_at": .integer, "lookup_at": .integer,
                "lookup_attempts": .integer,
            ]),
        CopiedTable("distrusted_receipts", key: ["customer_id"], ["customer_id": .integer, "since": .integer]),
        CopiedTable(
            "erasures", key: ["row_id"],
            [
                "row_id": .integer, "app_id": .integer, "customer_id": .integer, "user_hash": .blob, "caller": .text,
                "at": .integer, "position": .integer, "finished_at": .integer, "sealed_name": .blob,
            ]),
        CopiedTable(
            "quarantine_reasons", key: ["transaction_row_id", "reason"],
            [
                "transaction_row_id": .integer, "reason": .text, "submissions": .integer, "first_at": .integer,
                "last_at": .integer, "caller_kind": .text, "caller_customer_id": .integer, "caller_key": .text,
            ]),
    ]
}
