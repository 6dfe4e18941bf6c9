import TillBilling
import TillSQL
import TillThreads

/// Seals what was committed: each row's content goes into the chain of its table, and each seal is authenticated
/// (docs/decisions/0080). Rows are read and hashed outside of the writer; a commit holds the finished seals.
public final class Sealer: Sendable {
    /// Ids read at once, for each table.
    static let slice: Int64 = 2_048
    /// Milliseconds for which a row may appear after its neighbours were sealed. No transaction lives that long.
    static let lateness: Int64 = 3_600_000
    /// Ids behind each other that no row has.
    static let mostMissing: Int64 = 100_000

    private struct Gap: Hashable {
        let stream: SealedStream
        let position: Int64
    }

    /// Gaps that the pass before this one has seen. A row that is only late by moments is not sealed as a late one.
    private let seen = Locked<Set<Gap>>([])
    /// The sum of all tables' last ids when nothing was left to seal.
    private let finished = Locked<Int64?>(nil)
    /// The times of the last passes. A row may be late while somebody sets the clock forward.
    private let times = Locked<[Instant]>([])
    private static let passesInMemory = 8
    /// The last row of each table when this process began to seal: it must have inserted every later one.
    private let begin = Locked<[SealedStream: Int64]?>(nil)
    /// Marks of commits that are still there.
    private let spent = Locked<[SpentMarks]>([])
    private let olderServersAt = Locked<Instant?>(nil)

    public init() {}

    /// What a pass did.
    public struct Pass: Sendable, Hashable {
        public var rows: Int64 = 0
        /// Rows among them that this server found when it started.
        public var foundRows: Int64 = 0
        /// Rows that appeared after their neighbours were sealed.
        public var lateRows: Int64 = 0
        /// Rows that another program inserted while this server held the ledger, as `postings 17`. They are not sealed.
        public var foreignRows: [String] = []
        /// Why a table can't be sealed any further, for each such table. The others are.
        public var stopped: [String] = []
    }

    /// Whether rows wait behind an id without a row, which the next pass takes for a gap.
    public var waits: Bool { !seen.withLock { $0 }.isEmpty }

    /// When the newest seal was made; nil without any.
    public func newest(_ ledger: Ledger) async throws -> Instant? {
        try await ledger.database.read { try SealTable($0).summary()?.at }
    }

    /// Seals everything that was committed before the call. Run by one server at a time.
    public func seal(_ ledger: Ledger) async throws -> Pass {
        guard let key = ledger.settings.sealKey else { return Pass() }
        let now = ledger.clock()
        let since = lookBack(from: now)
        let marks = ledger.database.marksCommits
        var look = try await ledger.database.read { try Look($0, since: since, marks: marks) }
        let numbers = look.marks
        if look.hasUnplaced {
            // A busy shop writes more events between two passes than one commit places.
            while try await ledger.placeEvents() {}
            look = try await ledger.database.read { try Look($0, since: since, marks: marks) }
        }
        add(SpentMarks(numbers: numbers, ends: look.ends))
        let (total, late) = (look.last, look.late)
        let known = seen.withLock { $0 }
        if late.isEmpty, known.isEmpty, finished.withLock({ $0 }) == total {
            remember(now)
            try await removeMarks(sealed: look.ends, ledger)
            return Pass()
        }
        let round = SealRound(
            key: key, identity: try await ledger.identity(), at: now, database: ledger.database,
            begin: try await beginning(ledger), hasOlderServers: hasOlderServers(look, at: now))
        var pass = Pass()
        pass.lateRows = try await sealLateRows(late, ledger.database, round)
        remember(now)
        if known.isEmpty, finished.withLock({ $0 }) == total { return pass }
        var (found, open) = (Set<Gap>(), Set(SealedStream.allCases))
        // A table without a slice has no more rows to seal than this pass knew at its start.
        var sealed = look.ends
        while !open.isEmpty {
            let streams = open
            let (slices, stopped) = try await ledger.database.read { connection in
                try round.slices(of: streams, connection) { known.contains(Gap(stream: $0, position: $1)) }
            }
            pass.stopped += stopped
            for slice in slices {
                found.formUnion(slice.missing.map { Gap(stream: slice.stream, position: $0) })
                sealed[slice.stream] = slice.end
            }
            let ready = slices.filter { !$0.seals.isEmpty }
            guard !ready.isEmpty else { break }
            guard try await round.write(ready, to: ledger.database) else { return pass }
            pass.rows += ready.reduce(0) { $0 + $1.rows }
            pass.foundRows += ready.reduce(0) { $0 + $1.foundRows }
            pass.foreignRows += ready.flatMap { slice in slice.foreign.map { "\(slice.stream.name) \($0)" } }
            open = Set(slices.filter(\.hasMore).map(\.stream))
        }
        try await removeMarks(sealed: sealed, ledger)
        seen.withLock { [found] in $0 = found }
        let hasStopped = !pass.stopped.isEmpty
        finished.withLock { $0 = hasStopped ? nil : total }
        return pass
    }

    // MARK: Marks of commits

    private func add(_ marks: SpentMarks) {
        spent.withLock { spent in
            let known = Set(spent.flatMap(\.numbers))
            let new = marks.numbers.filter { !known.contains($0) }
            if !new.isEmpty { spent.append(SpentMarks(numbers: new, ends: marks.ends)) }
        }
    }

    /// - Parameter sealed: the last sealed row of each table, as far as this pass knows: others may run beside it.
    private func removeMarks(sealed: [SealedStream: Int64], _ ledger: Ledger) async throws {
        let numbers = spent.withLock { $0.filter { $0.isCovered(by: sealed) }.flatMap(\.numbers) }
        guard !numbers.isEmpty else { return }
        try await ledger.database.write(locking: [.ledger("seals")]) { try CommitMarkTable($0).remove(numbers) }
        spent.withLock { $0.removeAll { $0.isCovered(by: sealed) } }
    }

    /// Milliseconds for which a server of an older release, seen connected, may still have committed rows.
    private static let upgradePause: Int64 = 60_000

    private func hasOlderServers(_ look: Look, at now: Instant) -> Bool {
        olderServersAt.withLock { at in
            if look.hasOlderServers { at = now }
            return at.map { abs(now.milliseconds - $0.milliseconds) < Self.upgradePause } ?? false
        }
    }

    /// Account tokens without a registration, as rows without a seal are sealed apart.
    private func recordFoundTokens(_ ledger: Ledger) async throws {
        let (limit, now) = (1_000, ledger.clock())
        while true {
            let found = try await ledger.database.read { try AccountTokenTable($0).unrecorded(limit: limit) }
            guard !found.isEmpty else { return }
            try await ledger.database.write(locking: [.ledger("seals")]) { connection in
                let table = AccountTokenTable(connection)
                for entry in found { try table.recordFound(entry.token, of: entry.customer, at: now) }
            }
        }
    }

    private func beginning(_ ledger: Ledger) async throws -> [SealedStream: Int64] {
        if let known = begin.withLock({ $0 }) { return known }
        try await recordFoundTokens(ledger)
        let ends = try await ledger.database.read { connection in
            var ends: [SealedStream: Int64] = [:]
            for stream in SealedStream.allCases {
                let last = stream == .events ? SealedStream.lastEvent : stream.last
                ends[stream] = try connection.first(last, []) { $0.integer("last") } ?? 0
            }
            return ends
        }
        begin.withLock { $0 = ends }
        return ends
    }

    /// From when on a gap may still be filled: an hour before now, and in any case since the last passes.
    private func lookBack(from now: Instant) -> Instant {
        let anHourAgo = now.adding(milliseconds: -Self.lateness)
        return times.withLock { min($0.min() ?? anHourAgo, anHourAgo) }
    }

    private func remember(_ now: Instant) {
        times.withLock { $0 = Array(($0 + [now]).suffix(Self.passesInMemory)) }
    }

    /// What a pass finds before it starts, in one read: passes that find nothing run all day.
    private struct Look {
        /// The last id of each table.
        let ends: [SealedStream: Int64]
        let late: [(stream: SealedStream, position: Int64)]
        let hasUnplaced: Bool
        /// Commits that have left marks, and whether a server is connected that leaves none.
        let marks: [Int64]
        let hasOlderServers: Bool
        /// Late rows do not change it; they are looked for while their gaps are young.
        var last: Int64 { ends.values.reduce(0, +) }

        init(_ connection: any Connection, since: Instant, marks: Bool) throws {
            hasUnplaced = try OutboxTable(connection).hasUnplaced()
            ends = try SealedStream.ends(connection)
            late = try SealTable(connection).recentGaps(since: since)
            let table = CommitMarkTable(connection)
            self.marks = marks ? try table.numbers() : []
            hasOlderServers = marks ? try table.hasOlderServers() : false
        }
    }

    /// Seals rows that filled gaps, in a seal of their own.
    private func sealLateRows(
        _ gaps: [(stream: SealedStream, position: Int64)], _ database: any Database, _ round: SealRound
    ) async throws -> Int64 {
        #if PLANTED_MISTAKES
            if PlantedMistake.skipsLateRows.isPlanted { return 0 }
        #endif
        var rows: Int64 = 0
        for (stream, gaps) in Dictionary(grouping: gaps, by: \.stream) {
            let slice = try await database.read { try round.lateSlice(of: stream, gaps.map(\.position).sorted(), $0) }
            guard let slice else { continue }
            guard try await round.write([slice], to: database) else { break }
            rows += slice.rows
        }
        return rows
    }
}
