import TillAppStore
import TillBilling
import TillSQL

/// When Apple is asked about rows that no signature stands behind.
package enum ImportVerification: String, Sendable, Hashable, CaseIterable {
    /// Before such a row is recorded. What Apple signs becomes its proof, and what Apple does not know is refused.
    case first
    /// After the import, by the job that confirms receipts.
    case later
}

/// Why a row is not recorded yet: Apple has not answered.
package struct ImportDelay: Sendable, Hashable {
    /// A stable code, as `ServerAPIError.kind`.
    package let code: String
    package let sentence: LocalizedText

    init(_ error: ServerAPIError) { (code, sentence) = (error.kind, error.sentence) }

    /// Whether asking again is pointless until the configuration is corrected.
    package static func isFinal(_ code: String) -> Bool {
        ["unauthorized", "signing"].contains(code)
    }
}

/// Asks Apple about the purchases of a batch that rest on their rows or on receipts.
struct ImportQuestions: Sendable {
    let api: ServerAPI
    let verifier: ProofVerifier
    let database: any Database
    let environment: StoreEnvironment

    enum Answer: Sendable {
        case signed(VerifiedPurchase)
        case refused(ImportRefusal)
        case waiting(ImportDelay)
    }

    /// Questions under way at once.
    private static let atOnce = 16

    init(_ api: ServerAPI, _ ledger: Ledger) {
        // The command asks again, so a request to a server does not wait long for its turn.
        self.api = api.calling(as: RequestCaller("import", priority: .bulk, timeout: 20_000))
        verifier = ledger.verifier
        database = ledger.database
        environment = ledger.settings.usualEnvironment
    }

    /// Answers by transaction. What the ledger has already needs none: a repeated import asks only about the rest.
    func answers(about rows: [PreparedRow]) async throws -> [TransactionID: Answer] {
        let ids = Set(
            rows.flatMap(\.purchases).filter { $0.needsAnswer && $0.transaction.environment == environment }
                .map(\.transaction.id))
        let unknown = try await unknown(ids)
        return await withTaskGroup(of: (TransactionID, Answer).self) { group in
            var (left, answers): (ArraySlice<TransactionID>, [TransactionID: Answer]) = (unknown[...], [:])
            func askNext() {
                guard let id = left.popFirst() else { return }
                group.addTask { (id, await ask(about: id)) }
            }
            for _ in 0..<Self.atOnce { askNext() }
            while let (id, answer) = await group.next() {
                answers[id] = answer
                askNext()
            }
            return answers
        }
    }

    private func unknown(_ ids: Set<TransactionID>) async throws -> [TransactionID] {
        let sorted = ids.sorted { $0.text < $1.text }
        guard !sorted.isEmpty else { return [] }
        return try await database.read { [environment] connection in
            try connection.prefetch { sorted.map { TransactionTable.finding($0, in: environment) } }
            return try sorted.filter { try TransactionTable(connection).find($0, in: environment) == nil }
        }
    }

    private func ask(about id: TransactionID) async -> Answer {
        let signed: SignedTransaction
        do throws(ServerAPIError) {
            signed = try await api.transactionInfo(id, in: environment).value
        } catch {
            return Self.answer(error)
        }
        do throws(ProofError) {
            let verified = try await verifier.transaction(signed.jws)
            guard verified.value.id == id else { return .refused(.unknownToApple) }
            let proof = PurchaseProof(
                kind: .signedTransaction, bytes: Array(signed.jws.utf8),
                isRevocationUnknown: verified.isRevocationUnknown)
            return .signed(VerifiedPurchase(verified.value, proof))
        } catch {
            return .refused(.proof(error))
        }
    }

    private static func answer(_ error: ServerAPIError) -> Answer {
        switch error {
        case .refused where !error.isRetryable, .invalid: .refused(.unknownToApple)
        default: .waiting(ImportDelay(error))
        }
    }
}
