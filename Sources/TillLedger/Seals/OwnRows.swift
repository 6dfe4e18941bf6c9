import TillSQL

/// Tells the rows that the ledger's servers wrote from those of other programs, within one read.
struct RowWriters {
    private let database: any Database
    /// The numbers of the servers' transactions; nil where the driver leaves no marks.
    private let marks: Set<Int64>?

    init(_ round: SealRound, _ connection: any Connection) throws {
        database = round.database
        marks =
            database.marksCommits
            ? try CommitMarkTable(connection).valid(under: round.key, round.identity) : nil
    }

    func own(
        of stream: SealedStream, from first: Int64, to last: Int64, _ connection: any Connection
    ) throws -> OwnRows {
        if let marks {
            let table = CommitMarkTable(connection)
            return .allBut(try table.unmarkedRows(of: stream, from: first, to: last, marks: marks))
        }
        return database.insertedRows(of: stream.table).map { .inserted($0) } ?? .all
    }
}

/// The rows of one table that a server of this ledger wrote.
enum OwnRows {
    /// The driver does not know.
    case all
    case inserted([ClosedRange<Int64>])
    case allBut(Set<Int64>)

    func contains(_ rowID: Int64) -> Bool {
        switch self {
        case .all: true
        case .inserted(let ranges): ranges.reversed().contains { $0.contains(rowID) }
        case .allBut(let others): !others.contains(rowID)
        }
    }
}

/// The marks of commits that can be removed once the rows before some positions are sealed.
struct SpentMarks: Sendable {
    let numbers: [Int64]
    /// The last rows of each table at a moment after these commits.
    let ends: [SealedStream: Int64]

    func isCovered(by sealed: [SealedStream: Int64]) -> Bool {
        ends.allSatisfy { stream, end in sealed[stream] ?? .max >= end }
    }
}
