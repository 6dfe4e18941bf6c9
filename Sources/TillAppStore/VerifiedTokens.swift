import TillBilling

/// What Apple vouches for about a subscription's next renewal.
public struct VerifiedRenewalInfo: Sendable {
    public let payload: RenewalInfoPayload
    public let environment: Environment

    init(payload: RenewalInfoPayload, environment: Environment) {
        self.payload = payload
        self.environment = environment
    }

    public var originalTransactionID: TransactionID? { payload.originalTransactionID.map(TransactionID.init) }
    public var signedDate: Instant? { payload.signedDate }
}

/// A customer's download of the app that Apple vouches for.
public struct VerifiedAppTransaction: Sendable {
    public let payload: AppTransactionPayload
    public let environment: Environment

    init(payload: AppTransactionPayload, environment: Environment) {
        self.payload = payload
        self.environment = environment
    }
}

/// A notification that Apple sent, with everything nested in it verified too.
public struct VerifiedNotification: Sendable {
    /// Apple's `notificationUUID`: the same for every delivery of one notification.
    public let id: String
    public let payload: NotificationPayload
    public let environment: Environment
    public let bundleID: String?
    public let transaction: VerifiedTransaction?
    public let renewalInfo: VerifiedRenewalInfo?
    public let appTransaction: VerifiedAppTransaction?

    init(
        id: String, payload: NotificationPayload, environment: Environment, bundleID: String?,
        transaction: VerifiedTransaction?, renewalInfo: VerifiedRenewalInfo?, appTransaction: VerifiedAppTransaction?
    ) {
        self.id = id
        self.payload = payload
        self.environment = environment
        self.bundleID = bundleID
        self.transaction = transaction
        self.renewalInfo = renewalInfo
        self.appTransaction = appTransaction
    }

    public var type: NotificationType? { payload.notificationType }
    public var subtype: NotificationSubtype? { payload.subtype }
    /// Nil in some that Apple really sent.
    public var signedDate: Instant? { payload.signedDate }
    public var status: SubscriptionStatus? { payload.data?.status }
}
