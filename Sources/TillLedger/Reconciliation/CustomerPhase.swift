import TillAppStore
import TillBilling

/// Reads the histories of transactions and of refunds, customer by customer (facts/server-api §4.1): first customers
/// never read and suspects, then those read longest ago. Apple returns what is new since a revision, so a customer
/// without changes takes one request.
extension ReconciliationRunner {
    /// How often a customer is started again because Apple rejects a revision.
    private static let restarts: Int64 = 2

    mutating func readCustomers(_ query: AppleChainTable.Query, atMost limit: Int64) async throws {
        while let customer = try await nextCustomer(query, atMost: limit) {
            let answer: CustomerPage
            do throws(ServerAPIError) {
                answer = try await ask(query)
            } catch {
                try await skip(customer, query, error)
                continue
            }
            try await take(answer, of: customer, query)
        }
    }

    /// The customer whose pages are being read, or the next customer.
    private mutating func nextCustomer(
        _ query: AppleChainTable.Query, atMost limit: Int64
    ) async throws -> AppleChainTable.Stored? {
        let (environment, run, subject, isFull) = (environment, run.rowID, progress.subject, progress.done >= limit)
        let found = try await ledger.database.read { connection in
            let chains = AppleChainTable(connection)
            if let subject { return try chains.find(subject, in: environment) }
            return isFull ? nil : try chains.next(query, before: run, in: environment)
        }
        if let found, subject == nil {
            progress.subject = found.originalID
            // A run with a start date reads every history from the beginning.
            progress.token = self.run.since == nil ? found.revision : nil
            progress.position = 0
            progress.hasUndecided = false
        }
        return found
    }

    // MARK: Asking

    private func ask(_ query: AppleChainTable.Query) async throws(ServerAPIError) -> CustomerPage {
        let (id, token, environment) = (progress.subject ?? TransactionID(""), progress.token, environment)
        let page: CustomerPage
        switch query {
        case .history:
            var filter = HistoryFilter()
            // Only the revision of a history in ascending order can be used later.
            filter.order = .ascending
            let asked = filter
            let answer = try await api.retrying(.brief) { (api) async throws(ServerAPIError) in
                try await api.history(of: id, filter: asked, revision: token, in: environment).value
            }
            page = CustomerPage(
                transactions: answer.transactions, revision: answer.revision, hasMore: answer.hasMore)
        case .refunds:
            let answer = try await api.retrying(.brief) { (api) async throws(ServerAPIError) in
                try await api.refundHistory(of: id, revision: token, in: environment).value
            }
            page = CustomerPage(
                transactions: answer.transactions, revision: answer.revision, hasMore: answer.hasMore)
        }
        if page.hasMore, page.revision == token { throw .endless }
        return page
    }

    /// A permanent refusal concerns only this customer, so the others are still read.
    private mutating func skip(
        _ customer: AppleChainTable.Stored, _ query: AppleChainTable.Query, _ error: ServerAPIError
    ) async throws {
        if error.code == .invalidRequestRevision, progress.token != nil, progress.position < Self.restarts {
            progress.token = nil
            progress.position += 1
            return
        }
        let kind: Difference.Kind
        switch error {
        case .refused where !error.isRetryable: kind = .customerUnavailable
        case .invalid: kind = .customerUnavailable
        case .unreadable where failures >= Self.readings: kind = .responseUnreadable
        case .refused, .unreadable, .unauthorized, .rateLimited, .overBudget, .outage, .signing: throw error
        }
        let reason = error.code.map { $0.name ?? String($0.rawValue) } ?? error.kind
        let (run, environment) = (run.rowID, environment)
        try await commit(over(), counting: [("unavailable", 1)]) { connection in
            try AppleChainTable(connection).markRead(
                customer.rowID, query, run: run, revision: nil,
                refusal: query == .history ? reason : customer.refusal)
            // A repeated refusal is not a new difference.
            guard customer.refusal != reason else { return [] }
            return [Difference(kind, in: environment, transaction: customer.originalID, was: reason)]
        }
    }

    /// The place after this customer.
    private func over() -> Progress {
        var next = Progress(progress.phase, in: environment)
        next.done = progress.done + 1
        return next
    }

    // MARK: Answers

    private mutating func take(
        _ page: CustomerPage, of customer: AppleChainTable.Stored, _ query: AppleChainTable.Query
    ) async throws {
        var answers = VerifiedResponses()
        for signed in page.transactions { try await answers.read(signed, from: environment, by: ledger) }
        progress.hasUndecided = progress.hasUndecided || answers.undecided > 0
        var next = over()
        if page.hasMore {
            next = progress
            next.token = page.revision
        } else if query == .history {
            try await readStatuses(of: customer, &answers)
        }
        let isLast = !page.hasMore
        let chains = answers.copies.map { ($0.transaction.id, $0.transaction.originalID, $0.transaction.environment) }
        // If an answer could not be decided, the next run asks for it again.
        let revision = progress.hasUndecided ? customer.revision : page.revision
        let (run, counts) = (run.rowID, isLast ? [(query == .history ? "customers" : "refund_customers", 1)] : [])
        try await process(
            answers, next: next, counting: counts,
            after: { connection in
                let table = AppleChainTable(connection)
                for (id, chain, environment) in chains where chain != customer.originalID {
                    guard let row = try TransactionTable(connection).find(id, in: environment) else { continue }
                    try table.link(chain, in: environment, first: row.rowID, to: customer.rowID)
                }
                guard isLast else { return }
                try table.markRead(customer.rowID, query, run: run, revision: revision, refusal: nil)
            })
    }

    /// Renewal information is not part of a history.
    private func readStatuses(of customer: AppleChainTable.Stored, _ answers: inout VerifiedResponses) async throws {
        let isSubscriber = try await ledger.database.read { try AppleChainTable($0).hasSubscription(customer.rowID) }
        guard isSubscriber || answers.copies.contains(where: \.transaction.isSubscription) else { return }
        let environment = environment
        let statuses: EnvironmentResult<SubscriptionStatuses>
        do throws(ServerAPIError) {
            statuses = try await api.retrying(.brief) { (api) async throws(ServerAPIError) in
                try await api.subscriptionStatuses(of: customer.originalID, in: environment)
            }
        } catch {
            // The history was read: a permanent refusal concerns only the subscriptions.
            if error.isRetryable, !(error.isUnreadable && failures >= Self.readings) { throw error }
            if case .unauthorized = error { throw error }
            return
        }
        try await answers.read(statuses, by: ledger)
    }
}

/// A page of either history.
private struct CustomerPage: Sendable {
    let transactions: [SignedTransaction]
    let revision: String?
    let hasMore: Bool
}
