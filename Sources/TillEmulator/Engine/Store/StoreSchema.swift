/// The emulated store's tables. The database's version is the number of these scripts that were applied. A released
/// script is never edited; a change is a new script at the end.
public enum StoreSchema {
    public static let migrations: [StaticString] = [
        """
        CREATE TABLE settings (
            name TEXT NOT NULL PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE counters (
            name TEXT NOT NULL PRIMARY KEY,
            next INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE identities (
            name TEXT NOT NULL PRIMARY KEY,
            private_key TEXT NOT NULL,
            certificate BLOB
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE products (
            product_id TEXT NOT NULL PRIMARY KEY,
            position INTEGER NOT NULL,
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            apple_id INTEGER NOT NULL UNIQUE,
            group_id TEXT,
            state TEXT NOT NULL,
            details TEXT NOT NULL,
            localizations TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE prices (
            product_id TEXT NOT NULL REFERENCES products (product_id) ON DELETE CASCADE,
            storefront TEXT NOT NULL,
            amount INTEGER NOT NULL,
            currency TEXT NOT NULL,
            PRIMARY KEY (product_id, storefront)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE accounts (
            name TEXT NOT NULL PRIMARY KEY,
            storefront TEXT NOT NULL,
            family TEXT,
            asks_to_buy INTEGER NOT NULL DEFAULT 0,
            may_pay INTEGER NOT NULL DEFAULT 1,
            payment_works INTEGER NOT NULL DEFAULT 1,
            is_deleted INTEGER NOT NULL DEFAULT 0
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX accounts_of_family ON accounts (family, name) WHERE family IS NOT NULL;

        CREATE TABLE devices (
            id TEXT NOT NULL PRIMARY KEY,
            account TEXT NOT NULL REFERENCES accounts (name),
            name TEXT NOT NULL,
            platform TEXT NOT NULL,
            verification_id TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX devices_of_account ON devices (account, id);

        CREATE TABLE downloads (
            account TEXT NOT NULL REFERENCES accounts (name),
            bundle_id TEXT NOT NULL,
            app_transaction INTEGER NOT NULL UNIQUE,
            downloaded_at INTEGER NOT NULL,
            original_version TEXT,
            preordered_at INTEGER,
            platform TEXT NOT NULL DEFAULT 'iOS',
            PRIMARY KEY (account, bundle_id)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE transactions (
            number INTEGER PRIMARY KEY,
            original INTEGER NOT NULL,
            state TEXT NOT NULL,
            finished INTEGER NOT NULL,
            environment TEXT NOT NULL,
            account TEXT NOT NULL,
            bundle_id TEXT NOT NULL,
            product_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            quantity INTEGER NOT NULL,
            price INTEGER NOT NULL,
            currency TEXT NOT NULL,
            storefront TEXT NOT NULL,
            app_account_token TEXT,
            app_transaction INTEGER NOT NULL,
            reason TEXT NOT NULL,
            purchased_at INTEGER NOT NULL,
            first_purchased_at INTEGER NOT NULL,
            expires_at INTEGER,
            group_id TEXT,
            line_item INTEGER,
            revoked_at INTEGER,
            revocation_reason INTEGER,
            revocation_type TEXT,
            revocation_percentage INTEGER,
            is_upgraded INTEGER NOT NULL,
            offer TEXT,
            commitment TEXT,
            shared_from INTEGER,
            modification INTEGER NOT NULL UNIQUE,
            FOREIGN KEY (account, bundle_id) REFERENCES downloads (account, bundle_id)
        ) STRICT;
        CREATE INDEX transactions_of_account ON transactions (account, number);
        CREATE INDEX transactions_unfinished ON transactions (account, number)
            WHERE finished = 0 AND state = 'purchased';
        CREATE INDEX transactions_in_receipt ON transactions (account, bundle_id, number)
            WHERE state = 'purchased' AND (finished = 0 OR kind <> 'Consumable');
        CREATE INDEX transactions_of_product ON transactions (account, bundle_id, product_id, number)
            WHERE state = 'purchased' AND kind <> 'Consumable';

        CREATE INDEX transactions_changed ON transactions (account, bundle_id, modification)
            WHERE state = 'purchased';
        CREATE INDEX transactions_refunded ON transactions (account, bundle_id, revoked_at, modification)
            WHERE revoked_at IS NOT NULL;
        CREATE INDEX transactions_of_original ON transactions (original, number) WHERE group_id IS NOT NULL;
        CREATE INDEX transactions_shared ON transactions (shared_from) WHERE shared_from IS NOT NULL;

        CREATE TABLE subscriptions (
            original INTEGER PRIMARY KEY,
            account TEXT NOT NULL,
            bundle_id TEXT NOT NULL,
            group_id TEXT NOT NULL,
            product_id TEXT NOT NULL,
            state TEXT NOT NULL,
            shared_from INTEGER,
            content TEXT NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX subscriptions_owned ON subscriptions (account, bundle_id, group_id)
            WHERE shared_from IS NULL;
        CREATE INDEX subscriptions_of_account ON subscriptions (account, bundle_id);
        CREATE INDEX subscriptions_of_product ON subscriptions (product_id, bundle_id, original)
            WHERE shared_from IS NULL;
        CREATE INDEX subscriptions_shared ON subscriptions (shared_from) WHERE shared_from IS NOT NULL;

        CREATE TABLE schedule (
            kind TEXT NOT NULL,
            subject INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            PRIMARY KEY (kind, subject)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX schedule_due ON schedule (due_at, subject, kind);

        CREATE TABLE notifications (
            number INTEGER PRIMARY KEY,
            uuid TEXT NOT NULL UNIQUE,
            type TEXT NOT NULL,
            subtype TEXT,
            bundle_id TEXT NOT NULL,
            original INTEGER,
            created_at INTEGER NOT NULL,
            content TEXT NOT NULL,
            signed_payload TEXT,
            due_at INTEGER,
            attempts INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX notifications_due ON notifications (due_at, number) WHERE due_at IS NOT NULL;

        CREATE TABLE send_attempts (
            notification INTEGER NOT NULL REFERENCES notifications (number),
            attempt INTEGER NOT NULL,
            attempted_at INTEGER NOT NULL,
            result TEXT NOT NULL,
            PRIMARY KEY (notification, attempt)
        ) STRICT, WITHOUT ROWID;
        """,
        notificationResults,
        storeTallies,
        massExtensions,
        removedProducts,
        waitingPurchases, familySharing, refundRequests, offerCodes,
        notificationHistory,
        pageIndexes,
        priceIncreases,
        paymentSheets, deviceUpdates, transactionSets, purchaseIntents, storeMessages,
        talliesWithoutTrigger,
    ]
}
