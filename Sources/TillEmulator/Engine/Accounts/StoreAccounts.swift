import TillBilling
import TillSQL

/// Changes to an account; nil keeps the current value.
public struct AccountChange: Sendable, Hashable {
    /// ISO 3166-1 alpha-3. Applies to later purchases; running subscriptions keep their price.
    public var storefront: String?
    public var asksToBuy: Bool?
    public var mayPay: Bool?
    public var paymentMethodWorks: Bool?
    public var paymentSheet: PurchaseRequest.Outcome?
    public var isDeleted: Bool?
    /// The account that organizes the family to join; the account's own name founds a family.
    public var family: String?

    public init() {}
}

extension Store {
    /// Opens the account if it is new, and changes it.
    public func changeAccount(
        _ name: String, _ change: AccountChange
    ) async throws -> Result<StoreAccount, StoreRefusal> {
        try await self.change { storeChange in try AccountChanges.change(name, change, storeChange) }
    }

    public func account(_ name: String) async throws -> StoreAccount? {
        try await ask { connection in try AccountTable.find(name, connection) }
    }

    /// Ordered by name, starting after `after`.
    public func accounts(after: String = "", limit: Int) async throws -> [StoreAccount] {
        try await ask { connection in try AccountTable.all(after: after, limit: limit, connection) }
    }

    /// Removes an account from its family; when the organizer leaves, all members do.
    public func leaveFamily(_ name: String) async throws -> Result<StoreAccount, StoreRefusal> {
        try await change { storeChange in
            guard let account = try AccountTable.find(name, storeChange.connection) else {
                return .failure(.unknownAccount(name))
            }
            guard account.family != nil else { return .failure(.noFamily(name)) }
            return .success(try FamilyMembership.leave(account, storeChange))
        }
    }

    /// Signs the account in on a new or known device.
    public func signIn(
        _ account: String, on id: UniqueID, name: String, platform: StoreDevice.Platform
    ) async throws -> Result<StoreDevice, StoreRefusal> {
        try await change { storeChange in
            try AccountChanges.signIn(account, on: id, name: name, platform: platform, storeChange)
        }
    }

    public func devices(of account: String) async throws -> Result<[StoreDevice], StoreRefusal> {
        try await ask { connection in
            guard try AccountTable.find(account, connection) != nil else { return .failure(.unknownAccount(account)) }
            return .success(try DeviceTable.ofAccount(account, connection))
        }
    }

    /// The device, whichever account is signed in on it.
    public func device(_ id: UniqueID) async throws -> Result<StoreDevice, StoreRefusal> {
        try await ask { connection in
            try DeviceTable.find(id, connection).map { .success($0) } ?? .failure(.unknownDevice(id))
        }
    }

    /// The device, if this account is signed in on it.
    public func device(_ id: UniqueID, of account: String) async throws -> Result<StoreDevice, StoreRefusal> {
        try await ask { connection in try AccountChanges.device(id, of: account, connection) }
    }
}

/// Opens and changes accounts, and signs them in on devices.
enum AccountChanges {
    static func change(
        _ name: String, _ change: AccountChange, _ storeChange: StoreChange
    ) throws -> Result<StoreAccount, StoreRefusal> {
        var account =
            try AccountTable.find(name, storeChange.connection)
            ?? StoreAccount(name: name, storefront: change.storefront ?? storeChange.configuration.storefront)
        // All refusals are checked first, so a refused change changes nothing.
        if let organizer = change.family, account.family != organizer,
            let refusal = try FamilyMembership.refusal(of: account, joining: organizer, change, storeChange)
        {
            return .failure(refusal)
        }
        account = try AccountTable.account(name, openingIn: account.storefront, storeChange.connection)
        account.storefront = change.storefront ?? account.storefront
        account.asksToBuy = change.asksToBuy ?? account.asksToBuy
        account.mayPay = change.mayPay ?? account.mayPay
        account.paymentMethodWorks = change.paymentMethodWorks ?? account.paymentMethodWorks
        account.paymentSheet = change.paymentSheet ?? account.paymentSheet
        account.isDeleted = change.isDeleted ?? account.isDeleted
        try AccountTable.update(account, storeChange.connection)
        if account.isDeleted, account.family != nil { account = try FamilyMembership.leave(account, storeChange) }
        if let organizer = change.family, account.family != organizer {
            account = try FamilyMembership.join(account, organizer: organizer, storeChange)
        }
        return .success(account)
    }

    static func signIn(
        _ account: String, on id: UniqueID, name: String, platform: StoreDevice.Platform, _ storeChange: StoreChange
    ) throws -> Result<StoreDevice, StoreRefusal> {
        guard let known = try AccountTable.find(account, storeChange.connection) else {
            return .failure(.unknownAccount(account))
        }
        guard !known.isDeleted else { return .failure(.accountDeleted(account)) }
        let found = try DeviceTable.find(id, storeChange.connection)
        if found?.account != account {
            guard try DeviceTable.count(ofAccount: account, storeChange.connection) < DeviceTable.limit else {
                return .failure(.tooManyDevices(DeviceTable.limit))
            }
        }
        let device = StoreDevice(
            id: id, account: account, name: name, platform: platform,
            verificationID: found?.verificationID ?? storeChange.uniqueID())
        try DeviceTable.save(device, storeChange.connection)
        return .success(device)
    }

    static func device(
        _ id: UniqueID, of account: String, _ connection: any Connection
    ) throws -> Result<StoreDevice, StoreRefusal> {
        guard let device = try DeviceTable.find(id, connection) else { return .failure(.unknownDevice(id)) }
        return device.account == account ? .success(device) : .failure(.deviceOfAnother(id))
    }
}

/// An Apple Account: its storefront, its family and whether it can pay.
public struct StoreAccount: Sendable, Hashable {
    /// The store's own name for the account; no signed payload contains it.
    public var name: String
    /// ISO 3166-1 alpha-3.
    public var storefront: String
    /// The name of the organizer's account of its family; nil without a family.
    public var family: String?
    /// Purchases wait for the organizer's approval (Ask to Buy).
    public var asksToBuy = false
    /// False if Screen Time forbids purchases: `canMakePayments`.
    public var mayPay = true
    /// Whether charges succeed. If false, renewals fail.
    public var paymentMethodWorks = true
    /// The outcome of a purchase that names none.
    public var paymentSheet = PurchaseRequest.Outcome.purchased
    /// A deleted account keeps its history, but Apple's endpoints answer 21010 or 4040001.
    public var isDeleted = false

    public init(name: String, storefront: String) {
        self.name = name
        self.storefront = storefront
    }
}

extension StoreSchema {
    /// The outcome of an account's purchases that name none.
    static let paymentSheets: StaticString = """
        ALTER TABLE accounts ADD COLUMN payment_sheet TEXT NOT NULL DEFAULT 'purchased';
        """
}

/// Apple Accounts.
enum AccountTable {
    static let columns: Columns =
        "name, storefront, family, asks_to_buy, may_pay, payment_works, is_deleted, payment_sheet"

    /// The account; a new one is opened in `storefront`.
    static func account(
        _ name: String, openingIn storefront: String, _ connection: any Connection
    ) throws -> StoreAccount {
        if let known = try find(name, connection) { return known }
        try connection.execute(
            "INSERT INTO accounts (name, storefront) VALUES (?, ?)", [.text(name), .text(storefront)])
        return StoreAccount(name: name, storefront: storefront)
    }

    static func find(_ name: String, _ connection: any Connection) throws -> StoreAccount? {
        try connection.first(
            """
            SELECT \(columns) FROM accounts WHERE name = ?
            """, [.text(name)], read)
    }

    /// Ordered by name, starting after `after`.
    static func all(after: String, limit: Int, _ connection: any Connection) throws -> [StoreAccount] {
        try connection.query(
            """
            SELECT \(columns) FROM accounts WHERE name > ? ORDER BY name LIMIT ?
            """, [.text(after), .integer(Int64(limit))], read)
    }

    /// Every account of a family, the organizer's included.
    static func family(_ organizer: String, _ connection: any Connection) throws -> [StoreAccount] {
        try connection.query(
            """
            SELECT \(columns) FROM accounts WHERE family = ? ORDER BY name
            """, [.text(organizer)], read)
    }

    static func update(_ account: StoreAccount, _ connection: any Connection) throws {
        try connection.execute(
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

extension StoreRefusal {
    static func unknownDevice(_ id: UniqueID) -> StoreRefusal {
        StoreRefusal(
            "unknown_device", status: 404,
            "Device \(id) is unknown. Register it with PUT /emulator/accounts/{id}/devices.",
            "未登记设备 \(id)，请用 PUT /emulator/accounts/{id}/devices 登记。")
    }

    static func deviceOfAnother(_ id: UniqueID) -> StoreRefusal {
        StoreRefusal(
            "device_of_another_account", status: 409, "Another account is signed in on device \(id).",
            "设备 \(id) 登录的是另一个账户。")
    }

    static func tooManyDevices(_ limit: Int64) -> StoreRefusal {
        StoreRefusal(
            "too_many_devices", status: 409, "An account can have at most \(limit) devices.",
            "每个账户最多 \(limit) 台设备。")
    }

    static func accountDeleted(_ name: String) -> StoreRefusal {
        StoreRefusal("account_deleted", status: 409, "The account \(name) was deleted.", "账户 \(name) 已被删除。")
    }

    /// SKError 4, `paymentNotAllowed`.
    static func paymentNotAllowed(_ name: String) -> StoreRefusal {
        StoreRefusal(
            "payment_not_allowed", status: 409,
            "The account \(name) may not buy on this device: Screen Time forbids it.",
            "账户 \(name) 在此设备上不允许购买：已被屏幕使用时间禁止。")
    }

    static func paymentFailed(_ name: String) -> StoreRefusal {
        StoreRefusal(
            "payment_failed", status: 409, "The payment method of the account \(name) does not work.",
            "账户 \(name) 的付款方式无法使用。")
    }

    static func inAnotherFamily(_ name: String) -> StoreRefusal {
        StoreRefusal(
            "in_another_family", status: 409,
            "The account \(name) is in another family. Remove it from that family first.",
            "账户 \(name) 已在另一个家庭中，请先退出。")
    }

    static func familyFull(_ organizer: String) -> StoreRefusal {
        StoreRefusal(
            "family_full", status: 409, "The family of \(organizer) is full: it has an organizer and five members.",
            "\(organizer) 的家庭已满：组织者加五名成员。")
    }

    static func noFamily(_ name: String) -> StoreRefusal {
        StoreRefusal("no_family", status: 409, "The account \(name) is not in a family.", "账户 \(name) 不在任何家庭中。")
    }
}
