import TillBilling
import TillHTTP
import TillLedger
import TillSQL
import TillThreads

/// Which of the servers on a shared ledger does the ledger's work. A server renews its lease every five seconds and
/// stops by itself when it could not for fifteen; another takes it over when it has not changed for fifteen.
///
/// Each server measures these times with its own clock and compares it with no other: the clocks of two machines
/// differ. They decide when the work goes on, never whether a write is right (`LeasedDatabase`).
final class JobLease: Sendable {
    static let name = Lease.jobs
    /// Milliseconds.
    static let length: Int64 = 15_000
    static let interval: Int64 = 5_000
    /// After this time by the holder's clock a lease has ended, whatever the clocks' difference.
    private static let clockTolerance: Int64 = 60_000

    private struct State {
        /// Names this start of the server; drawn when it is first needed.
        var id: String?
        var lease: Lease?
        /// When the lease was last renewed, by this server's clock.
        var renewedAt = Instant(milliseconds: .min)
        /// The lease of another server, and when it was first seen like this.
        var seen: (lease: Lease, at: Instant)?
        /// When the ledger last had a holder, as far as this server knows.
        var lastSeenHeldAt: Instant?
    }

    private let state = Locked(State())

    /// Whether this server's lease is certainly in force.
    func isHeld(at now: Instant) -> Bool {
        state.withLock { $0.lease != nil && now.milliseconds - $0.renewedAt.milliseconds < Self.length }
    }

    func isHeld(_ lease: Lease, at now: Instant) -> Bool {
        state.withLock { $0.lease?.term == lease.term } && isHeld(at: now)
    }

    // MARK: Taking, renewing, giving up

    /// Takes the lease if it is free or was not renewed.
    func take(for server: Server) async -> Lease? {
        let now = server.machineClock()
        do {
            let known = try await server.database.read { try LeaseTable($0).find(Self.name) }
            let id = state.withLock { state in
                let id = state.id ?? UniqueID(random: server.entropy(16)).description
                state.id = id
                return id
            }
            // A lease of its own is one whose commit was in doubt.
            guard known?.server == id || isFree(known, at: now) else { return nil }
            let until = now.adding(milliseconds: Self.length)
            let lease = try await server.database.write(locking: LockKey.wholeLease(Self.name)) {
                try LeaseTable($0).take(Self.name, after: known, as: id, until: until)
            }
            guard let lease else { return nil }
            state.withLock { state in
                (state.lease, state.renewedAt, state.seen, state.lastSeenHeldAt) = (lease, now, nil, now)
            }
            server.log.write(
                .leaseTaken,
                ["lease": .text(lease.name), "term": .integer(lease.term), "from": .text(known?.server)])
            return lease
        } catch {
            server.log.write(.workFailed, ["work": "lease", "cause": .cause(error)])
            return nil
        }
    }

    private func isFree(_ known: Lease?, at now: Instant) -> Bool {
        guard let known, known.until.milliseconds > 0 else { return true }
        return state.withLock { state in
            guard let seen = state.seen, seen.lease == known else {
                state.seen = (known, now)
                state.lastSeenHeldAt = now
                return now.milliseconds - known.until.milliseconds > Self.clockTolerance
            }
            return now.milliseconds - seen.at.milliseconds >= Self.length
        }
    }

    /// Measured from the moment before the request, because an answer may be late.
    func renew(for server: Server) async {
        guard let lease = state.withLock({ $0.lease }) else { return }
        let now = server.machineClock()
        let until = now.adding(milliseconds: Self.length)
        do {
            let isHeld = try await server.database.write(locking: []) { try LeaseTable($0).renew(lease, until: until) }
            guard isHeld else { return lose(lease, server) }
            state.withLock { state in (state.renewedAt, state.lastSeenHeldAt) = (now, now) }
        } catch {
            server.log.write(.workFailed, ["work": "lease", "cause": .cause(error)])
        }
    }

    /// Another server has the lease.
    func lose(_ lease: Lease, _ server: Server) {
        let isNews = state.withLock { state in
            defer { if state.lease?.term == lease.term { state.lease = nil } }
            return state.lease?.term == lease.term
        }
        guard isNews else { return }
        server.log.write(.leaseLost, ["lease": .text(lease.name), "term": .integer(lease.term)])
    }

    /// Gives the lease up, so that another server goes on at once. Without an answer the lease ends by itself.
    func end(for server: Server) async {
        let lease = state.withLock { state in
            defer { state.lease = nil }
            return state.lease
        }
        guard let lease else { return }
        do {
            // A cancelled task writes this as well: the database does not look at the task.
            try await server.database.write(locking: LockKey.wholeLease(Self.name)) {
                try LeaseTable($0).release(lease)
            }
            server.log.write(.leaseReleased, ["lease": .text(lease.name), "term": .integer(lease.term)])
        } catch {
            server.log.write(.workFailed, ["work": "lease", "cause": .cause(error)])
        }
    }

    // MARK: Figures

    /// Both are NaN on a ledger that has one server.
    func metrics(isShared: Bool, at now: Instant) -> [Metric] {
        guard isShared else { return [Metric(.jobsLeader, nil), Metric(.jobLeaseAge, nil)] }
        let age = state.withLock { state -> Double? in
            let since = state.lease == nil ? state.seen?.at ?? state.lastSeenHeldAt : state.renewedAt
            return since.map { max(0, Double(now.milliseconds - $0.milliseconds) / 1_000) }
        }
        return [Metric(.jobsLeader, isHeld(at: now) ? 1 : 0), Metric(.jobLeaseAge, age)]
    }
}

extension Server {
    /// This server as a job uses it while it holds the lease: each write of the ledger needs the lease, and no event is
    /// sent without it. A request that is on its way when the lease ends can't be called back; its receiver knows the
    /// repetition by its id.
    func under(_ lease: Lease) -> Server {
        let (holding, original) = (jobLease, self)
        let database = LeasedDatabase(self.database, lease) { holding.lose(lease, original) }
        guard let webhookSend else { return with(database, webhookSend: nil) }
        let send: HTTPSend = { (url: String, request: HTTPRequest) async throws(HTTPError) -> HTTPResponse in
            guard holding.isHeld(lease, at: original.machineClock()) else {
                throw HTTPError(.stopped, "another server has taken over")
            }
            return try await webhookSend(url, request)
        }
        return with(database, webhookSend: send)
    }
}
