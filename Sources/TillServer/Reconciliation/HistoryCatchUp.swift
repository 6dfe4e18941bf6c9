import TillAppStore
import TillBilling
import TillStorage

/// The third door: Apple's answers to our own questions. It brings a server up to date that was down, or whose
/// notifications were lost (U3): first all that Apple sent, then what the customers of each known chain have now.
///
/// Whatever is answered is verified and settled like what comes by the other doors, so an answer that is known changes
/// nothing, and neither does a second catch-up. Apple tells of notifications for 180 days; a customer all of whose
/// notifications are older, and of whom the ledger has no transaction, is not found: nobody can ask Apple for a list of
/// its customers.
public struct HistoryCatchUp: Sendable {
    private let server: Server
    private let api: ServerAPI

    /// Milliseconds by which the first moment asked for is later than the earliest that Apple answers for: the pages
    /// of one question may take that long.
    private static let margin: Int64 = 3_600_000

    /// - Parameter api: asked in the bulk lane, so that buyers go first.
    public init(_ server: Server, asking api: ServerAPI) {
        self.server = server
        self.api = api.asking(as: .bulk("reconciliation"))
    }

    /// - Parameters:
    ///   - start: notifications first sent then or later are asked for; as far back as Apple tells, if that is later.
    ///   - environment: one that this server accepts.
    public func run(
        since start: Instant, in environment: Environment
    ) async throws(CatchUpInterruption) -> CatchUpProgress {
        var walk = CatchUpWalk(server: server, api: api, environment: environment)
        do {
            let now = server.clock()
            let earliest = now.adding(milliseconds: Self.margin - NotificationQuery.reach)
            // What is sent at this moment is asked for too, and by then nothing else is.
            let query = NotificationQuery(from: max(start, earliest), to: now.adding(milliseconds: 1))
            let known = try await server.database.read { try ChainList($0).newest() }
            try await walk.readNotifications(query)
            try await walk.readChains(newSince: known)
            return walk.progress
        } catch {
            throw CatchUpInterruption(fault: Self.fault(error), progress: walk.progress)
        }
    }

    private static func fault(_ error: any Error) -> CatchUpInterruption.Fault {
        if let fault = error as? ServerAPIFault { return .apple(fault) }
        return .ledger(error as? DatabaseFault ?? DatabaseFault(.other, "\(error)"))
    }
}

/// One catch-up on its way.
private struct CatchUpWalk {
    let server: Server
    let api: ServerAPI
    let environment: Environment
    var progress = CatchUpProgress()
    /// Chains that came up in a history, which has all that its customer bought.
    private var read: Set<TransactionID> = []

    private static let batch = 200

    init(server: Server, api: ServerAPI, environment: Environment) {
        self.server = server
        self.api = api
        self.environment = environment
    }

    // MARK: Notifications

    mutating func readNotifications(_ query: NotificationQuery) async throws {
        var pages = api.notificationPages(query, in: environment).makeAsyncIterator()
        while let page = try await pages.next() {
            for sent in page.value.notifications { try await take(sent.notification) }
        }
        progress.hasAllNotifications = true
    }

    private mutating func take(_ signed: SignedNotification) async throws {
        progress.notifications += 1
        let reading: NotificationReading
        do throws(ProofRefusal) {
            reading = try await server.verifier.notification(signed.jws)
        } catch {
            return try await refuse(error)
        }
        if case .undecided = reading { progress.undecided += 1 }
        if try await server.take(reading, payload: signed.jws, at: .reconciliation) { progress.newNotifications += 1 }
    }

    /// What Apple did not sign is logged and passed over: the other answers are worth no less for it.
    private mutating func refuse(_ refusal: ProofRefusal) async throws {
        if refusal.refusal.isRetryable {
            progress.undecided += 1
        } else {
            progress.refused += 1
            try await server.log(refusal, at: .reconciliation)
        }
    }

    // MARK: Chains

    /// Subscriptions, whose state changes by itself, and whatever the notifications just brought: its customer may have
    /// bought more before Apple's memory of notifications begins.
    mutating func readChains(newSince sequence: Int64) async throws {
        let environment = environment
        var position: Int64 = 0
        while true {
            let after = position
            let page = try await server.database.read { session in
                try ChainList(session).list(
                    in: environment, after: after, anyKindAfter: sequence, limit: Self.batch)
            }
            guard let last = page.last else { return }
            position = last.sequence
            for entry in page where read.insert(entry.originalID).inserted {
                try await readCustomer(of: entry.originalID)
            }
        }
    }

    private mutating func readCustomer(of chain: TransactionID) async throws {
        do {
            try await readHistory(of: chain)
            try await readStatuses(of: chain)
            progress.customers += 1
        } catch let fault as ServerAPIFault {
            try absolve(fault, chain)
        }
    }

    /// What Apple refuses for good is about this customer alone, and no reason to leave out the others.
    private mutating func absolve(_ fault: ServerAPIFault, _ chain: TransactionID) throws(ServerAPIFault) {
        switch fault {
        case .refused(let refusal) where !fault.isRetryable:
            progress.note(untold: chain, refusal.code.name ?? String(refusal.code.rawValue))
        case .invalid: progress.note(untold: chain, fault.kind)
        case .refused, .unauthorized, .rateLimited, .overBudget, .outage, .unreadable, .signing: throw fault
        }
    }

    private mutating func readHistory(of chain: TransactionID) async throws {
        var pages = api.historyPages(of: chain, in: environment).makeAsyncIterator()
        while let page = try await pages.next() {
            for signed in page.value.transactions { try await take(signed) }
        }
    }

    /// The last transaction of each subscription, and what Apple signs about its renewal.
    private mutating func readStatuses(of chain: TransactionID) async throws {
        let environment = environment
        let statuses = try await api.retrying(.patient) { (api) async throws(ServerAPIFault) in
            try await api.subscriptionStatuses(of: chain, in: environment)
        }
        for subscription in statuses.value.groups.flatMap(\.subscriptions) {
            guard let transaction = subscription.transaction else { continue }
            try await take(transaction, beside: subscription.renewalInfo)
        }
    }

    private mutating func take(_ signed: SignedTransaction, beside next: SignedRenewalInfo? = nil) async throws {
        let believed: Believed<VerifiedTransaction>
        var renewal: Settle.Renewal?
        do throws(ProofRefusal) {
            believed = try await server.verifier.transaction(signed.jws)
            if let next {
                let info = try await server.verifier.renewalInfo(next.jws).value
                renewal = Settle.Renewal(info: info, proof: Array(next.jws.utf8))
            }
        } catch {
            return try await refuse(error)
        }
        read.insert(believed.value.originalID)
        let proof = Settle.Proof(
            kind: .signedTransaction, bytes: Array(signed.jws.utf8), isUnderDoubt: believed.isUnderDoubt)
        let origin = Settle.Origin(door: .reconciliation, caller: .apple, claimedOrder: nil)
        let outcome = try await server.settle(believed.value, proof: proof, origin: origin, renewal: renewal)
        progress.transactions += 1
        if case .granted = outcome { progress.granted += 1 }
    }
}
