import TillAppStore
import TillBilling

/// Asks about purchases without an owner one by one: a token may have been set since (Set App Account Token), or the
/// purchase refunded.
extension ReconciliationWalk {
    mutating func readQuarantine() async throws {
        while place.done < settings.quarantinedPerRun {
            let (environment, position) = (environment, place.position == 0 ? Int64.max : place.position)
            let found = try await ledger.database.read { connection in
                try SuspectList(connection).quarantined(in: environment, before: position, limit: 1)
            }
            guard let one = found.first else { return }
            var next = place
            next.position = one.sequence
            next.done += 1
            let signed: SignedTransaction
            do throws(ServerAPIFault) {
                signed = try await api.retrying(.brief) { (api) async throws(ServerAPIFault) in
                    try await api.transactionInfo(one.id, in: environment).value
                }
            } catch {
                try await passOver(one, next, error)
                continue
            }
            var answers = AppleAnswers()
            try await answers.read(signed, from: environment, by: ledger)
            try await process(answers, next: next, counting: [("requested_again", 1)])
        }
    }

    private mutating func passOver(
        _ one: SuspectList.QuarantinedID, _ next: Place, _ fault: ServerAPIFault
    ) async throws {
        let environment = environment
        switch fault {
        case .refused where !fault.isRetryable: break
        case .invalid: break
        case .unreadable where failures >= Self.readings: break
        case .refused, .unreadable, .unauthorized, .rateLimited, .overBudget, .outage, .signing: throw fault
        }
        let isUnknown = fault.code == .transactionIDNotFound
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
