import TillBilling

/// The answer of `POST /postPay/ios`: `status` is 200 only when what was paid for belongs to the asking user, because
/// that is what shipped clients take for success (C8). Snake case, like the request.
public struct PostPayReply: Codable, Sendable, Hashable {
    /// The HTTP status once more: 200 granted; 202 kept, and nobody's yet; 409 granted to another user; 410 taken back
    /// by Apple. Refusals are problems, which have a `status` too.
    public let status: Int
    public let outcome: SubmitProofReply.Outcome
    public let transactionId: String
    // The rest is for the owner only (P8).
    /// As it stands now.
    public let order: OrderReply?
    /// When the service ends that this transaction's time went into, or the period that it paid for at Apple; absent
    /// for what does not end.
    public let expiresAt: Instant?
    /// True for what was paid in the sandbox, where nobody pays: give no real goods. Absent otherwise.
    public let sandbox: Bool?
    /// Why it is nobody's yet: a stable code.
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
