import TillAppStore
import TillBilling

/// Asks about purchases without an owner one by one: a token may have been set since (Set App Account Token), or the
/// purchase refunded.
extension ReconciliationRunner {
    mutating func readQuarantine() async throws {
        while progress.done < settings.quarantinedPerRun {
            let (environment, position) = (environment, progress.position == 0 ? Int64.max : progress.position)
            let found = try await ledger.database.read { connection in
                try CandidateList(connection).quarantined(in: environment, before: position, limit: 1)
            }
            guard let one = found.first else { return }
            var next = progress
            next.position = one.rowID
            next.done += 1
            let signed: SignedTransaction
            do throws(ServerAPIError) {
                signed = try await api.retrying(.brief) { (api) async throws(ServerAPIError) in
                    try await api.transactionInfo(one.id, in: environment).value
                }
            } catch {
                try await skip(one, next, error)
                continue
            }
            var answers = VerifiedResponses()
            try await answers.read(signed, from: environment, by: ledger)
            try await process(answers, next: next, counting: [("requested_again", 1)])
        }
    }

    private mutating func skip(
        _ one: CandidateList.QuarantinedID, _ next: Progress, _ error: ServerAPIError
    ) async throws {
        let environment = environment
        switch error {
        case .refused where !error.isRetryable: break
        case .invalid: break
        case .unreadable where failures >= Self.readings: break
        case .refused, .unreadable, .unauthorized, .rateLimited, .overBudget, .outage, .signing: throw error
        }
        let isUnknown = error.code == .transactionIDNotFound
        try await commit(next, counting: [("requested_again", 1)]) { connection in
            guard isUnknown, try !DifferenceTable(connection).has(.unknownToApple, of: one.id, in: environment) else {
                return []
            }
            return [
                Difference(.unknownToApple, in: environment, transaction: one.id, was: "quarantined", now: "unknown")
            ]
        }
    }
}
