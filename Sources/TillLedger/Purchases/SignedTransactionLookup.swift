import TillAppStore
import TillBilling

/// Asks Apple about a transaction that a receipt only names. The signed copy (Get Transaction Info) carries the token
/// that names the customer who paid (DESIGN §1); without an In-App Purchase key, verifyReceipt may state the token.
package struct SignedTransactionLookup: Sendable {
    package enum Answer: Sendable {
        /// Verified, with its bytes.
        case found(VerifiedPurchase)
        /// Apple confirms the receipt itself.
        case stated(ReceiptStatement)
        /// Apple does not confirm the receipt. If that is not final, another receipt of the device may succeed.
        case refused(String, isFinal: Bool)
        /// Apple's final answer is that it has no such transaction, or that it is not of this app.
        case none(String)
        /// No answer now. With the time of the next attempt, if one was given.
        case later(String, not: Instant?)
    }

    /// The party for which Apple is asked: parties share the app's request budget by name and by client network.
    package struct Requester: Sendable, Hashable {
        package let name: String
        var network: String?
    }

    struct Question: Sendable {
        let id: TransactionID
        let environment: StoreEnvironment
        /// The verified receipt's purchase, if there is one. Apple may know a new purchase only seconds later.
        var purchase: VerifiedPurchase?
    }

    let request: @Sendable (Question, Requester) async -> Answer

    func ask(_ id: TransactionID, _ environment: StoreEnvironment, for requester: Requester) async -> Answer {
        await request(Question(id: id, environment: environment), requester)
    }

    func ask(about purchase: VerifiedPurchase, for requester: Requester) async -> Answer {
        let verified = purchase.transaction
        return await request(
            Question(id: verified.id, environment: verified.environment, purchase: purchase), requester)
    }
}

extension SignedTransactionLookup {
    /// Uses the App Store Server API. Every answer is verified like a client's proof: one that Apple did not sign, or
    /// that is of another transaction, does not count.
    ///
    /// - Parameter caller: the job that asks.
    init(_ api: ServerAPI, verifier: ProofVerifier, asking caller: RequestCaller) {
        request = { question, _ in
            await Self.answer(about: question.id, in: question.environment, by: api.calling(as: caller), verifier)
        }
    }

    /// For buyers who wait, each under their own name. One request serves all who need the same transaction.
    init(_ api: ServerAPI, verifier: ProofVerifier, sharing lookups: SharedLookups) {
        request = { question, requester in
            let (id, environment) = (question.id, question.environment)
            let caller = RequestCaller(
                "receipts \(requester.name)", source: requester.network.map { "network \($0)" }, timeout: Self.timeout)
            let subject = SharedLookups.Subject(environment: environment, id: id)
            return await lookups.answer(about: subject, paidAt: question.purchase?.transaction.purchaseDate) {
                do throws(ServerAPIError) {
                    let api = try await api.calling(as: caller).reserving(for: .transactionInfo, in: environment)
                    return .mine { await Self.answer(about: id, in: environment, by: api, verifier) }
                } catch {
                    return .refused(Answer(error))
                }
            }
        }
    }

    private static func answer(
        about id: TransactionID, in environment: StoreEnvironment, by api: ServerAPI, _ verifier: ProofVerifier
    ) async -> Answer {
        let signed: SignedTransaction
        do throws(ServerAPIError) {
            signed = try await api.transactionInfo(id, in: environment).value
        } catch {
            return Answer(error)
        }
        do throws(ProofError) {
            let verified = try await verifier.transaction(signed.jws)
            guard verified.value.id == id, verified.value.environment == environment else {
                return .later("Apple answered with transaction \(verified.value.id)", not: nil)
            }
            let proof = PurchaseProof(
                kind: .signedTransaction, bytes: Array(signed.jws.utf8),
                isRevocationUnknown: verified.isRevocationUnknown)
            return .found(VerifiedPurchase(verified.value, proof))
        } catch {
            return .later("the answer failed verification:  \(error.refusal.rawValue) \(error.detail)", not: nil)
        }
    }

    /// Milliseconds for which a buyer's request waits for a turn in the app's budget.
    private static let timeout: Int64 = 3_000
}

extension SignedTransactionLookup.Answer {
    init(_ error: ServerAPIError) {
        switch error {
        case .refused(let refusal) where !error.isRetryable:
            self = .none(refusal.code.name ?? String(refusal.code.rawValue))
        // An id that Apple's API does not accept names no transaction.
        case .invalid: self = .none(error.sentence.en)
        case .refused, .unauthorized, .rateLimited, .overBudget, .outage, .unreadable, .signing:
            self = .later(error.sentence.en, not: error.retryAfter)
        }
    }
}
