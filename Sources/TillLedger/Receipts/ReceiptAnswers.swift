import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

/// Says of a receipt what Apple would, by the receipt's own signature and what the ledger adds.
package struct ReceiptAnswers: Sendable {
    /// For proofs of either environment: which of them count here is a status of its own.
    package let verifier: SignedDataVerifier
    private let environments: Set<Environment>
    /// Of the app's shared secret; nil where none is configured.
    private let secretDigest: [UInt8]?

    /// - Throws: `bad_root` if a configured root is no certificate.
    package init(trust: AppleTrust, clock: @escaping Ledger.Clock) throws(VerificationFailure) {
        var policy = TrustPolicy(bundleID: trust.bundleID, environments: nil, now: clock)
        if !trust.roots.isEmpty { policy.roots = trust.roots }
        verifier = try SignedDataVerifier(policy: policy)
        environments = trust.environments
        secretDigest = trust.sharedSecret.map { Digest.sha256.hash($0.utf8) }
    }

    /// What is asked, about a receipt that counts here.
    package struct Query: Sendable {
        package let receipt: VerifiedReceipt
        /// As it was posted, decoded.
        let bytes: [UInt8]
        let newestOnly: Bool
        /// Whether the shared secret came with it. Anybody else may hold a receipt of another customer.
        let isTrusted: Bool
    }

    /// Nothing of the receipt is told but this.
    package struct Unanswered: Error {
        package let status: VerifyReceiptStatus
    }

    /// Where a shared secret is configured, a receipt with subscriptions needs it as `password`, and a wrong one is
    /// refused beside every receipt, as Apple does. Where none is, a client's `password` is not looked at (T7).
    package func query(_ body: [UInt8]) throws(Unanswered) -> Query {
        guard let request = try? JSONValue(decoding: body), let text = request["receipt-data"]?.string,
            text.utf8.count <= SignedDataVerifier.receiptTextLimit, let bytes = Base64.decode(ignoringBlanks: text),
            !bytes.isEmpty, bytes.count <= SignedDataVerifier.receiptLimit
        else { throw Unanswered(status: .malformed) }
        let receipt: VerifiedReceipt
        do throws(VerificationFailure) {
            receipt = try verifier.receipt(bytes)
        } catch {
            // Another app's receipt is not authentic for this app, though Apple's would be for its own: we vouch for
            // one app only, and shipped clients were seldom careful with `bundle_id`.
            throw Unanswered(status: error.verdict == .malformed ? .malformed : .notAuthentic)
        }
        guard environments.contains(receipt.environment) else {
            throw Unanswered(status: receipt.environment == .sandbox ? .sandboxReceipt : .productionReceipt)
        }
        let isTrusted = try knowsSecret(
            request["password"], isNeeded: receipt.payload.purchases.contains(where: \.isSubscription))
        return Query(
            receipt: receipt, bytes: bytes, newestOnly: request["exclude-old-transactions"]?.bool ?? false,
            isTrusted: isTrusted)
    }

    private func knowsSecret(_ given: JSONValue?, isNeeded: Bool) throws(Unanswered) -> Bool {
        guard let secretDigest else { return false }
        guard let given, !given.isNull else {
            if isNeeded { throw Unanswered(status: .wrongSecret) }
            return false
        }
        guard let text = given.string, Digest.sha256.hash(text.utf8) == secretDigest else {
            throw Unanswered(status: .wrongSecret)
        }
        return true
    }

    package func answer(_ query: Query, _ later: ReceiptUpdates, at now: Instant) -> VerifyReceiptAnswer {
        var receipt = AnsweredReceipt(query.receipt, requestedAt: now)
        receipt.inApp = query.receipt.payload.purchases.map { later.inApp($0) }
        var answer = VerifyReceiptAnswer(status: .genuine)
        answer.environment = query.receipt.environment.rawValue
        answer.receipt = receipt
        guard query.receipt.payload.purchases.contains(where: \.isSubscription) else { return answer }
        // Receipts that others posted are not handed out, though they may be newer.
        answer.latestReceipt = Base64.encode(query.bytes)
        let all = later.latest(withTokens: query.isTrusted)
        let newest = ReceiptUpdates.newest(of: all)
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
