import TillBilling
import TillSQL

extension StoreSchema {
    /// What an account's owner does at a payment sheet.
    static let paymentSheets: StaticString = """
        ALTER TABLE accounts ADD COLUMN payment_sheet TEXT NOT NULL DEFAULT 'purchased';
        """
}

/// Apple Accounts.
enum AccountTable {
    /// The account, which opens in `storefront` if it was never heard of.
    static func account(
        _ name: String, openingIn storefront: String, _ session: any Connection
    ) throws -> StoreAccount {
        if let known = try find(name, session) { return known }
        try session.execute(
            "INSERT INTO accounts (name, storefront) VALUES (?, ?)", [.text(name), .text(storefront)])
        return StoreAccount(name: name, storefront: storefront)
    }

    static func find(_ name: String, _ session: any Connection) throws -> StoreAccount? {
        try session.first(
            """
            SELECT name, storefront, family, asks_to_buy, may_pay, payment_works, is_deleted, payment_sheet
            FROM accounts WHERE name = ?
            """, [.text(name)], read)
    }

    /// In the order of their names, beginning after `after`.
    static func all(after: String, limit: Int, _ session: any Connection) throws -> [StoreAccount] {
        try session.query(
            """
            SELECT name, storefront, family, asks_to_buy, may_pay, payment_works, is_deleted, payment_sheet
            FROM accounts WHERE name > ? ORDER BY name LIMIT ?
            """, [.text(after), .integer(Int64(limit))], read)
    }

    /// Every account of a family, the organizer's included.
    static func family(_ organizer: String, _ session: any Connection) throws -> [StoreAccount] {
        try session.query(
            """
            SELECT name, storefront, family, asks_to_buy, may_pay, payment_works, is_deleted, payment_sheet
            FROM accounts WHERE family = ? ORDER BY name
            """, [.text(organizer)], read)
    }

    static func update(_ account: StoreAccount, _ session: any Connection) throws {
        try session.execute(
            """
            UPDATE accounts SET storefront = ?, family = ?, asks_to_buy = ?, may_pay = ?, payment_works = ?,
                is_deleted = ?, payment_sheet = ?
            WHERE name = ?
            """,
            [
                .text(account.storefront), .optional(account.family), .flag(account.asksToBuy),
                .flag(account.mayPay), .flag(account.paymentMethodWorks), .flag(account.isDeleted),
                .text(account.paymentSheet.rawValue), .text(account.name),
            ])
    }

    private static func read(_ row: any Row) -> StoreAccount {
        var account = StoreAccount(name: row.text("name"), storefront: row.text("storefront"))
        account.family = row.optionalText("family")
        account.asksToBuy = row.flag("asks_to_buy")
        account.mayPay = row.flag("may_pay")
        account.paymentMethodWorks = row.flag("payment_works")
        account.isDeleted = row.flag("is_deleted")
        account.paymentSheet = PurchaseRequest.Outcome(rawValue: row.text("payment_sheet")) ?? .purchased
        return account
    }
}
