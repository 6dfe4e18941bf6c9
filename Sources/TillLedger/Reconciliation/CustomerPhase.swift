import TillAppStore
import TillBilling

/// Reads the histories of transactions and of refunds, customer by customer (facts/server-api §4.1): first customers
/// never read and suspects, then those read longest ago. Apple returns what is new since a revision, so a customer
/// without changes takes one request.
extension ReconciliationWalk {
    /// How often a customer is started again because Apple rejects a revision.
    private static let restarts: Int64 = 2

    mutating func readCustomers(_ question: AppleChainTable.Question, atMost limit: Int64) async throws {
        while let customer = try await nextCustomer(question, atMost: limit) {
            let answer: CustomerPage
            do throws(ServerAPIFault) {
                answer = try await ask(question)
            } catch {
                try await passOver(customer, question, error)
                continue
            }
            try await take(answer, of: customer, question)
        }
    }

    /// The customer whose pages are being read, or the next customer.
    private mutating func nextCustomer(
        _ question: AppleChainTable.Question, atMost limit: Int64
    ) async throws -> AppleChainTable.Stored? {
        let (environment, run, subject, isFull) = (environment, run.sequence, place.subject, place.done >= limit)
        let found = try await ledger.database.read { connection in
            let chains = AppleChainTable(connection)
            if let subject { return try chains.find(subject, in: environment) }
            return isFull ? nil : try chains.next(question, before: run, in: environment)
        }
        if let found, subject == nil {
            place.subject = found.originalID
            // A run with a start date reads every history from the beginning.
            place.token = self.run.since == nil ? found.revision : nil
            place.position = 0
            place.isTainted = false
        }
        return found
    }

    // MARK: Asking

    private func ask(_ question: AppleChainTable.Question) async throws(ServerAPIFault) -> CustomerPage {
        let (id, token, environment) = (place.subject ?? TransactionID(""), place.token, environment)
        let page: CustomerPage
        switch question {
        case .history:
            var filter = HistoryFilter()
            // Only the revision of a history in ascending order can be used later.
            filter.order = .ascending
            let asked = filter
            let answer = try await api.retrying(.brief) { (api) async throws(ServerAPIFault) in
                try await api.history(of: id, filter: asked, revision: token, in: environment).value
            }
            page = CustomerPage(
                transactions: answer.transactions, revision: answer.revision, hasMore: answer.hasMore)
        case .refunds:
            let answer = try await api.retrying(.brief) { (api) async throws(ServerAPIFault) in
                try await api.refundHistory(of: id, revision: token, in: environment).value
            }
            page = CustomerPage(
                transactions: answer.transactions, revision: answer.revision, hasMore: answer.hasMore)
        }
        if page.hasMore, page.revision == token { throw .endless }
        return page
    }

    /// A permanent refusal concerns only this customer, so the others are still read.
    private mutating func passOver(
        _ customer: AppleChainTable.Stored, _ question: AppleChainTable.Question, _ fault: ServerAPIFault
    ) async throws {
        if fault.code == .invalidRequestRevision, place.token != nil, place.position < Self.restarts {
            place.token = nil
            place.position += 1
            return
        }
        let kind: Difference.Kind
        switch fault {
        case .refused where !fault.isRetryable: kind = .customerUntold
        case .invalid: kind = .customerUntold
        case .unreadable where failures >= Self.readings: kind = .answerUnreadable
        case .refused, .unreadable, .unauthorized, .rateLimited, .overBudget, .outage, .signing: throw fault
        }
        let reason = fault.code.map { $0.name ?? String($0.rawValue) } ?? fault.kind
        let (run, environment) = (run.sequence, environment)
        try await commit(over(), counting: [("untold", 1)]) { connection in
            try AppleChainTable(connection).markRead(
                customer.sequence, question, run: run, revision: nil,
                refusal: question == .history ? reason : customer.refusal)
            // A repeated refusal is not a new difference.
            guard customer.refusal != reason else { return [] }
            return [Difference(kind, in: environment, transaction: customer.originalID, was: reason)]
        }
    }

    /// The place after this customer.
    private func over() -> Place {
        var next = Place(place.phase, in: environment)
        next.done = place.done + 1
        return next
    }

    // MARK: Answers

    private mutating func take(
        _ page: CustomerPage, of customer: AppleChainTable.Stored, _ question: AppleChainTable.Question
    ) async throws {
        var answers = AppleAnswers()
        for signed in page.transactions { try await answers.read(signed, from: environment, by: ledger) }
        place.isTainted = place.isTainted || answers.undecided > 0
        var next = over()
        if page.hasMore {
            next = place
            next.token = page.revision
        } else if question == .history {
            try await readStatuses(of: customer, &answers)
        }
        let isLast = !page.hasMore
        let chains = answers.copies.map { ($0.transaction.id, $0.transaction.originalID, $0.transaction.environment) }
        // If an answer could not be decided, the next run asks for it again.
        let revision = place.isTainted ? customer.revision : page.revision
        let (run, counts) = (run.sequence, isLast ? [(question == .history ? "customers" : "refund_customers", 1)] : [])
        try await process(
            answers, next: next, counting: counts,
            after: { connection in
                let table = AppleChainTable(connection)
                for (id, chain, environment) in chains where chain != customer.originalID {
                    guard let row = try TransactionTable(connection).find(id, in: environment) else { continue }
                    try table.link(chain, in: environment, first: row.sequence, to: customer.sequence)
                }
                guard isLast else { return }
                try table.markRead(customer.sequence, question, run: run, revision: revision, refusal: nil)
            })
    }

    /// Renewal information is not part of a history.
    private func readStatuses(of customer: AppleChainTable.Stored, _ answers: inout AppleAnswers) async throws {
        let isSubscriber = try await ledger.database.read { try AppleChainTable($0).hasSubscription(customer.sequence) }
        guard isSubscriber || answers.copies.contains(where: \.transaction.isSubscription) else { return }
        let environment = environment
        let statuses: Answered<SubscriptionStatuses>
        do throws(ServerAPIFault) {
            statuses = try await api.retrying(.brief) { (api) async throws(ServerAPIFault) in
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
