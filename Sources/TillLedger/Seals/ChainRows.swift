import TillCrypto
import TillSQL

/// The rows of some seals of one table, read together.
struct ChainRows {
    private let stream: SealedStream
    private var contents: [[UInt8]?]
    private let first: Int64
    /// The last id that was read.
    let last: Int64
    /// Ids that had no row, and the seal of the row that came later.
    private var gaps: [Int64: Int64?] = [:]
    /// Rows that are not as their last recorded change left them.
    private let changed: Set<Int64>
    private var late: [Int64: [(position: Int64, content: [UInt8]?)]] = [:]

    init(
        _ stream: SealedStream, _ seals: [Seal], after last: Int64, key: SealKey, _ connection: any Connection
    ) throws {
        self.stream = stream
        first = last + 1
        let table = SealTable(connection)
        // A seal that claims more rows than any has is refused by itself.
        let most = Int64(seals.count) * Seal.most
        let end = max(last, min(seals.map(\.last).max() ?? last, last + most))
        self.last = end
        var changed: Set<Int64> = []
        var contents = [[UInt8]?](repeating: nil, count: Int(end - last))
        if end > last {
            try stream.read(from: first, to: end, key: key, connection) { row in
                contents[Int(row.position - last - 1)] = [UInt8](row.content)
                if !row.isCurrent { changed.insert(row.position) }
            }
            for gap in try table.gaps(of: stream, from: first, to: end) { gaps[gap.position] = .some(gap.sealRowID) }
        }
        self.contents = contents
        for seal in seals where seal.isLate {
            var rows: [(position: Int64, content: [UInt8]?)] = []
            for position in try table.lateRows(of: seal) {
                var found: [UInt8]?
                try stream.read(from: position, to: position, key: key, connection) { row in
                    found = [UInt8](row.content)
                    if !row.isCurrent { changed.insert(row.position) }
                }
                rows.append((position, found))
            }
            late[seal.rowID] = rows
        }
        self.changed = changed
    }

    func changed(in seal: Seal) -> [Int64] {
        let positions = Set(late[seal.rowID]?.map(\.position) ?? [])
        return changed.filter { seal.isLate ? positions.contains($0) : $0 >= seal.first && $0 <= seal.last }.sorted()
    }

    /// Adds what a seal covers to the chain.
    ///
    /// - Returns: the number of rows, the ids that should have one, and those that should not.
    mutating func add(
        _ seal: Seal, to chain: SHA256Chain, _ added: (Int64, [UInt8]) -> Void
    ) -> (rows: Int64, missing: [Int64], foreign: [Int64]) {
        var (rows, missing, foreign): (Int64, [Int64], [Int64]) = (0, [], [])
        if seal.isLate {
            for (position, content) in late[seal.rowID] ?? [] {
                guard let content else {
                    missing.append(position)
                    continue
                }
                chain.add(content)
                rows += 1
            }
            return (rows, missing, foreign)
        }
        for position in seal.first...seal.last {
            let content = contents[Int(position - first)]
            switch gaps[position] {
            case .some(let laterSeal):
                chain.add(stream.gap(position))
                if content != nil, laterSeal == nil { foreign.append(position) }
            case nil:
                if let content {
                    chain.add(content)
                    rows += 1
                } else {
                    missing.append(position)
                }
            }
            added(position, chain.digest)
        }
        return (rows, missing, foreign)
    }
}
