import TillAppStore
import TillBilling
import TillCrypto
import TillThreads

/// What Apple's verifyReceipt states about one purchase of a receipt: the account token, which the receipt hides, and a
/// refund.
package struct ReceiptStatement: Sendable, Hashable {
    /// Nil if Apple gave none. Apple gives it only in some answers, so nil does not mean that the payment had none.
    package let token: AppAccountToken?
    package let revokedAt: Instant?
    /// When Apple answered.
    package let statedAt: Instant
}

extension VerifiedPurchase {
    func stating(_ statement: ReceiptStatement) -> VerifiedPurchase {
        var purchase = self
        purchase.statement = statement
        return purchase
    }
}

extension SignedTransactionLookup {
    /// Without an In-App Purchase key: sends the receipt to Apple's verifyReceipt. One request serves all who sent the
    /// same receipt for the same transaction.
    init(_ client: VerifyReceiptClient, clock: @escaping Ledger.Clock) {
        let (lookups, running) = (SharedLookups(clock: clock), RunningRequests())
        request = { question, requester in
            guard let purchase = question.purchase, purchase.proof.kind == .receipt else {
                return .none("verifyReceipt needs the receipt")
            }
            let (verified, receipt) = (purchase.transaction, purchase.proof.bytes)
            let subject = SharedLookups.Subject(
                environment: verified.environment, id: verified.id, receipt: Digest.sha256.hash(receipt))
            return await lookups.answer(about: subject, paidAt: verified.purchaseDate) {
                guard running.hasRoom(for: requester.name) else {
                    return .refused(.later("too many receipts are being sent to Apple", not: nil))
                }
                return .mine {
                    running.begin(requester.name)
                    defer { running.end(requester.name) }
                    do throws(InvalidRequestError) {
                        let outcome = await client.verify(try VerifyReceiptRequest(receipt: receipt))
                        return Answer(outcome, about: verified, at: clock())
                    } catch {
                        return .none("verifyReceipt: \(error.field) \(error.rule.rawValue)")
                    }
                }
            }
        }
    }
}

extension SignedTransactionLookup.Answer {
    /// The detail of a request that Apple refuses because the shared secret is wrong.
    package static let wrongSecret = "verifyReceipt: \(VerifyReceiptStatus.wrongSecret.name)"

    /// The details of requests that Apple answers with *malformed*: a bad receipt, or an outage of Apple's service.
    static let malformed = Set(
        [VerifyReceiptStatus.malformedJSON, .malformed].map { status in
            "verifyReceipt: \(VerifyReceiptRetryReason.status(status).name)"
        })

    /// - Parameter verified: the purchase as the receipt's own signature states it. An answer that contradicts it says
    ///   nothing about the purchase.
    init(_ outcome: VerifyReceiptOutcome, about verified: VerifiedTransaction, at now: Instant) {
        switch outcome {
        case .answered(let answer, let environment):
            let expected = ReceiptExpectation(
                bundleID: verified.bundleID, transactionID: verified.id, productID: verified.productID,
                quantity: verified.quantity, environments: [verified.environment], now: now)
            // A refund is part of the statement, and an expired period is granted as the period that was paid.
            let findings = expected.findings(in: answer, from: environment)
                .filter { $0 != .cancelled && $0 != .expired }
            guard findings.isEmpty else {
                self = .later(
                    "verifyReceipt contradicts the receipt: "
                        + findings.map(\.rawValue).joined(separator: ", "), not: nil)
                return
            }
            self = .stated(ReceiptStatement(answer, about: verified.id, at: now))
        case .refused(let status, let isFinal):
            self = .refused("verifyReceipt: \(status.rawValue) \(status.name)", isFinal: isFinal)
        case .misconfigured(let status): self = .later("verifyReceipt: \(status.name)", not: nil)
        case .retry(let reason, let after):
            self = .later("verifyReceipt: \(reason.name)", not: after.map { now.adding(milliseconds: $0) })
        }
    }
}

extension ReceiptStatement {
    /// The current records outweigh the receipt's own. Of two different tokens neither counts: the purchase then waits
    /// like one whose token cannot be read.
    init(_ answer: VerifyReceiptResponse, about id: TransactionID, at now: Instant) {
        let latest = (answer.latestReceiptInfo ?? []).filter { $0.transactionID == id.text }
        let records = latest + (answer.receipt?.inApp ?? []).filter { $0.transactionID == id.text }
        let current = Set(latest.compactMap { AppAccountToken(text: $0.appAccountToken) })
        let tokens = current.isEmpty ? Set(records.compactMap { AppAccountToken(text: $0.appAccountToken) }) : current
        token = tokens.count > 1 ? .unreadable : tokens.first
        revokedAt = records.compactMap(\.cancellationDate).max()
        statedAt = answer.receipt?.requestDate ?? now
    }
}

extension VerifyReceiptRetryReason {
    /// For logs and operators, in English.
    var name: String {
        switch self {
        case .status(let status): "\(status.rawValue) \(status.name)"
        case .outage(let reason): reason.rawValue
        case .httpStatus(let status): "HTTP \(status)"
        case .page: "a page of HTML"
        case .unusable: "an unusable answer"
        case .environmentsDisagree(let status): "\(status.rawValue) from both environments"
        }
    }
}

/// Limits how many receipts are on their way to Apple at once, because Apple publishes no limit and a receipt can have
/// megabytes. Two callers that begin at the same moment may exceed it by one.
private final class RunningRequests: Sendable {
    private static let maximum = 64
    private static let maximumOfOne = 8

    private let counts = Locked<[String: Int]>([:])

    func hasRoom(for name: String) -> Bool {
        counts.withLock { counts in
            counts[name, default: 0] < Self.maximumOfOne && counts.values.reduce(0, +) < Self.maximum
        }
    }

    func begin(_ name: String) { counts.withLock { $0[name, default: 0] += 1 } }

    func end(_ name: String) {
        counts.withLock { counts in
            let left = counts[name, default: 1] - 1
            counts[name] = left > 0 ? left : nil
        }
    }
}
