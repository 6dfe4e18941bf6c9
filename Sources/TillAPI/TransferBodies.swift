import TillBilling

/// `POST /v1/users/{userId}/guests`: this account's guest is to be part of it (P12).
public struct MergeGuestBody: Codable, Sendable {
    public var guestId: String
    /// The guest's own user token. An app must bring it; a backend is believed without.
    public var guestToken: String?
    /// At most 500 bytes.
    public var reason: String?

    public init(guestId: String, guestToken: String? = nil, reason: String? = nil) {
        self.guestId = guestId
        self.guestToken = guestToken
        self.reason = reason
    }
}

/// `POST /v1/transfers`: one chain of transactions is to be another customer's.
public struct MakeTransferBody: Codable, Sendable {
    /// Who has it now.
    public var from: String
    public var to: String
    public var originalTransactionId: String
    /// `production` or `sandbox`; the server's usual one if absent.
    public var environment: String?
    /// At most 500 bytes.
    public var reason: String
    /// Who decided, at most 128 bytes.
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
    /// Who decided, at most 128 bytes.
    public var `operator`: String

    public init(reason: String, operator: String) {
        self.reason = reason
        self.operator = `operator`
    }
}

/// One transfer, as it is told.
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
            environment: Environment
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
        /// Below zero it is a debt.
        public let amount: Int64

        public init(_ points: MovedPoints) {
            environment = points.environment.rawValue
            currency = points.currency
            amount = points.amount
        }
    }

    /// What of a reversed transfer did not come back.
    public struct Stayed: Codable, Sendable, Hashable {
        /// Purchases that had gone on to somebody else.
        public let grantCount: Int64
        /// Points that were spent or taken back meanwhile.
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
    /// How many purchases were moved.
    public let grantCount: Int64
    /// The newest 100 of them.
    public let grants: [MovedGrant]
    public let points: [Points]
    /// The transfer that this one took back.
    public let reverses: UniqueID?
    /// The transfer that took this one back.
    public let reversedBy: UniqueID?
    /// Of a reversal.
    public let stayed: Stayed?

    public init(
        _ transfer: Transfer, grantCount: Int64, grants: [MovedGrant], points: [MovedPoints],
        reverses: UniqueID? = nil, reversedBy: UniqueID? = nil, stayed: Stayed? = nil
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
