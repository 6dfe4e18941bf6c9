import TillBilling
import TillSQL

/// What a user may use at a moment, until when and why, and what the user could use before (C7, C11, P10): a fold over
/// the ledger, with nothing stored beside it.
package struct Rights: Sendable {
    /// Those that hold first, each part the oldest first. One right may stand here several times, for each purchase
    /// that it comes from.
    package let all: [Right]
    /// The newest first.
    package let subscriptions: [HeldSubscription]

    /// What may be used now.
    package var held: [Right] { all.filter(\.isAllowed) }

    /// How many of a user's newest transactions are looked through, and how many subscriptions are told.
    static let transactionLimit = 20_000
    static let subscriptionLimit = 200

    /// One query for all that was paid, one more for plans if there are any, and one for each subscription.
    package static func load(
        of user: UserID, in environment: Environment, at now: Instant, catalogs: CatalogHistory,
        connection: any Connection
    ) throws -> Rights {
        let catalog = catalogs.current
        let entries = try PurchaseHistory(connection).list(of: user, in: environment, limit: transactionLimit)
        let plans = try PlanRights(user, environment, entries, catalogs, connection)
        let chains = try SubscriptionRights(environment, entries, at: now, catalog: catalog, connection)
        let lasting = LastingRights(entries, catalog: catalog)
        let rights = lasting.rights + plans.rights(at: now) + chains.rights
        return Rights(
            all: rights.sorted { left, right in
                left.isAllowed == right.isAllowed
                    ? (left.since, left.transactionID) < (right.since, right.transactionID) : left.isAllowed
            }, subscriptions: chains.subscriptions)
    }
}
