import TillAppStore
import TillBilling

/// Asks Apple for the signed copy of a transaction that a receipt only names (Get Transaction Info): the copy carries
/// the token that names the customer who paid (DESIGN §1).
package struct SignedTransactionLookup: Sendable {
    package enum Answer: Sendable {
        /// Verified, with its bytes.
        case found(VerifiedPurchase)
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

    private let request: @Sendable (TransactionID, StoreEnvironment, Instant?, Requester) async -> Answer

    /// - Parameter paidAt: the purchase date, if known: Apple may know a new purchase only seconds later.
    func ask(
        _ id: TransactionID, _ environment: StoreEnvironment, paidAt: Instant? = nil, for requester: Requester
    ) async -> Answer {
        await request(id, environment, paidAt, requester)
    }
}

extension SignedTransactionLookup {
    /// Uses the App Store Server API. Every answer is verified like a client's proof: one that Apple did not sign, or
    /// that is of another transaction, does not count.
    ///
    /// - Parameter caller: the job that asks.
    init(_ api: ServerAPI, verifier: ProofVerifier, asking caller: RequestCaller) {
        request = { id, environment, _, _ in
            await Self.answer(about: id, in: environment, by: api.calling(as: caller), verifier)
        }
    }

    /// For buyers who wait, each under their own name. One request serves all who need the same transaction.
    init(_ api: ServerAPI, verifier: ProofVerifier, sharing lookups: SharedLookups) {
        request = { id, environment, paidAt, requester in
            let caller = RequestCaller(
                "receipts \(requester.name)", source: requester.network.map { "network \($0)" }, timeout: Self.timeout)
            let subject = SharedLookups.Subject(environment: environment, id: id)
            return await lookups.answer(about: subject, paidAt: paidAt) {
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
