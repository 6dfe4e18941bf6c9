import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

/// Answers requests to `/verifyReceipt` as Apple does, from the receipt's own signature and the ledger's newer data.
package struct ReceiptResponses: Sendable {
    /// Accepts proofs of either environment, because a receipt of the wrong environment has a status of its own.
    package let verifier: SignedDataVerifier
    private let environments: Set<StoreEnvironment>
    /// The digest of the app's shared secret; nil if none is configured.
    private let secretDigest: [UInt8]?

    /// - Throws: `bad_root` if a configured root is no certificate.
    package init(trust: AppleTrust, clock: @escaping Ledger.Clock) throws(VerificationError) {
        var policy = TrustPolicy(bundleID: trust.bundleID, environments: nil, now: clock)
        if !trust.roots.isEmpty { policy.roots = trust.roots }
        verifier = try SignedDataVerifier(policy: policy)
        environments = trust.environments
        secretDigest = trust.sharedSecret.map { Digest.sha256.hash($0.utf8) }
    }

    /// A request about a receipt that is accepted here.
    package struct Query: Sendable {
        package let receipt: VerifiedReceipt
        /// The posted receipt, decoded.
        let bytes: [UInt8]
        let newestOnly: Bool
        /// Whether the request carried the shared secret. Without it, the sender may hold another customer's receipt.
        let isTrusted: Bool
    }

    /// The status is the only information in the answer.
    package struct ReceiptStatusError: Error {
        package let status: VerifyReceiptStatus
    }

    /// If a shared secret is configured, a receipt with subscriptions needs it as `password`, and a wrong one is
    /// refused for every receipt, as Apple does. If none is configured, `password` is ignored.
    package func query(_ body: [UInt8]) throws(ReceiptStatusError) -> Query {
        guard let request = try? JSONValue(decoding: body), let text = request["receipt-data"]?.string,
            text.utf8.count <= SignedDataVerifier.receiptTextLimit, let bytes = Base64.decode(ignoringBlanks: text),
            !bytes.isEmpty, bytes.count <= SignedDataVerifier.receiptLimit
        else { throw ReceiptStatusError(status: .malformed) }
        let receipt: VerifiedReceipt
        do throws(VerificationError) {
            receipt = try verifier.receipt(bytes)
        } catch {
            // Another app's receipt is not authentic for this app, though Apple would accept it for its own: the server
            // vouches for one app only, and shipped clients often do not check `bundle_id`.
            throw ReceiptStatusError(status: error.verdict == .malformed ? .malformed : .notAuthentic)
        }
        guard environments.contains(receipt.environment) else {
            throw ReceiptStatusError(status: receipt.environment == .sandbox ? .sandboxReceipt : .productionReceipt)
        }
        let isTrusted = try knowsSecret(
            request["password"], isNeeded: receipt.payload.purchases.contains(where: \.isSubscription))
        return Query(
            receipt: receipt, bytes: bytes, newestOnly: request["exclude-old-transactions"]?.bool ?? false,
            isTrusted: isTrusted)
    }

    private func knowsSecret(_ given: JSONValue?, isNeeded: Bool) throws(ReceiptStatusError) -> Bool {
        guard let secretDigest else { return false }
        guard let given, !given.isNull else {
            if isNeeded { throw ReceiptStatusError(status: .wrongSecret) }
            return false
        }
        guard let text = given.string, Digest.sha256.hash(text.utf8) == secretDigest else {
            throw ReceiptStatusError(status: .wrongSecret)
        }
        return true
    }

    package func answer(_ query: Query, _ later: ReceiptUpdates, at now: Instant) -> VerifyReceiptResponse {
        var receipt = ResponseReceipt(query.receipt, requestedAt: now)
        receipt.inApp = query.receipt.payload.purchases.map { later.inApp($0) }
        var answer = VerifyReceiptResponse(status: .genuine)
        answer.environment = query.receipt.environment.rawValue
        answer.receipt = receipt
        guard query.receipt.payload.purchases.contains(where: \.isSubscription) else { return answer }
        // Receipts that other callers posted are never returned, even if they are newer.
        answer.latestReceipt = Base64.encode(query.bytes)
        let all = later.latest(withTokens: query.isTrusted)
        let newest = ReceiptUpdates.newest(of: all)
        answer.latestReceiptInfo = query.newestOnly ? newest : all.map(\.record)
        answer.pendingRenewalInfo = newest.map { record in
            // The next renewal is stated only in renewal infos, and the ledger keeps none.
            var renewal = ResponseRenewal()
            renewal.productID = record.productID
            renewal.originalTransactionID = record.originalTransactionID
            return renewal
        }
        return answer
    }
}
