import TillAppStore
import TillBilling
import TillLedger
import TillSQL

/// One run on its way through its phases. A step is a question at Apple, or a batch of rows, and one commit that holds
/// what came of it together with the place from which to go on: whoever is killed between two steps asks again what he
/// had asked last, and no more.
struct ReconciliationWalk {
    typealias Place = ReconciliationTable.Place

    let server: Server
    let api: ServerAPI
    let run: ReconciliationTable.Run
    var place: Place
    /// How often in a row this very step has failed.
    var failures: Int64

    var settings: ReconciliationSettings { server.configuration.reconciliation }
    var environment: Environment { place.environment }

    /// - Parameter api: asked in the bulk lane, so that buyers go first.
    init(_ run: ReconciliationTable.Run, server: Server, api: ServerAPI) {
        self.run = run
        self.server = server
        self.api = api.asking(as: .bulk("reconciliation"))
        place = run.place
        failures = run.attempts
    }

    /// Goes to the end of the run.
    mutating func finish() async throws {
        repeat {
            switch place.phase {
            case .notifications: try await readNotifications()
            case .suspects: try await markSuspects()
            case .customers: try await readCustomers(.history, atMost: settings.customersPerRun)
            case .refunds: try await readCustomers(.refunds, atMost: settings.refundsPerRun)
            case .quarantine: try await readQuarantine()
            case .orders: try await readOrders()
            }
        } while try await enterNext()
    }

    /// The phase is over. Returns whether there is another one.
    private mutating func enterNext() async throws -> Bool {
        if let phase = ReconciliationTable.Phase(rawValue: place.phase.rawValue + 1) {
            try await commit(Place(phase, in: environment))
            return true
        }
        // Production was first.
        if environment == .production, run.environments.contains(.sandbox) {
            try await commit(Place(.notifications, in: .sandbox))
            return true
        }
        let (run, now) = (run.sequence, server.clock())
        try await server.database.write { session in
            try ReconciliationTable(session).end(run, .finished, ending: "reconciled", at: now)
        }
        return false
    }

    // MARK: Commits

    /// Counts of one step, by name.
    typealias Counts = [(name: String, count: Int)]

    /// Books what a step brought, and where it leads.
    ///
    /// - Parameter body: returns what it found to be different.
    mutating func commit(
        _ next: Place, counting counts: Counts = [],
        _ body: @escaping @Sendable (any Connection) throws -> [Difference] = { _ in [] }
    ) async throws {
        let (run, environment, now) = (run.sequence, environment, server.clock())
        try await server.database.write { session in
            let table = ReconciliationTable(session)
            for count in counts { try table.add(Int64(count.count), to: count.name, of: run, in: environment) }
            for difference in try body(session) { try Self.record(difference, run, now, session) }
            try table.move(run, to: next, at: now)
            try PresenceTable(session).note(at: now)
        }
        place = next
        failures = 0
    }

    /// - Parameters:
    ///   - before: written in the same commit before the copies are settled; returns what it found to be different.
    ///   - after: what is written beside them at last.
    mutating func settle(
        _ answers: AppleAnswers, next: Place, counting counts: Counts,
        before: @escaping @Sendable (any Connection) throws -> [Difference] = { _ in [] },
        after: @escaping @Sendable (any Connection) throws -> Void = { _ in }
    ) async throws {
        let (settle, now) = (server.settle, server.clock())
        let (copies, refused) = (answers.copies, answers.refused)
        let counts = counts + [("transactions", copies.count), ("undecided", answers.undecided)]
        do {
            try await commit(next, counting: counts) { session in
                let early = try before(session)
                let found = try DifferenceBook(session, settle: settle, at: now).settle(copies)
                try after(session)
                return refused + early + found
            }
        } catch let fault as DatabaseError where fault.isOfItsBody {
            try await commit(place, counting: [], before)
            try await settleOneByOne(copies)
            try await commit(next, counting: counts) { session in
                try after(session)
                return refused
            }
        }
    }

    /// One of them can't be booked, whatever it is. The others can.
    private mutating func settleOneByOne(_ copies: [BelievedCopy]) async throws {
        let (settle, now, place) = (server.settle, server.clock(), place)
        for copy in copies {
            do {
                try await commit(place) { session in
                    try DifferenceBook(session, settle: settle, at: now).settle([copy])
                }
            } catch let fault as DatabaseError where fault.isOfItsBody {
                let transaction = copy.transaction
                try await commit(place) { session in
                    let isKnown = try DifferenceTable(session).has(
                        .notSettled, of: transaction.id, in: transaction.environment)
                    return isKnown
                        ? []
                        : [
                            Difference(
                                .notSettled, in: transaction.environment, transaction: transaction.id,
                                was: fault.kind.rawValue)
                        ]
                }
            }
        }
    }

    private static func record(
        _ difference: Difference, _ run: Int64, _ now: Instant, _ session: any Connection
    ) throws {
        try DifferenceTable(session).insert(difference, run: run, at: now)
        guard difference.isLateGrant(at: now) else { return }
        try ReconciliationTable(session).add(1, to: Difference.lateGrants, of: run, in: difference.environment)
    }
}

extension Difference {
    /// Under this name purchases are counted that only a reconciliation granted, and late.
    static let lateGrants = "late_grants"

    /// Whether somebody had paid long before and had nothing for it until now.
    func isLateGrant(at now: Instant) -> Bool {
        guard kind == .purchaseMissed || kind == .quarantineResolved, let purchasedAt else { return false }
        return purchasedAt.adding(milliseconds: ReconciliationSettings.lostAfter) <= now
    }
}

extension DatabaseError {
    /// Whether another body would do better: the disk is not what is wrong.
    var isOfItsBody: Bool { kind == .constraint || kind == .other }
}
