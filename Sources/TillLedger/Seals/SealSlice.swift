import TillBilling
import TillCrypto
import TillSQL

/// What stays equal during one pass.
struct SealRound: Sendable {
    let key: SealKey
    let identity: LedgerIdentity
    let at: Instant
    let database: any Database
    /// Rows behind these that no server wrote are foreign; others are found.
    let begin: [SealedStream: Int64]
    /// A server of an older release may write rows without marks.
    let hasOlderServers: Bool

    var ledger: UniqueID { identity.id }

    /// The next seals of several tables, and why the others have none.
    func slices(
        of streams: Set<SealedStream>, _ connection: any Connection, isOld: (SealedStream, Int64) -> Bool
    ) throws -> ([SealSlice], stopped: [String]) {
        var (slices, stopped) = ([SealSlice](), [String]())
        let writers = try RowWriters(self, connection)
        for stream in streams.sorted(by: { $0.rawValue < $1.rawValue }) {
            do {
                let slice = try slice(of: stream, writers, connection) { isOld(stream, $0) }
                if let slice { slices.append(slice) }
            } catch let error as RowsFarAheadError {
                stopped.append(error.description)
            }
        }
        return (slices, stopped)
    }

    /// The seals of the next rows of a table; nil if there are none.
    ///
    /// - Parameter isOld: whether an id without a row was seen in the pass before.
    private func slice(
        of stream: SealedStream, _ writers: RowWriters, _ connection: any Connection, isOld: (Int64) -> Bool
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
        let own = try writers.own(of: stream, from: first, to: end, connection)
        try stream.read(from: first, to: end, key: key, connection) { row in
            skip(to: row.position)
            next = row.position + 1
            guard !slice.isStopped else { return }
            let isOwn = own.contains(row.rowID)
            if !isOwn, !hasOlderServers, row.rowID > begin[stream] ?? 0 {
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
        let writers = try RowWriters(self, connection)
        for position in positions {
            let own = try writers.own(of: stream, from: position, to: position, connection)
            try stream.read(from: position, to: position, key: key, connection) { row in
                // A file has one writer, so its rows are never late.
                guard own.contains(row.rowID) || hasOlderServers && database.marksCommits else { return }
                chain.add(row.content)
                slice.addLate(position)
            }
        }
        slice.endLate(chain)
        return slice.seals.isEmpty ? nil : slice
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
struct SealSlice: Sendable {
    let stream: SealedStream
    /// The newest seal before. The commit compares it.
    private let newest: Seal?
    private let round: SealRound
    /// The first may replace `newest`, which had room.
    private(set) var seals: [Seal] = []
    private(set) var gaps: [Int64] = []
    /// The last row or gap under these seals.
    var end: Int64 { last }
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

    init(stream: SealedStream, after newest: Seal?, round: SealRound) {
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
