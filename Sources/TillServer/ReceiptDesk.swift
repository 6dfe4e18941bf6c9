import TillAppStore
import TillBilling
import TillCrypto

/// Says of a receipt what Apple would, by the receipt's own signature and what the ledger adds.
struct ReceiptDesk: Sendable {
    /// For proofs of either environment: which of them count here is a status of its own.
    let verifier: SignedDataVerifier
    private let environments: Set<Environment>
    private let bytesUnderWay = Locked(0)

    /// Anybody may ask, so not more than so many bytes of requests are worked on at once; who comes then is told to
    /// come again (21005). Usual requests have ten kilobytes.
    static let byteLimit = 32 << 20

    /// - Throws: `bad_root` if a configured root is no certificate.
    init(trust: AppleTrust, clock: @escaping Server.Clock) throws(VerificationFailure) {
        var policy = TrustPolicy(bundleID: trust.bundleID, environments: nil, now: clock)
        if !trust.roots.isEmpty { policy.roots = trust.roots }
        verifier = try SignedDataVerifier(policy: policy)
        environments = trust.environments
    }

    /// Whether there is room for a request of that many bytes; if so, `end` gives it back.
    func begin(_ count: Int) -> Bool {
        bytesUnderWay.withLock { underWay in
            guard underWay == 0 || underWay + count <= Self.byteLimit else { return false }
            underWay += count
            return true
        }
    }

    func end(_ count: Int) { bytesUnderWay.withLock { $0 -= count } }

    /// What is asked, about a receipt that counts here.
    struct Query: Sendable {
        let receipt: VerifiedReceipt
        /// Base64 without white space.
        let text: String
        let newestOnly: Bool
    }

    /// Nothing of the receipt is told but this.
    struct Unanswered: Error {
        let status: VerifyReceiptStatus
    }

    /// A `password` is a client's word and is not looked at (T7): what it would open is open to who holds the receipt.
    func query(_ body: [UInt8]) throws(Unanswered) -> Query {
        guard let request = try? JSONValue(decoding: body), let text = request["receipt-data"]?.string,
            let asked = try? VerifyReceiptRequest(base64: text)
        else { throw Unanswered(status: .malformed) }
        let receipt: VerifiedReceipt
        do throws(VerificationFailure) {
            receipt = try verifier.receipt(base64: asked.receiptData)
        } catch {
            // Another app's receipt is not authentic for this app, though Apple's would be for its own: we vouch for
            // one app only, and shipped clients were seldom careful with `bundle_id`.
            throw Unanswered(status: error.verdict == .malformed ? .malformed : .notAuthentic)
        }
        guard environments.contains(receipt.environment) else {
            throw Unanswered(status: receipt.environment == .sandbox ? .sandboxReceipt : .productionReceipt)
        }
        return Query(
            receipt: receipt, text: asked.receiptData, newestOnly: request["exclude-old-transactions"]?.bool ?? false)
    }

    func answer(_ query: Query, _ later: LaterKnowledge, at now: Instant) -> VerifyReceiptAnswer {
        var receipt = AnsweredReceipt(query.receipt, requestedAt: now)
        receipt.inApp = query.receipt.payload.purchases.map { later.inApp($0) }
        var answer = VerifyReceiptAnswer(status: .genuine)
        answer.environment = query.receipt.environment.rawValue
        answer.receipt = receipt
        guard query.receipt.payload.purchases.contains(where: \.isSubscription) else { return answer }
        // Receipts that others posted are not handed out, though they may be newer.
        answer.latestReceipt = query.text
        let all = later.latest()
        let newest = LaterKnowledge.newest(of: all)
        answer.latestReceiptInfo = query.newestOnly ? newest : all.map(\.record)
        answer.pendingRenewalInfo = newest.map { record in
            // What renews next, and whether, stands in renewal infos only, and the ledger keeps none.
            var renewal = AnsweredRenewal()
            renewal.productID = record.productID
            renewal.originalTransactionID = record.originalTransactionID
            return renewal
        }
        return answer
    }
}
