import TillAppStore
import TillBilling

/// Asks Apple for the signed copy of a transaction that a receipt only names (Get Transaction Info): it carries the
/// token that says for whom the purchase was paid (DESIGN §1).
package struct SignedTransactionLookup: Sendable {
    package enum Answer: Sendable {
        /// Verified, with its bytes.
        case found(VerifiedPurchase)
        /// Apple says for good that it has none, or it is not of this app.
        case none(String)
        /// Nobody could say now. When to ask again, if that was said too.
        case later(String, not: Instant?)
    }

    /// Who wants to know: callers take turns in the app's budget by their name, and by the address they ask from.
    package struct Asker: Sendable, Hashable {
        package let name: String
        var network: String?
    }

    private let request: @Sendable (TransactionID, Environment, Instant?, Asker) async -> Answer

    /// - Parameter paidAt: when, if that is known: Apple may know a new purchase some seconds later.
    func ask(
        _ id: TransactionID, _ environment: Environment, paidAt: Instant? = nil, for asker: Asker
    ) async -> Answer {
        await request(id, environment, paidAt, asker)
    }
}

extension SignedTransactionLookup {
    /// Over the App Store Server API. Whatever Apple answers is verified like what a client posts: an answer that is
    /// not Apple's, or of another transaction, is no answer.
    ///
    /// - Parameter caller: the job that asks.
    init(_ api: ServerAPI, verifier: ProofVerifier, asking caller: RequestCaller) {
        request = { id, environment, _, _ in
            await Self.answer(about: id, in: environment, by: api.asking(as: caller), verifier)
        }
    }

    /// For buyers who wait, each under their own name. What many want to know is asked once.
    init(_ api: ServerAPI, verifier: ProofVerifier, sharing questions: SharedQuestions) {
        request = { id, environment, paidAt, asker in
            let caller = RequestCaller(
                "receipts \(asker.name)", source: asker.network.map { "network \($0)" }, patience: Self.patience)
            let subject = SharedQuestions.Subject(environment: environment, id: id)
            return await questions.answer(about: subject, paidAt: paidAt) {
                do throws(ServerAPIFault) {
                    let api = try await api.asking(as: caller).inTurn(for: .transactionInfo, in: environment)
                    return .mine { await Self.answer(about: id, in: environment, by: api, verifier) }
                } catch {
                    return .refused(Answer(error))
                }
            }
        }
    }

    private static func answer(
        about id: TransactionID, in environment: Environment, by api: ServerAPI, _ verifier: ProofVerifier
    ) async -> Answer {
        let signed: SignedTransaction
        do throws(ServerAPIFault) {
            signed = try await api.transactionInfo(id, in: environment).value
        } catch {
            return Answer(error)
        }
        do throws(ProofRefusal) {
            let verified = try await verifier.transaction(signed.jws)
            guard verified.value.id == id, verified.value.environment == environment else {
                return .later("Apple answered with transaction \(verified.value.id)", not: nil)
            }
            let proof = PurchaseProof(
                kind: .signedTransaction, bytes: Array(signed.jws.utf8), isUnderDoubt: verified.isUnderDoubt)
            return .found(VerifiedPurchase(verified.value, proof))
        } catch {
            return .later("the answer failed verification:  \(error.refusal.rawValue) \(error.detail)", not: nil)
        }
    }

    /// Milliseconds for which a buyer's request waits for a turn in the app's budget.
    private static let patience: Int64 = 3_000
}

extension SignedTransactionLookup.Answer {
    init(_ fault: ServerAPIFault) {
        switch fault {
        case .refused(let refusal) where !fault.isRetryable:
            self = .none(refusal.code.name ?? String(refusal.code.rawValue))
        // An id that can't be asked about names no transaction that Apple could tell of.
        case .invalid: self = .none(fault.sentence.en)
        case .refused, .unauthorized, .rateLimited, .overBudget, .outage, .unreadable, .signing:
            self = .later(fault.sentence.en, not: fault.retryAfter)
        }
    }
}
