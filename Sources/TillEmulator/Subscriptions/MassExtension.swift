import TillAppStore
import TillBilling
import TillJSON
import TillSQL

/// More days for every active subscriber of a product (facts/server-api §3, numbers 8 and 9).
enum MassExtension {
    struct Request: Sendable, Hashable {
        var id: UniqueID
        var bundleID: String
        var productID: ProductID
        var days: Int64
        var reason: Int64
        /// Nil: all of them.
        var storefronts: [String]?
    }

    struct Status: Sendable, Hashable {
        var completed: Instant?
        var succeeded: Int64
        var failed: Int64
    }

    /// So many subscriptions are looked at in one go, and a minute passes before the next: Apple may take hours or
    /// days (facts/server-api §4.4).
    static let batch = 100
    private static let pause: Int64 = 60

    /// Takes a request, which the agenda then works through. The same id again changes nothing.
    static func begin(_ request: Request, _ turn: Turn) throws {
        guard let number = try MassExtensionTable.insert(request, at: turn.now, turn.session) else { return }
        try Agenda.set(.massExtension, number, at: turn.now.adding(seconds: 1), turn.session)
    }

    /// Nil if there was no such request for this product.
    static func status(
        _ id: UniqueID, productID: ProductID, bundleID: String, _ session: any Connection
    ) throws -> Status? {
        try MassExtensionTable.status(id, productID: productID, bundleID: bundleID, session)
    }

    /// Goes on with a request where it stopped.
    static func proceed(_ number: Int64, _ turn: Turn) throws {
        guard var progress = try MassExtensionTable.progress(number, turn.session) else { return }
        let request = progress.request
        let page = try SubscriptionTable.ofProduct(
            request.productID, bundleID: request.bundleID, after: progress.after, limit: batch, turn.session)
        for subscription in page where subscription.isGoingOn {
            let transaction = try SubscriptionLife.current(of: subscription, turn)
            if let storefronts = request.storefronts, !storefronts.contains(transaction.storefront) { continue }
            switch try SubscriptionLife.extend(subscription.original, days: request.days, turn) {
            case .success: progress.succeeded += 1
            case .failure:
                progress.failed += 1
                try turn.note(.renewalExtension, .failure, about: transaction, subscription)
            }
        }
        progress.after = page.last?.original ?? progress.after
        guard page.count == batch else {
            try MassExtensionTable.save(progress, completed: turn.now, turn.session)
            try turn.note(summary(of: progress, turn))
            return
        }
        try MassExtensionTable.save(progress, completed: nil, turn.session)
        try Agenda.set(.massExtension, number, at: turn.now.adding(seconds: pause), turn.session)
    }

    /// RENEWAL_EXTENSION, SUMMARY (facts/jws §7).
    private static func summary(of progress: MassExtensionTable.Progress, _ turn: Turn) -> Notice {
        let request = progress.request
        var notice = Notice(.renewalExtension, bundleID: request.bundleID)
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
