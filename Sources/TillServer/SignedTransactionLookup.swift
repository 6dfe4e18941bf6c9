import TillAppStore
import TillBilling

/// Asks Apple for the signed copy of a transaction that a receipt only names (Get Transaction Info): it carries the
/// token that says for whom the purchase was paid (DESIGN §1).
struct SignedTransactionLookup: Sendable {
    enum Answer: Sendable {
        /// Verified, with its bytes.
        case found(VerifiedTransaction, Settle.Proof)
        /// Apple says for good that it has none, or it is not of this app.
        case none(String)
        /// Nobody could say now. When to ask again, if that was said too.
        case later(String, not: Instant?)
    }

    /// The last is the name of who wants to know: those with a name of their own take turns in the app's budget.
    private let request: @Sendable (TransactionID, Environment, String) async -> Answer

    func ask(_ id: TransactionID, _ environment: Environment, for asker: String) async -> Answer {
        await request(id, environment, asker)
    }
}

extension SignedTransactionLookup {
    /// Over the App Store Server API. Whatever Apple answers is verified like what a client posts: an answer that is
    /// not Apple's, or of another transaction, is no answer.
    ///
    /// - Parameter caller: who asks; nil for buyers who wait, each under their own name.
    init(_ api: ServerAPI, verifier: ProofVerifier, asking caller: RequestCaller? = nil) {
        request = { id, environment, asker in
            let api = api.asking(as: caller ?? RequestCaller("receipts \(asker)", patience: Self.patience))
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
                let proof = Settle.Proof(
                    kind: .signedTransaction, bytes: Array(signed.jws.utf8), isUnderDoubt: verified.isUnderDoubt)
                return .found(verified.value, proof)
            } catch {
                return .later("the answer isn't Apple's: \(error.refusal.rawValue) \(error.detail)", not: nil)
            }
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
