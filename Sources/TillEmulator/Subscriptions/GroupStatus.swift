import TillBilling
import TillSQL

/// What one account has in one subscription group (`Product.SubscriptionInfo.status`, facts/storekit-client B4).
struct GroupStatus: Sendable {
    struct Entry: Sendable {
        var subscription: StoreSubscription
        /// Of the newest period.
        var current: StoreTransaction
    }

    var groupID: String
    var groupName: String
    var isEligibleForIntroductory: Bool
    /// The own one first, then what families share.
    var entries: [Entry]

    /// Every group on sale in the account's storefront or ever held in the app, in the order of their ids.
    static func all(
        account: StoreAccount, bundleID: String, _ configuration: EmulatorConfiguration, _ session: any Connection
    ) throws -> [GroupStatus] {
        var names: [String: String] = [:]
        for product in try ProductTable.subscriptions(storefront: account.storefront, session)
        where product.isSold(in: configuration.environment) && product.isOnSale {
            guard let terms = product.subscription else { continue }
            // The first product of a group that has a name names it.
            if let name = terms.groupName, names[terms.groupID] ?? terms.groupID == terms.groupID {
                names[terms.groupID] = name
            } else if names[terms.groupID] == nil {
                names[terms.groupID] = terms.groupID
            }
        }
        var held: [String: [StoreSubscription]] = [:]
        for subscription in try SubscriptionTable.ofAccount(account.name, bundleID: bundleID, session) {
            held[subscription.groupID, default: []].append(subscription)
        }
        return try Set(names.keys).union(held.keys).sorted().map { group in
            let subscriptions = held[group] ?? []
            let own = subscriptions.filter { $0.sharedFrom == nil }
            return GroupStatus(
                groupID: group, groupName: names[group] ?? group,
                isEligibleForIntroductory: SubscriptionOffer.isNew(own.first),
                entries: try (own + subscriptions.filter { $0.sharedFrom != nil }).compactMap { subscription in
                    try TransactionTable.find(subscription.current, session).map {
                        Entry(subscription: subscription, current: $0)
                    }
                })
        }
    }
}

extension Store {
    /// For the account that is signed in on this device.
    func groupStatuses(
        on device: UniqueID, bundleID: String
    ) async throws -> Result<(device: StoreDevice, groups: [GroupStatus]), StoreRefusal> {
        let configuration = configuration
        return try await ask { session in
            guard let device = try DeviceTable.find(device, session) else { return .failure(.unknownDevice(device)) }
            guard let account = try AccountTable.find(device.account, session) else {
                return .failure(.unknownAccount(device.account))
            }
            return .success(
                (device, try GroupStatus.all(account: account, bundleID: bundleID, configuration, session)))
        }
    }
}
