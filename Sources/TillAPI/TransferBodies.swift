import TillBilling

/// `POST /v1/users/{userId}/guests`: merges a guest into this account.
public struct MergeGuestBody: Codable, Sendable {
    public var guestId: String
    /// The guest's own user token. Required from an app; a backend may omit it.
    public var guestToken: String?
    /// At most 500 bytes.
    public var reason: String?

    public init(guestId: String, guestToken: String? = nil, reason: String? = nil) {
        self.guestId = guestId
        self.guestToken = guestToken
        self.reason = reason
    }
}

/// `POST /v1/transfers`: moves one chain of transactions to another customer.
public struct MakeTransferBody: Codable, Sendable {
    /// The current owner.
    public var from: String
    public var to: String
    public var originalTransactionId: String
    /// `production` or `sandbox`; the server's default if absent.
    public var environment: String?
    /// At most 500 bytes.
    public var reason: String
    /// The person who decided, at most 128 bytes.
    public var `operator`: String

    public init(
        from: String, to: String, originalTransactionId: String, environment: String? = nil, reason: String,
        operator: String
    ) {
        self.from = from
        self.to = to
        self.originalTransactionId = originalTransactionId
        self.environment = environment
        self.reason = reason
        self.operator = `operator`
    }
}

/// `POST /v1/transfers/{id}/reversal`.
public struct ReverseTransferBody: Codable, Sendable {
    /// At most 500 bytes.
    public var reason: String
    /// The person who decided, at most 128 bytes.
    public var `operator`: String

    public init(reason: String, operator: String) {
        self.reason = reason
        self.operator = `operator`
    }
}

/// One transfer in a response.
public struct TransferReply: Codable, Sendable, Hashable {
    /// A purchase that was moved.
    public struct MovedGrant: Codable, Sendable, Hashable {
        public let id: UniqueID
        public let transactionId: String
        public let originalTransactionId: String
        public let productId: String
        public let environment: String

        public init(
            id: UniqueID, transactionID: TransactionID, originalID: TransactionID, productID: ProductID,
            environment: StoreEnvironment
        ) {
            self.id = id
            transactionId = transactionID.text
            originalTransactionId = originalID.text
            productId = productID.text
            self.environment = environment.rawValue
        }
    }

    /// Points of one kind.
    public struct Points: Codable, Sendable, Hashable {
        public let environment: String
        public let currency: String
        /// Negative for a debt.
        public let amount: Int64

        public init(_ points: MovedPoints) {
            environment = points.environment.rawValue
            currency = points.currency
            amount = points.amount
        }
    }

    /// The part of a reversed transfer that was not returned.
    public struct Remaining: Codable, Sendable, Hashable {
        /// Purchases that had moved on to a third customer.
        public let grantCount: Int64
        /// Points that were spent or refunded in the meantime.
        public let points: [Points]

        public init(grantCount: Int64, points: [MovedPoints]) {
            self.grantCount = grantCount
            self.points = points.map(Points.init)
        }
    }

    public let id: UniqueID
    /// `guest_merge`, `restore`, `support`, `reversal`, `signed_buyer`.
    public let kind: String
    public let from: String
    public let to: String
    public let reason: String
    /// `user:u1`, `key:backend`.
    public let actor: String
    public let `operator`: String?
    public let at: Instant
    /// The number of moved purchases.
    public let grantCount: Int64
    /// The newest 100 of them.
    public let grants: [MovedGrant]
    public let points: [Points]
    /// The transfer that this one reversed.
    public let reverses: UniqueID?
    /// The transfer that reversed this one.
    public let reversedBy: UniqueID?
    /// For a reversal.
    public let stayed: Remaining?

    public init(
        _ transfer: Transfer, grantCount: Int64, grants: [MovedGrant], points: [MovedPoints],
        reverses: UniqueID? = nil, reversedBy: UniqueID? = nil, stayed: Remaining? = nil
    ) {
        id = transfer.id
        kind = transfer.kind.rawValue
        from = transfer.from.text
        to = transfer.to.text
        reason = transfer.reason
        actor = transfer.actor
        `operator` = transfer.operatorName
        at = transfer.at
        self.grantCount = grantCount
        self.grants = grants
        self.points = points.map(Points.init)
        self.reverses = reverses
        self.reversedBy = reversedBy
        self.stayed = stayed
    }
}
