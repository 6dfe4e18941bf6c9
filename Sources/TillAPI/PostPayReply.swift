import TillBilling

/// The response of `POST /postPay/ios`. `status` is 200 only if the purchase belongs to the requesting user, because
/// shipped clients interpret 200 as success. Members are in snake case, like the request.
public struct PostPayReply: Codable, Sendable, Hashable {
    /// Repeats the HTTP status: 200 granted; 202 stored, without an owner yet; 409 granted to another user; 410
    /// refunded or revoked by Apple. Refusals are problems, which have a `status` too.
    public let status: Int
    public let outcome: SubmitProofReply.Outcome
    public let transactionId: String
    // The remaining members are for the owner only.
    /// The current state of the order.
    public let order: OrderReply?
    /// The end of the service that contains this transaction's time, or of the period that it paid for at Apple; absent
    /// for a purchase without an end.
    public let expiresAt: Instant?
    /// True for a purchase in the sandbox, where purchases are not paid: do not deliver real goods. Absent otherwise.
    public let sandbox: Bool?
    /// Why it has no owner yet: a stable code.
    public let reason: String?

    public init(
        status: Int, outcome: SubmitProofReply.Outcome, transactionId: String, order: OrderReply? = nil,
        expiresAt: Instant? = nil, sandbox: Bool? = nil, reason: String? = nil
    ) {
        self.status = status
        self.outcome = outcome
        self.transactionId = transactionId
        self.order = order
        self.expiresAt = expiresAt
        self.sandbox = sandbox
        self.reason = reason
    }

    private enum CodingKeys: String, CodingKey {
        case status, outcome, order, sandbox, reason
        case transactionId = "transaction_id"
        case expiresAt = "expires_at"
    }
}
