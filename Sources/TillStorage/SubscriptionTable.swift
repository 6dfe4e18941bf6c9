import TillBilling

extension Schema {
    /// One row for each subscription of a customer, which is one original transaction: what Apple signed last about its
    /// renewal. The periods are rows of `transactions`; a list of them for each chain spares those an index.
    static let subscriptions: StaticString = """
        CREATE TABLE subscriptions (
            sequence INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL CHECK (environment IN (1, 2)),
            original_id TEXT NOT NULL,
            group_id TEXT,
            renewal_signed_at INTEGER,
            renewal_product TEXT,
            auto_renews INTEGER,
            in_billing_retry INTEGER,
            grace_until INTEGER,
            expiration_intent INTEGER,
            price_increase INTEGER,
            renewal_price INTEGER,
            renewal_currency TEXT,
            renewal_at INTEGER,
            renewal_offer_type INTEGER,
            renewal_offer_id TEXT,
            renewal_proof BLOB,
            updated_at INTEGER NOT NULL,
            UNIQUE (environment, original_id)
        ) STRICT;

        CREATE TABLE subscription_periods (
            subscription_sequence INTEGER NOT NULL REFERENCES subscriptions (sequence),
            transaction_sequence INTEGER NOT NULL REFERENCES transactions (sequence),
            PRIMARY KEY (subscription_sequence, transaction_sequence)
        ) STRICT, WITHOUT ROWID;
        """
}
