import TillBilling
import TillCrypto
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
    }

    /// When the newest seal was made; nil without any.
    public func newest(_ ledger: Ledger) async throws -> Instant? {
        try await ledger.database.read { try SealTable($0).summary()?.at }
    }

    /// Seals everything that was committed before the call. Run by one server at a time.
    public func seal(_ ledger: Ledger) async throws -> Pass {
        guard let key = ledger.settings.sealKey else { return Pass() }
        let now = ledger.clock()
        let since = lookBack(from: now)
        var look = try await ledger.database.read { try Look($0, since: since) }
        if look.hasUnplaced {
            // A busy shop writes more events between two passes than one commit places.
            while try await ledger.placeEvents() {}
            look = try await ledger.database.read { try Look($0, since: since) }
        }
        let (total, late) = (look.last, look.late)
        let known = seen.withLock { $0 }
        if late.isEmpty, known.isEmpty, finished.withLock({ $0 }) == total {
            remember(now)
            return Pass()
        }
        let identity = try await ledger.identity()
        let round = Round(
            key: key, ledger: identity.id, at: now, database: ledger.database,
            begin: try await beginning(ledger.database))
        var pass = Pass()
        pass.lateRows = try await sealLateRows(late, ledger.database, round)
        remember(now)
        if known.isEmpty, finished.withLock({ $0 }) == total { return pass }
        var (found, open) = (Set<Gap>(), Set(SealedStream.allCases))
        while !open.isEmpty {
            let streams = open
            let slices = try await ledger.database.read { connection in
                try streams.sorted { $0.rawValue < $1.rawValue }.compactMap { stream in
                    try round.slice(of: stream, connection) { known.contains(Gap(stream: stream, position: $0)) }
                }
            }
            for slice in slices {
                found.formUnion(slice.missing.map { Gap(stream: slice.stream, position: $0) })
            }
            let ready = slices.filter { !$0.seals.isEmpty }
            guard !ready.isEmpty else { break }
            guard try await round.write(ready, to: ledger.database) else { return pass }
            pass.rows += ready.reduce(0) { $0 + $1.rows }
            pass.foundRows += ready.reduce(0) { $0 + $1.foundRows }
            pass.foreignRows += ready.flatMap { slice in slice.foreign.map { "\(slice.stream.name) \($0)" } }
            open = Set(slices.filter(\.hasMore).map(\.stream))
        }
        seen.withLock { [found] in $0 = found }
        finished.withLock { $0 = total }
        return pass
    }

    private func beginning(_ database: any Database) async throws -> [SealedStream: Int64] {
        if let known = begin.withLock({ $0 }) { return known }
        let ends = try await database.read { connection in
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
        /// The sum of all tables' last ids. Late rows raise none; they are looked for while their gaps are young.
        let last: Int64
        let late: [(stream: SealedStream, position: Int64)]
        let hasUnplaced: Bool

        init(_ connection: any Connection, since: Instant) throws {
            hasUnplaced = try OutboxTable(connection).hasUnplaced()
            last = try connection.first(SealedStream.lastIDs, []) { $0.integer("last") } ?? 0
            late = try SealTable(connection).recentGaps(since: since)
        }
    }

    /// Seals rows that filled gaps, in a seal of their own.
    private func sealLateRows(
        _ gaps: [(stream: SealedStream, position: Int64)], _ database: any Database, _ round: Round
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

/// What stays equal during one pass.
private struct Round: Sendable {
    let key: SealKey
    let ledger: UniqueID
    let at: Instant
    let database: any Database
    /// Rows behind these that this process did not insert are foreign; others are found.
    let begin: [SealedStream: Int64]

    /// The seals of the next rows of a table; nil if there are none.
    ///
    /// - Parameter isOld: whether an id without a row was seen in the pass before.
    func slice(
        of stream: SealedStream, _ connection: any Connection, isOld: (Int64) -> Bool
    ) throws -> SealSlice? {
        let newest = try SealTable(connection).newest(of: stream)
        let first = (newest?.last ?? 0) + 1
        let last = try connection.first(stream.last, []) { $0.integer("last") } ?? 0
        guard last >= first else { return nil }
        let end = min(last, first + Sealer.slice - 1)
        let chain = SHA256Chain(after: newest?.digest ?? stream.start(of: ledger))
        var slice = SealSlice(stream: stream, after: newest, round: self)
        var next = first
        func skip(to position: Int64) {
            while next < position {
                slice.missing.append(next)
                var isOver = isOld(next)
                #if PLANTED_MISTAKES
                    isOver = isOver || PlantedMistake.skipsLateRows.isPlanted
                #endif
                if isOver, !slice.isStopped {
                    chain.add(stream.gap(next))
                    slice.add(next, chain, isGap: true)
                } else {
                    slice.isStopped = true
                }
                next += 1
            }
        }
        let own = OwnRows(database, stream.table)
        try stream.read(from: first, to: end, key: key, connection) { row in
            skip(to: row.position)
            next = row.position + 1
            guard !slice.isStopped else { return }
            let isOwn = own.contains(row.rowID)
            if !isOwn, row.rowID > begin[stream] ?? 0 {
                slice.foreign.append(row.position)
                chain.add(stream.gap(row.position))
                slice.add(row.position, chain, isGap: true)
            } else {
                if !isOwn { slice.foundRows += 1 }
                slice.begin(isFound: !isOwn, chain)
                chain.add(row.content)
                slice.add(row.position, chain, isGap: false)
            }
        }
        skip(to: end + 1)
        if slice.missing.count == Sealer.slice { try requireRow(of: stream, after: end, last, connection) }
        slice.hasMore = end < last && !slice.isStopped
        slice.end(chain)
        return slice
    }

    /// One commit: the seals, and what authenticates the ends of all chains.
    ///
    /// - Returns: false if another server has sealed meanwhile. Nothing is written then.
    func write(_ slices: [SealSlice], to database: any Database) async throws -> Bool {
        try await database.write(locking: [.ledger("seals")]) { connection in
            guard try slices.allSatisfy({ try $0.follows(connection) }) else { return false }
            for slice in slices { try slice.write(connection) }
            let table = SealTable(connection)
            try table.setSummary(key.code(of: try table.heads(), ledger: ledger, at: at), at: at)
            return true
        }
    }

    /// Ids of transactions that were rolled back, or of a database's server that crashed, are few.
    private func requireRow(
        of stream: SealedStream, after position: Int64, _ last: Int64, _ connection: any Connection
    ) throws {
        var isFound = false
        let end = position + min(last - position, Sealer.mostMissing)
        try stream.read(from: position + 1, to: end, key: key, connection) { _ in isFound = true }
        guard isFound else { throw RowsFarAheadError(stream, last) }
    }

    /// A seal of the rows that have appeared at these ids; nil if none has.
    func lateSlice(
        of stream: SealedStream, _ positions: [Int64], _ connection: any Connection
    ) throws -> SealSlice? {
        guard let newest = try SealTable(connection).newest(of: stream) else { return nil }
        let chain = SHA256Chain(after: newest.digest)
        var slice = SealSlice(stream: stream, after: newest, round: self)
        let own = OwnRows(database, stream.table)
        for position in positions {
            try stream.read(from: position, to: position, key: key, connection) { row in
                // A file has one writer, so its rows are never late.
                guard own.contains(row.rowID) else { return }
                chain.add(row.content)
                slice.addLate(position)
            }
        }
        slice.endLate(chain)
        return slice.seals.isEmpty ? nil : slice
    }
}

/// The rows of one table that this process inserted.
private struct OwnRows {
    private let ranges: [ClosedRange<Int64>]?

    init(_ database: any Database, _ table: StaticString) { ranges = database.insertedRows(of: table) }

    /// True where the driver does not know.
    func contains(_ rowID: Int64) -> Bool {
        guard let ranges else { return true }
        return ranges.reversed().contains { $0.contains(rowID) }
    }
}

/// A row with an id that no sequence gives: somebody else wrote it. It is not sealed, and the audit names it.
struct RowsFarAheadError: Error, CustomStringConvertible {
    let description: String

    init(_ stream: SealedStream, _ position: Int64) {
        description =
            "\(stream.name) has the row \(position) far beyond all others, which no server writes; run till audit"
    }
}

/// The next seals of one table, as they are computed from a snapshot.
private struct SealSlice: Sendable {
    let stream: SealedStream
    /// The newest seal before. The commit compares it.
    private let newest: Seal?
    private let round: Round
    /// The first may replace `newest`, which had room.
    private(set) var seals: [Seal] = []
    private(set) var gaps: [Int64] = []
    private var lateRows: [Int64] = []
    /// Rows sealed.
    private(set) var rows: Int64 = 0
    /// Rows sealed that the server found when it started.
    var foundRows: Int64 = 0
    /// Rows that this server did not write.
    var foreign: [Int64] = []
    /// Ids without a row.
    var missing: [Int64] = []
    /// Whether the rows from the first new one of these on are left for the next pass.
    var isStopped = false
    var hasMore = false

    private var first: Int64
    private var last: Int64
    /// Whether there are rows behind the last seal.
    private var isOpen = false
    private var isFound = false

    init(stream: SealedStream, after newest: Seal?, round: Round) {
        (self.stream, self.newest, self.round) = (stream, newest, round)
        last = newest?.last ?? 0
        first = newest.flatMap { $0.isOpen ? $0.first : nil } ?? last + 1
    }

    /// Call before the row is added to the chain: found rows have seals of their own.
    mutating func begin(isFound: Bool, _ chain: SHA256Chain) {
        guard isFound != self.isFound else { return }
        if isOpen { close(chain) } else { first = last + 1 }
        self.isFound = isFound
    }

    /// Call after the row or the gap was added to the chain.
    mutating func add(_ position: Int64, _ chain: SHA256Chain, isGap: Bool) {
        if isGap { gaps.append(position) } else { rows += 1 }
        (last, isOpen) = (position, true)
        if last - first + 1 == Seal.most { close(chain) }
    }

    mutating func addLate(_ position: Int64) {
        rows += 1
        lateRows.append(position)
    }

    private mutating func close(_ chain: SHA256Chain) {
        seals.append(
            Seal(
                rowID: 0, stream: stream, first: first, last: last, digest: chain.digest, at: round.at, isFound: isFound
            ))
        (first, isOpen) = (last + 1, false)
    }

    /// Closes the seal of the last rows. Later rows may join it.
    mutating func end(_ chain: SHA256Chain) {
        if isOpen { close(chain) }
    }

    mutating func endLate(_ chain: SHA256Chain) {
        guard !lateRows.isEmpty else { return }
        first = last + 1
        close(chain)
    }

    /// Whether the newest seal is still the one after which these were computed.
    func follows(_ connection: any Connection) throws -> Bool {
        try SealTable(connection).newest(of: stream) == newest
    }

    func write(_ connection: any Connection) throws {
        let table = SealTable(connection)
        var late: Int64?
        for (index, seal) in seals.enumerated() {
            var seal = seal
            let joined = index == 0 && newest?.isOpen == true && seal.first == newest?.first ? newest?.rowID : nil
            seal.rowID = try joined ?? connection.drawID(of: "seals")
            seal.code = round.key.code(of: seal, ledger: round.ledger)
            if joined != nil { try table.extend(seal) } else { try table.insert(seal) }
            late = seal.rowID
        }
        for gap in gaps { try table.insertGap(gap, of: stream, at: round.at) }
        if let late { for position in lateRows { try table.fillGap(position, of: stream, in: late) } }
    }
}
