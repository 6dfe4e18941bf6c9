import TillAppStore
import TillBilling
import TillSQL

/// The configured part of the answer that Apple gets before it decides about a refund.
public struct ConsumptionSettings: Sendable, Hashable {
    /// Whether customers can try before they buy.
    public var hadSample = false
    /// The refund preference; nil states none.
    public var preference: ConsumptionInformation.RefundPreference?

    public init() {}
}

extension Ledger {
    /// Records a CONSUMPTION_REQUEST in the commit that processes it. `ConsumptionAnswers` answers it.
    func noteConsumptionRequest(
        _ rowID: Int64, _ notification: VerifiedNotification, _ connection: any Connection
    ) throws {
        guard notification.type == .consumptionRequest, let transaction = notification.transaction else { return }
        let reason = notification.payload.data?.consumptionRequestReason?.rawValue
        let request = ConsumptionTable.Request(
            environment: notification.environment, transactionID: transaction.id,
            reason: reason.map { String($0.prefix(64)) }, requestedAt: notification.signedDate ?? clock())
        guard try ConsumptionTable(connection).insert(request, notification: rowID) else { return }
        let purchase = try RequestedPurchase.asked(transaction.id, in: notification.environment, connection)
        try EventRecorder(connection).record(
            type: "consumption.requested", user: purchase?.userID, transaction: purchase?.rowID,
            about: request.subject, body: EventBody.consumptionRequest(request), at: clock())
    }
}

extension ConsumptionTable.Request {
    /// The subject of the events about this request.
    var subject: String {
        "\(environment.rawValue):\(transactionID.text):\(requestedAt.milliseconds)"
    }
}

/// The answer about a purchase at one moment, or why there is none.
package enum ConsumptionDecision: Sendable {
    case send(ConsumptionInformation)
    /// No answer yet.
    case wait(NoConsumptionReason)
    /// No answer any more.
    case nothing(NoConsumptionReason)
}

/// Why Apple gets no answer. The raw values are recorded in the ledger, before a sentence for operators.
package enum NoConsumptionReason: String, Sendable, CaseIterable {
    case unknownOwner = "unknown_owner"
    case noConsent = "no_consent"
    case noKey = "no_in_app_purchase_key"
    case alreadyRefunded = "already_refunded"
    case tooLate = "too_late"
    case outage

    var sentence: String {
        switch self {
        case .unknownOwner: "the purchase has no known owner, so no customer has consented to an answer"
        case .noConsent: "the customer has not consented to an answer"
        case .noKey: "the server has no In-App Purchase key for the answer"
        case .alreadyRefunded: "Apple has already refunded the purchase"
        case .tooLate: "Apple's window of twelve hours had ended when the server processed the request"
        case .outage: "Apple did not accept the answer"
        }
    }

    var detail: String { "\(rawValue): \(sentence)" }
}

extension Ledger {
    /// The answer about a purchase now: only with the customer's current consent, and computed from the current ledger.
    func consumption(
        about request: ConsumptionTable.Request, at now: Instant, _ connection: any Connection
    ) throws -> ConsumptionDecision {
        guard let purchase = try RequestedPurchase.asked(request.transactionID, in: request.environment, connection),
            let user = purchase.userID
        else { return .wait(.unknownOwner) }
        guard purchase.state != .revoked else { return .nothing(.alreadyRefunded) }
        guard try ConsentTable(connection).newest(of: user)?.isGiven == true else { return .wait(.noConsent) }
        let used = try used(purchase, of: user, in: request.environment, at: now, connection)
        return .send(
            ConsumptionInformation(
                wasGranted: purchase.grantID != nil, used: used,
                type: purchase.type ?? settings.catalog[purchase.productID]?.type,
                settings: settings.consumption))
    }

    /// The used share of a purchase: for points the part of its lots that was spent, for time that the server manages
    /// the part that has passed. Nil for subscriptions, which Apple measures itself, and for products that cannot be
    /// used up.
    private func used(
        _ purchase: RequestedPurchase, of user: UserID, in environment: StoreEnvironment, at now: Instant,
        _ connection: any Connection
    ) throws -> UsedShare? {
        guard let grant = purchase.grantID else { return nil }
        let ledger = LedgerTable(connection)
        let postings = try ledger.postings(grantOf: purchase.rowID).map(\.posting)
        let shares = try Dictionary(grouping: postings, by: \.currency).map { currency, postings in
            let bought = postings.filter { $0.kind == .purchase }.map(\.amount).reduce(0, +)
            // Summed over all customers who owned it.
            let used = try Set(postings.map(\.userID)).map { owner in
                try ledger.lots(of: owner, in: environment, currency: currency).lot(ofGrant: grant)?.used ?? 0
            }
            return UsedShare(used: used.reduce(0, +), of: bought)
        }
        if let share = UsedShare(mean: shares) { return share }
        guard let product = settings.catalog[purchase.productID], let plan = Plan(soldBy: product),
            let stored = try TransactionTable(connection).find(rowID: purchase.rowID)
        else { return nil }
        // Time that is queued behind other time has not begun. A purchase without a current period has ended or was
        // converted: its share is computed from the time since the purchase.
        let service = Service(
            try PlanHistory.purchases(of: user, in: environment, catalogs, connection)
                .filter { $0.at <= now })
        let period = service.current(at: now).first { $0.origin == .bought && $0.transactionID == stored.id }
        return UsedShare(
            from: period?.start ?? stored.purchasedAt,
            milliseconds: plan.length.seconds * Int64(stored.quantity) * 1_000, at: now)
    }
}

extension RequestedPurchase {
    /// A purchase with its customer: if nothing was granted, the customer whom its token names under the rules of
    /// processing. An order that was opened after its id was seen in a payment names no customer.
    package static func asked(
        _ id: TransactionID, in environment: StoreEnvironment, _ connection: any Connection
    ) throws -> RequestedPurchase? {
        guard var purchase = try find(id, in: environment, connection) else { return nil }
        if purchase.userID == nil {
            purchase.userID = try TokenFacts.user(namedByTokenOf: purchase.rowID, connection)
        }
        return purchase
    }
}

extension ConsumptionInformation {
    /// The answer as far as Apple's rules allow it (facts/server-api §5).
    init(wasGranted: Bool, used: UsedShare?, type: TillBilling.ProductType?, settings: ConsumptionSettings) {
        let isPeriod = type == .autoRenewable
        let percentage = wasGranted ? (isPeriod ? nil : used?.thousandths) : 0
        var preference = settings.preference
        switch preference {
        case .grantProrated where percentage == 0:
            // A prorated refund needs a percentage above 0; for an unused purchase, the unused part is the full price.
            preference = .grantFull
        case .grantProrated where percentage == nil && !isPeriod: preference = nil
        // Without delivery there is no reason to decline a refund.
        case .decline where !wasGranted: preference = nil
        case .grantProrated, .grantFull, .decline, nil: break
        }
        self.init(
            hasConsent: true, delivery: wasGranted ? .delivered : .undelivered, hadSample: settings.hadSample,
            percentage: percentage, preference: preference,
            productType: type)
    }
}
