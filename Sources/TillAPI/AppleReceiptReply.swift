/// The response of `POST /appleReceipt/ios`. Shipped clients read `flag` alone: 1 is success, and with anything else
/// they tell the customer that the purchase will arrive.
public struct AppleReceiptReply: Codable, Sendable, Hashable {
    /// 1 if the newest purchase of the receipt belongs to the requesting user and none of the receipt's purchases
    /// waits; otherwise 0.
    public let flag: Int
    /// The processed purchases of the receipt, newest first.
    public let transactions: [Purchase]

    public struct Purchase: Codable, Sendable, Hashable {
        public let transactionId: String
        public let outcome: SubmitProofReply.Outcome
        /// Why it waits: a stable code.
        public let reason: String?
        /// True for the requesting user's purchase in the sandbox, where purchases are not paid: do not deliver real
        /// goods. Absent otherwise.
        public let sandbox: Bool?

        public init(
            transactionId: String, outcome: SubmitProofReply.Outcome, reason: String? = nil, sandbox: Bool? = nil
        ) {
            self.transactionId = transactionId
            self.outcome = outcome
            self.reason = reason
            self.sandbox = sandbox
        }

        private enum CodingKeys: String, CodingKey {
            case outcome, reason, sandbox
            case transactionId = "transaction_id"
        }
    }

    public init(flag: Int, transactions: [Purchase]) {
        self.flag = flag
        self.transactions = transactions
    }
}
