import TillAPI
import TillBilling
import TillHTTP
import TillLedger

extension Server {
    /// `POST /v1/reconciliations`: starts a reconciliation, or returns the running one. A job carries it out.
    func startReconciliation(_ call: Call) async throws -> HTTPResponse {
        let body = try call.bodyIfAny(StartReconciliationBody.self) ?? StartReconciliationBody()
        guard ledger.serverAPI != nil else { throw RefusalError(.noInAppPurchaseKey) }
        let now = clock()
        if let since = body.since, since > now {
            throw RefusalError(.invalidField, "since: must not be in the future", zh: "since：不能晚于当前时间")
        }
        guard body.dryRun != true else {
            let run = DryRunQueue.DryRun(
                id: UniqueID(random: entropy(16)), caller: call.caller, since: body.since, beganAt: now)
            try ledger.dryRuns.open(run)
            return JSONText.response(202, ReconciliationReply(run))
        }
        let run = try await Reconciliations(ledger).request(by: call.caller, since: body.since)
        return JSONText.response(202, ReconciliationReply(run, counts: []))
    }

    /// `GET /v1/reconciliations?limit=&cursor=`: the recorded reconciliations, newest first. Dry runs are not recorded.
    func listReconciliations(_ call: Call) async throws -> HTTPResponse {
        let page = try await page(call)
        let found = try await database.read { connection in
            let table = ReconciliationTable(connection)
            return try table.list(before: page.before, limit: page.rows).map { ($0, try table.counts(of: $0.rowID)) }
        }
        return page.response(found, at: \.0.rowID) { ReconciliationReply($0.0, counts: $0.1) }
    }

    /// `GET /v1/reconciliations/{id}?limit=&cursor=`: the progress and the differences found.
    func readReconciliation(_ call: Call) async throws -> HTTPResponse {
        let page = try await page(call)
        let id = call.parameters["id"]
        if let id = UniqueID(id) {
            guard let run = ledger.dryRuns.find(id) else { throw RefusalError(.notFound) }
            return JSONText.response(200, ReconciliationDetail(run, page))
        }
        guard let rowID = Int64(id) else { throw RefusalError(.notFound) }
        let found = try await database.read { connection in
            let table = ReconciliationTable(connection)
            return try table.find(rowID).map { run in
                (
                    run, try table.counts(of: rowID),
                    try DifferenceTable(connection).list(run: rowID, after: page.after, limit: page.rows)
                )
            }
        }
        guard let (run, counts, differences) = found else { throw RefusalError(.notFound) }
        return JSONText.response(
            200,
            ReconciliationDetail(
                ReconciliationReply(run, counts: counts),
                page.page(differences, at: \.rowID) { DifferenceReply($0.difference, foundAt: $0.foundAt) }))
    }
}

extension ReconciliationReply {
    public init(_ run: ReconciliationTable.Run, counts: [ReconciliationTable.Count]) {
        let state: State =
            switch run.state {
            case .running: run.wait == nil ? .running : .waiting
            case .finished: .finished
            case .failed: .failed
            }
        self.init(
            id: String(run.rowID), dryRun: false, state: state, asked: (run.reason, run.caller), since: run.since,
            beganAt: run.beganAt)
        if run.state == .running {
            phase = run.progress.phase.name
            environment = run.progress.environment
            done = run.progress.done
        }
        progressedAt = run.progressedAt
        waitsUntil = run.wait?.until
        waitsFor = run.wait?.reason
        endedAt = run.endedAt
        ending = run.ending
        self.counts = counts.map { Count(environment: $0.environment, name: $0.name, count: $0.count) }
    }

    /// The reply about a comparison that is running and changes nothing.
    public init(of comparison: LedgerComparison, caller: String, since: Instant?, beganAt: Instant, id: String = "") {
        self.init(
            id: id, dryRun: true, state: .running, asked: ("asked", caller), since: since, beganAt: beganAt)
        counts = comparison.listedCounts
    }

    fileprivate init(_ run: DryRunQueue.DryRun) {
        self.init(
            of: run.comparison, caller: run.caller, since: run.since, beganAt: run.beganAt, id: run.id.description)
        if run.endedAt != nil { state = run.failure == nil ? .finished : .failed }
        endedAt = run.endedAt
        ending = run.failure ?? run.endedAt.map { _ in run.comparison.isEqual ? "equal" : "different" }
    }
}

extension LedgerComparison {
    fileprivate var listedCounts: [ReconciliationReply.Count] {
        [StoreEnvironment.production, .sandbox].flatMap { environment in
            counts[environment, default: [:]].sorted { $0.key < $1.key }.map {
                ReconciliationReply.Count(environment: environment, name: $0.key, count: $0.value)
            }
        }
    }
}

extension ReconciliationDetail {
    /// The cursor is the number of differences on earlier pages.
    fileprivate init(_ run: DryRunQueue.DryRun, _ page: PageRequest) {
        let all = Array(run.comparison.differences.enumerated().dropFirst(Int(clamping: page.after)).prefix(page.rows))
        self.init(
            ReconciliationReply(run),
            page.page(all, at: { Int64($0.offset) + 1 }) { DifferenceReply($0.element, foundAt: nil) })
    }
}

extension ReconciliationTable.Phase {
    var name: String {
        switch self {
        case .notifications: "notifications"
        case .candidates: "candidates"
        case .customers: "customers"
        case .refunds: "refunds"
        case .quarantine: "quarantine"
        case .orders: "orders"
        }
    }
}
