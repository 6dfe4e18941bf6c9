import TillBilling
import TillSQL

/// What a user may use at a moment, until when and why, and what the user could use before. It is computed from the
/// ledger; nothing is stored.
package struct Rights: Sendable {
    /// Rights in force first, in each part the oldest first. A right appears once for each purchase that it comes from.
    package let all: [Right]
    /// Newest first.
    package let subscriptions: [OwnedSubscription]

    /// The rights in force.
    package var active: [Right] { all.filter(\.isAllowed) }

    /// The maximum numbers of a user's newest transactions read, and of subscriptions returned.
    static let transactionLimit = 20_000
    static let subscriptionLimit = 200

    /// Runs one query for all purchases, one more for plans if there are any, and one for each subscription in which
    /// other customers own periods.
    package static func load(
        of user: UserID, in environment: StoreEnvironment, at now: Instant, catalogs: CatalogHistory,
        connection: any Connection
    ) throws -> Rights {
        let catalog = catalogs.current
        let history = try PurchaseHistory(connection).list(
            of: user, in: environment, limit: transactionLimit, catalog: catalog)
        let plans = try PlanRights(user, environment, history.entries, catalogs, connection)
        let chains = try SubscriptionRights(history, at: now, catalog: catalog, connection)
        let lasting = LastingRights(history.entries, catalog: catalog)
        return Rights(
            all: sorted(lasting.rights + plans.rights(at: now) + chains.rights), subscriptions: chains.subscriptions)
    }

    /// In the order of `all`.
    static func sorted(_ rights: [Right]) -> [Right] {
        rights.sorted { left, right in
            left.isAllowed == right.isAllowed
                ? (left.since, left.transactionID) < (right.since, right.transactionID) : left.isAllowed
        }
    }
}
