import TillAppStore
import TillBilling
import TillJSON
import TillSQL

/// An extended renewal date.
struct RenewalDateExtension: Sendable, Hashable {
    enum Refusal: Error, Sendable, Hashable {
        /// The subscription does not exist.
        case unknown
        /// Not active, never paid, or in a free offer.
        case ineligible
        /// Extended twice in 365 days already.
        case tooMany
        case familyShared
    }

    var effective: Instant
    /// `webOrderLineItemId` of the extended period.
    var lineItem: Int64
}

extension SubscriptionLifecycle {
    /// Extends the renewal date (facts/server-api §4.4), with the notification RENEWAL_EXTENDED.
    ///
    /// - Parameter days: 1 to 90; a faster pace scales them down.
    static func extend(
        _ original: Int64, days: Int64, _ change: StoreChange
    ) throws -> Result<RenewalDateExtension, RenewalDateExtension.Refusal> {
        guard var subscription = try SubscriptionTable.find(original, change.connection) else {
            return .failure(.unknown)
        }
        var transaction = try current(of: subscription, change)
        if let refusal = try refusal(of: subscription, transaction, change) { return .failure(refusal) }
        guard (1...90).contains(days) else { return .failure(.ineligible) }

        let pace = try RenewalPace.current(change.connection)
        let expires = subscription.expires.adding(milliseconds: days * pace.day)
        subscription.commitment?.move(by: days * pace.day)
        transaction.commitment = subscription.commitment
        subscription.expires = expires
        subscription.billingDay = expires.dayOfMonth
        subscription.extensions = recent(subscription.extensions, at: change.now) + [change.now]
        if subscription.nextCharge != nil { subscription.nextCharge = try chargeDate(before: expires, change) }
        transaction.subscription?.expires = expires
        transaction = try TransactionTable.update(transaction, change.connection)
        try save(subscription, change)
        try change.note(.renewalExtended, about: transaction, subscription)
        try extendShares(of: original, to: expires, change)
        return .success(
            RenewalDateExtension(effective: expires, lineItem: transaction.subscription?.lineItem ?? 0))
    }

    private static func refusal(
        of subscription: StoreSubscription, _ transaction: StoreTransaction, _ change: StoreChange
    ) throws -> RenewalDateExtension.Refusal? {
        if subscription.sharedFrom != nil { return .familyShared }
        guard subscription.state == .active, transaction.price.amount > 0,
            try TransactionTable.wasPaid(original: subscription.original, change.connection)
        else { return .ineligible }
        return recent(subscription.extensions, at: change.now).count < 2 ? nil : .tooMany
    }

    private static func recent(_ extensions: [Instant], at now: Instant) -> [Instant] {
        extensions.filter { $0 > now.adding(seconds: -365 * 86_400) }
    }

    /// Extends the shared subscriptions of the family's members too.
    private static func extendShares(of original: Int64, to expires: Instant, _ change: StoreChange) throws {
        for var share in try SubscriptionTable.shares(of: original, change.connection) where share.state == .active {
            var copy = try current(of: share, change)
            copy.subscription?.expires = expires
            try TransactionTable.update(copy, change.connection)
            share.expires = expires
            try SubscriptionTable.save(share, change.connection)
        }
    }
}

/// Extensions for every active subscriber of a product (facts/server-api §3, numbers 8 and 9).
enum MassExtension {
    struct Request: Sendable, Hashable {
        var id: UniqueID
        var bundleID: String
        var productID: ProductID
        var days: Int64
        var reason: Int64
        /// Nil: all storefronts.
        var storefronts: [String]?
    }

    struct Status: Sendable, Hashable {
        var completed: Instant?
        var succeeded: Int64
        var failed: Int64
    }

    /// Subscriptions per batch. The next batch follows a minute later, because Apple's extensions may take hours or
    /// days (facts/server-api §4.4).
    static let batch = 100
    private static let pause: Int64 = 60

    /// Accepts a request, which the schedule then works through. A repeated id changes nothing.
    static func begin(_ request: Request, _ change: StoreChange) throws {
        guard let number = try MassExtensionTable.insert(request, at: change.now, change.connection) else { return }
        try Schedule.set(.massExtension, number, at: change.now.adding(seconds: 1), change.connection)
    }

    /// Nil if there was no such request for this product.
    static func status(
        _ id: UniqueID, productID: ProductID, bundleID: String, _ connection: any Connection
    ) throws -> Status? {
        try MassExtensionTable.status(id, productID: productID, bundleID: bundleID, connection)
    }

    /// Continues a request where it stopped.
    static func proceed(_ number: Int64, _ change: StoreChange) throws {
        guard var progress = try MassExtensionTable.progress(number, change.connection) else { return }
        let request = progress.request
        let page = try SubscriptionTable.ofProduct(
            request.productID, bundleID: request.bundleID, after: progress.after, limit: batch, change.connection)
        for subscription in page where subscription.isGoingOn {
            let transaction = try SubscriptionLifecycle.current(of: subscription, change)
            if let storefronts = request.storefronts, !storefronts.contains(transaction.storefront) { continue }
            switch try SubscriptionLifecycle.extend(subscription.original, days: request.days, change) {
            case .success: progress.succeeded += 1
            case .failure:
                progress.failed += 1
                try change.note(.renewalExtension, .failure, about: transaction, subscription)
            }
        }
        progress.after = page.last?.original ?? progress.after
        guard page.count == batch else {
            try MassExtensionTable.save(progress, completed: change.now, change.connection)
            try change.note(summary(of: progress, change))
            return
        }
        try MassExtensionTable.save(progress, completed: nil, change.connection)
        try Schedule.set(.massExtension, number, at: change.now.adding(seconds: pause), change.connection)
    }

    /// The notification RENEWAL_EXTENSION, SUMMARY (facts/jws §7).
    private static func summary(of progress: MassExtensionTable.Progress, _ change: StoreChange) -> NotificationDraft {
        let request = progress.request
        var notice = NotificationDraft(.renewalExtension, bundleID: request.bundleID)
        notice.subtype = .summary
        var summary = NotificationPayload.Summary()
        summary.productID = request.productID.text
        summary.requestIdentifier = request.id.description
        summary.storefrontCountryCodes = request.storefronts
        summary.succeededCount = progress.succeeded
        summary.failedCount = progress.failed
        notice.summary = summary
        return notice
    }
}

extension StoreSchema {
    static let massExtensions: StaticString = """
        CREATE TABLE mass_extensions (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            bundle_id TEXT NOT NULL,
            product_id TEXT NOT NULL,
            days INTEGER NOT NULL,
            reason INTEGER NOT NULL,
            storefronts TEXT,
            begun_at INTEGER NOT NULL,
            done_to INTEGER NOT NULL DEFAULT 0,
            succeeded INTEGER NOT NULL DEFAULT 0,
            failed INTEGER NOT NULL DEFAULT 0,
            completed_at INTEGER
        ) STRICT;
        """
}

/// Mass extension requests and their progress.
enum MassExtensionTable {
    static let columns: Columns = "id, bundle_id, product_id, days, reason, storefronts"

    struct Progress: Sendable {
        var number: Int64
        var request: MassExtension.Request
        /// The last processed subscription.
        var after: Int64
        var succeeded: Int64
        var failed: Int64
    }

    /// - Returns: the request's number; nil if a request with this id exists.
    static func insert(_ request: MassExtension.Request, at now: Instant, _ connection: any Connection) throws -> Int64?
    {
        try connection.first(
            """
            INSERT INTO mass_extensions (\(columns), begun_at) VALUES (\(marks: 7))
            ON CONFLICT (id) DO NOTHING RETURNING number
            """,
            [
                .text(request.id.description), .text(request.bundleID), .text(request.productID.text),
                .integer(request.days), .integer(request.reason),
                .optional(try request.storefronts.map { try StoredDocument.text($0) }), .integer(now.milliseconds),
            ]
        ) { $0.integer("number") }
    }

    static func status(
        _ id: UniqueID, productID: ProductID, bundleID: String, _ connection: any Connection
    ) throws -> MassExtension.Status? {
        try connection.first(
            """
            SELECT completed_at, succeeded, failed FROM mass_extensions
            WHERE id = ? AND product_id = ? AND bundle_id = ?
            """, [.text(id.description), .text(productID.text), .text(bundleID)]
        ) { row in
            MassExtension.Status(
                completed: row.optionalInteger("completed_at").map(Instant.init(milliseconds:)),
                succeeded: row.integer("succeeded"),
                failed: row.integer("failed"))
        }
    }

    /// Nil for a completed request.
    static func progress(_ number: Int64, _ connection: any Connection) throws -> Progress? {
        let found = try connection.first(
            """
            SELECT \(columns), done_to, succeeded, failed FROM mass_extensions WHERE number = ? AND completed_at IS NULL
            """, [.integer(number)]
        ) { row -> Progress? in
            guard let id = UniqueID(row.text("id")) else { return nil }
            let request = MassExtension.Request(
                id: id, bundleID: row.text("bundle_id"), productID: ProductID(row.text("product_id")),
                days: row.integer("days"),
                reason: row.integer("reason"),
                storefronts: try row.optionalText("storefronts").map {
                    try StoredDocument.read([String].self, from: $0)
                })
            return Progress(
                number: number, request: request, after: row.integer("done_to"), succeeded: row.integer("succeeded"),
                failed: row.integer("failed"))
        }
        return found ?? nil
    }

    static func save(_ progress: Progress, completed: Instant?, _ connection: any Connection) throws {
        try connection.execute(
            "UPDATE mass_extensions SET done_to = ?, succeeded = ?, failed = ?, completed_at = ? WHERE number = ?",
            [
                .integer(progress.after), .integer(progress.succeeded), .integer(progress.failed),
                .optional(completed?.milliseconds), .integer(progress.number),
            ])
    }
}
