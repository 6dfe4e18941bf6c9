import TillAppStore
import TillBilling
import TillSQL

extension Ledger {
    /// Compares the whole ledger with Apple's records, without changing the ledger.
    ///
    /// Reads Apple's notification history. For every customer with a transaction in the ledger or in a missed
    /// notification, reads all transactions, all refunds and the subscription statuses. Each customer's answers are
    /// processed as a reconciliation would process them, in a write that is then rolled back, so a difference is
    /// exactly what a reconciliation would change. A transaction of the ledger that Apple does not list for a customer
    /// is a difference too (`unknown_to_apple`).
    ///
    /// The comparison takes three or four requests for each customer, at the bulk priority of the app's request budget,
    /// and memory for the ids of all transactions. Purchases made meanwhile are no differences: either the notification
    /// and the proof are processed before the customer is read, or the customer was read before the purchase.
    ///
    /// - Parameters:
    ///   - start: the start of the compared notifications; nil: as far back as Apple answers, 180 days.
    ///   - environments: all configured environments if nil.
    ///   - api: the API to read from; the server's own if nil.
    ///   - onProgress: called after each request.
    /// - Throws: `ServerAPIError` if Apple did not answer, even after some hours, or `DatabaseError`; `RefusalError`
    ///   `no_in_app_purchase_key` if no API is configured.
    public func compareWithApple(
        since start: Instant? = nil, in environments: Set<StoreEnvironment>? = nil, asking api: ServerAPI? = nil,
        onProgress: @escaping @Sendable (LedgerComparison) -> Void = { _ in }
    ) async throws -> LedgerComparison {
        guard let api = api ?? serverAPI else { throw RefusalError(.noInAppPurchaseKey) }
        let asked = environments ?? settings.apple.environments
        var comparison = LedgerComparison()
        for environment in [StoreEnvironment.production, .sandbox] where asked.contains(environment) {
            var runner = ComparisonRunner(
                ledger: self, api: api.calling(as: .bulk("comparison")), environment: environment,
                comparison: comparison, onProgress: onProgress)
            try await runner.compareNotifications(since: start)
            try await runner.compareCustomers()
            comparison = runner.comparison
        }
        return comparison
    }
}

/// The comparison of one environment.
private struct ComparisonRunner {
    let ledger: Ledger
    let api: ServerAPI
    let environment: StoreEnvironment
    var comparison: LedgerComparison
    let onProgress: @Sendable (LedgerComparison) -> Void

    /// Chains that appeared in a history; a history contains everything that its customer bought.
    private var read: Set<TransactionID> = []
    /// Chains that Apple gave no answer about.
    private var unavailable: Set<TransactionID> = []
    /// Every transaction that Apple listed.
    private var listed: Set<TransactionID> = []
    /// Chains named by notifications that never arrived.
    private var seenChains: [TransactionID] = []

    private static let batch = 200
    private static let margin: Int64 = 3_600_000

    init(
        ledger: Ledger, api: ServerAPI, environment: StoreEnvironment, comparison: LedgerComparison,
        onProgress: @escaping @Sendable (LedgerComparison) -> Void
    ) {
        self.ledger = ledger
        self.api = api
        self.environment = environment
        self.comparison = comparison
        self.onProgress = onProgress
    }

    // MARK: Notifications

    mutating func compareNotifications(since start: Instant?) async throws {
        let now = ledger.clock()
        let earliest = now.adding(milliseconds: Self.margin - NotificationQuery.reach)
        let first = max(start ?? earliest, earliest)
        guard first < now else { return }
        let query = NotificationQuery(from: first, to: now)
        var pages = api.notificationPages(query, in: environment).makeAsyncIterator()
        while let page = try await pages.next() {
            for sent in page.value.notifications { try await compare(sent.notification) }
            comparison.count(page.value.notifications.count, "notifications", in: environment)
            onProgress(comparison)
        }
    }

    private mutating func compare(_ signed: SignedNotification) async throws {
        let notification: VerifiedNotification
        do throws(ProofError) {
            switch try await ledger.verifier.notification(Array(signed.jws.utf8)) {
            case .ours(let ours, _), .undecided(let ours): notification = ours
            case .foreign: return
            }
        } catch {
            return refuse(error)
        }
        let uuid = notification.id
        let isKnown = try await ledger.database.read { try NotificationTable($0).contains(uuid) }
        guard !isKnown else { return }
        var difference = Difference(
            .notificationMissed, in: notification.environment, transaction: notification.transaction?.id,
            was: "unknown", now: notification.type?.rawValue ?? "")
        difference.notificationID = uuid
        comparison.add([difference])
        comparison.count(1, "new_notifications", in: environment)
        if let transaction = notification.transaction { seenChains.append(transaction.originalID) }
    }

    private mutating func refuse(_ refusal: ProofError) {
        if refusal.refusal.isRetryable {
            comparison.count(1, "undecided", in: environment)
        } else {
            comparison.add([Difference(.responseRefused, in: environment, was: refusal.refusal.rawValue)])
        }
    }

    // MARK: Customers

    mutating func compareCustomers() async throws {
        let environment = environment
        var position: Int64 = 0
        while true {
            let after = position
            let page = try await ledger.database.read { connection in
                try ChainList(connection).transactions(in: environment, after: after, limit: Self.batch)
            }
            guard let last = page.last else { break }
            position = last.rowID
            for entry in page {
                try await compareCustomer(of: entry.originalID)
                guard !listed.contains(entry.id), !unavailable.contains(entry.originalID) else { continue }
                try await askAgain(about: entry.id)
            }
        }
        for chain in seenChains { try await compareCustomer(of: chain) }
    }

    private mutating func compareCustomer(of chain: TransactionID) async throws {
        guard read.insert(chain).inserted else { return }
        var answers: [VerifiedCopy] = []
        do {
            answers = try await ask(chain)
        } catch let error as ServerAPIError {
            return try skip(chain, error)
        }
        for copy in answers {
            read.insert(copy.transaction.originalID)
            listed.insert(copy.transaction.id)
        }
        comparison.count(1, "customers", in: environment)
        comparison.count(answers.count, "transactions", in: environment)
        let (copies, processor) = (answers, ledger.intake.processor)
        let inputs = processor.inputs()
        do {
            try await ledger.database.write(locking: [.ledger("comparison")]) { connection in
                throw RollbackError(
                    differences: try DifferenceRecorder(connection, processor, inputs.begin()).record(copies))
            }
        } catch let rollback as RollbackError {
            comparison.add(rollback.differences)
        } catch let error as DatabaseError where error.isOfItsBody {
            comparison.add([Difference(.notProcessed, in: environment, transaction: chain, was: error.kind.rawValue)])
        }
        onProgress(comparison)
    }

    /// Carries the differences out of a write and rolls it back.
    private struct RollbackError: Error {
        let differences: [Difference]
    }

    /// All answers of Apple about a customer.
    private mutating func ask(_ chain: TransactionID) async throws -> [VerifiedCopy] {
        var copies: [VerifiedCopy] = []
        var history = api.historyPages(of: chain, in: environment).makeAsyncIterator()
        while let page = try await history.next() {
            for signed in page.value.transactions { try await take(signed, nil, into: &copies) }
        }
        var refunds = api.refundPages(of: chain, in: environment).makeAsyncIterator()
        while let page = try await refunds.next() {
            for signed in page.value.transactions { try await take(signed, nil, into: &copies) }
        }
        guard copies.contains(where: \.transaction.isSubscription) else { return copies }
        let environment = environment
        let statuses = try await api.retrying(.persistent) { (api) async throws(ServerAPIError) in
            try await api.subscriptionStatuses(of: chain, in: environment)
        }
        for subscription in statuses.value.groups.flatMap(\.subscriptions) {
            guard let transaction = subscription.transaction else { continue }
            try await take(transaction, subscription.renewalInfo, into: &copies)
        }
        return copies
    }

    private mutating func take(
        _ signed: SignedTransaction, _ next: SignedRenewalInfo?, into copies: inout [VerifiedCopy]
    ) async throws {
        do throws(ProofError) {
            copies.append(try await VerifiedCopy(signed, beside: next, by: ledger.verifier))
        } catch {
            refuse(error)
        }
    }

    private mutating func skip(_ chain: TransactionID, _ error: ServerAPIError) throws(ServerAPIError) {
        switch error {
        case .refused(let refusal) where !error.isRetryable:
            let reason = refusal.code.name ?? String(refusal.code.rawValue)
            comparison.add([Difference(.customerUnavailable, in: environment, transaction: chain, was: reason)])
        case .invalid:
            comparison.add([Difference(.customerUnavailable, in: environment, transaction: chain, was: error.kind)])
        case .refused, .unauthorized, .rateLimited, .overBudget, .outage, .unreadable, .signing: throw error
        }
        unavailable.insert(chain)
        comparison.count(1, "unavailable", in: environment)
    }

    /// The transaction may have been bought after its customer was read.
    private mutating func askAgain(about id: TransactionID) async throws {
        let environment = environment
        do throws(ServerAPIError) {
            _ = try await api.retrying(.persistent) { (api) async throws(ServerAPIError) in
                try await api.transactionInfo(id, in: environment)
            }
        } catch {
            guard error.code == .transactionIDNotFound else { throw error }
            comparison.add([
                Difference(.unknownToApple, in: environment, transaction: id, was: "known", now: "unknown")
            ])
        }
    }
}
