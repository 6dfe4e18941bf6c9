import TillBilling
import TillSQL

/// What is to be different about an account; nil leaves a thing as it is.
public struct AccountChange: Sendable, Hashable {
    /// ISO 3166-1 alpha-3. What is bought from then on is bought there; subscriptions that run keep their price.
    public var storefront: String?
    public var asksToBuy: Bool?
    public var mayPay: Bool?
    public var paymentMethodWorks: Bool?
    public var paymentSheet: PurchaseRequest.Outcome?
    public var isDeleted: Bool?
    /// The account that organizes the family to join; its own name founds one.
    public var family: String?

    public init() {}
}

extension Store {
    /// Opens the account if it was never heard of, and changes it.
    public func changeAccount(
        _ name: String, _ change: AccountChange
    ) async throws -> Result<StoreAccount, StoreRefusal> {
        try await self.change { turn in try AccountDesk.change(name, change, turn) }
    }

    public func account(_ name: String) async throws -> StoreAccount? {
        try await ask { session in try AccountTable.find(name, session) }
    }

    /// In the order of their names, beginning after `after`.
    public func accounts(after: String = "", limit: Int) async throws -> [StoreAccount] {
        try await ask { session in try AccountTable.all(after: after, limit: limit, session) }
    }

    /// Takes an account out of its family; with the organizer everybody leaves.
    public func leaveFamily(_ name: String) async throws -> Result<StoreAccount, StoreRefusal> {
        try await change { turn in
            guard let account = try AccountTable.find(name, turn.session) else {
                return .failure(.unknownAccount(name))
            }
            guard account.family != nil else { return .failure(.noFamily(name)) }
            return .success(try FamilyCircle.leave(account, turn))
        }
    }

    /// Signs the account in on a device, which is new or was known before.
    public func signIn(
        _ account: String, on id: UniqueID, name: String, platform: StoreDevice.Platform
    ) async throws -> Result<StoreDevice, StoreRefusal> {
        try await change { turn in try AccountDesk.signIn(account, on: id, name: name, platform: platform, turn) }
    }

    public func devices(of account: String) async throws -> Result<[StoreDevice], StoreRefusal> {
        try await ask { session in
            guard try AccountTable.find(account, session) != nil else { return .failure(.unknownAccount(account)) }
            return .success(try DeviceTable.ofAccount(account, session))
        }
    }

    /// The device, whoever is signed in on it.
    public func device(_ id: UniqueID) async throws -> Result<StoreDevice, StoreRefusal> {
        try await ask { session in
            try DeviceTable.find(id, session).map { .success($0) } ?? .failure(.unknownDevice(id))
        }
    }

    /// The device, if this account is signed in on it.
    public func device(_ id: UniqueID, of account: String) async throws -> Result<StoreDevice, StoreRefusal> {
        try await ask { session in try AccountDesk.device(id, of: account, session) }
    }
}

/// Opens and changes accounts, and signs them in on devices.
enum AccountDesk {
    static func change(
        _ name: String, _ change: AccountChange, _ turn: Turn
    ) throws -> Result<StoreAccount, StoreRefusal> {
        var account =
            try AccountTable.find(name, turn.session)
            ?? StoreAccount(name: name, storefront: change.storefront ?? turn.configuration.storefront)
        // What can be refused comes first: a refused change changes nothing.
        if let organizer = change.family, account.family != organizer,
            let refusal = try FamilyCircle.refusal(of: account, joining: organizer, change, turn)
        {
            return .failure(refusal)
        }
        account = try AccountTable.account(name, openingIn: account.storefront, turn.session)
        account.storefront = change.storefront ?? account.storefront
        account.asksToBuy = change.asksToBuy ?? account.asksToBuy
        account.mayPay = change.mayPay ?? account.mayPay
        account.paymentMethodWorks = change.paymentMethodWorks ?? account.paymentMethodWorks
        account.paymentSheet = change.paymentSheet ?? account.paymentSheet
        account.isDeleted = change.isDeleted ?? account.isDeleted
        try AccountTable.update(account, turn.session)
        if account.isDeleted, account.family != nil { account = try FamilyCircle.leave(account, turn) }
        if let organizer = change.family, account.family != organizer {
            account = try FamilyCircle.join(account, organizer: organizer, turn)
        }
        return .success(account)
    }

    static func signIn(
        _ account: String, on id: UniqueID, name: String, platform: StoreDevice.Platform, _ turn: Turn
    ) throws -> Result<StoreDevice, StoreRefusal> {
        guard let known = try AccountTable.find(account, turn.session) else {
            return .failure(.unknownAccount(account))
        }
        guard !known.isDeleted else { return .failure(.accountDeleted(account)) }
        let found = try DeviceTable.find(id, turn.session)
        if found?.account != account {
            guard try DeviceTable.count(ofAccount: account, turn.session) < DeviceTable.limit else {
                return .failure(.tooManyDevices(DeviceTable.limit))
            }
        }
        let device = StoreDevice(
            id: id, account: account, name: name, platform: platform,
            verificationID: found?.verificationID ?? turn.uniqueID())
        try DeviceTable.save(device, turn.session)
        return .success(device)
    }

    static func device(
        _ id: UniqueID, of account: String, _ session: any Connection
    ) throws -> Result<StoreDevice, StoreRefusal> {
        guard let device = try DeviceTable.find(id, session) else { return .failure(.unknownDevice(id)) }
        return device.account == account ? .success(device) : .failure(.deviceOfAnother(id))
    }
}
