import TillBilling

/// `POST /v1/imports`: the file that rows follow of.
public struct BeginImportBody: Codable, Sendable {
    public let format: String
    public let name: String
    public let sha256: String

    public init(format: String, name: String, sha256: String) {
        self.format = format
        self.name = name
        self.sha256 = sha256
    }
}

/// One row of a file.
public struct ImportRowBody: Codable, Sendable {
    public let line: Int64
    /// A JSON object as text.
    public let row: String

    public init(line: Int64, row: String) {
        self.line = line
        self.row = row
    }
}

/// `POST /v1/imports/check` and `POST /v1/imports/{id}/rows`.
public struct ImportRowsBody: Codable, Sendable {
    /// Only for a check.
    public var format: String?
    /// `first` or `later`, which is the default: when Apple is asked about rows without a signature.
    public var verify: String?
    public let rows: [ImportRowBody]

    public init(format: String? = nil, verify: String? = nil, rows: [ImportRowBody]) {
        self.format = format
        self.verify = verify
        self.rows = rows
    }
}

/// `POST /v1/imports/{id}/end`.
public struct EndImportBody: Codable, Sendable {
    public let rows: Int64
    public let unchanged: Int64
    public let refused: Int64

    public init(rows: Int64, unchanged: Int64, refused: Int64) {
        self.rows = rows
        self.unchanged = unchanged
        self.refused = refused
    }
}

/// `POST /v1/imports/{id}/undo`.
public struct UndoImportBody: Codable, Sendable {
    public var force: Bool?
    public var dryRun: Bool?
    /// `next` of the answer before.
    public var after: Int64?

    public init(force: Bool? = nil, dryRun: Bool? = nil, after: Int64? = nil) {
        self.force = force
        self.dryRun = dryRun
        self.after = after
    }
}

/// How one row ended; a receipt has one for each of its purchases.
public struct ImportOutcomeReply: Codable, Sendable, Hashable {
    public let line: Int64
    /// `imported`, `unchanged`, `refused`, or `waiting`: Apple has not answered, so send the row again.
    public let outcome: String
    /// Why it is refused or waits: stable, for programs.
    public let code: String?
    public let sentence: LocalizedText?
    /// A transaction's id, a kind of points or a token.
    public let subject: String?
    public let userId: String?

    public init(
        line: Int64, outcome: String, code: String? = nil, sentence: LocalizedText? = nil, subject: String? = nil,
        userId: String? = nil
    ) {
        self.line = line
        self.outcome = outcome
        self.code = code
        self.sentence = sentence
        self.subject = subject
        self.userId = userId
    }
}

public struct ImportRowsReply: Codable, Sendable, Hashable {
    public let data: [ImportOutcomeReply]
    public init(data: [ImportOutcomeReply]) { self.data = data }
}

/// An import in a response.
public struct LedgerImportReply: Codable, Sendable, Hashable {
    public let id: String
    public let format: String
    public let name: String
    public let sha256: String
    public let environment: String
    public let caller: String
    public let beganAt: Instant
    public let endedAt: Instant?
    public let rows: Int64
    public let imported: Int64
    public let unchanged: Int64
    public let refused: Int64
    public let undone: Int64
    public let undoneAt: Instant?
    public let undoneBy: String?

    public init(
        id: String, format: String, file: (name: String, sha256: String), environment: StoreEnvironment,
        caller: String, beganAt: Instant, endedAt: Instant?, counts: [Int64], undone: Int64, undoneAt: Instant?,
        undoneBy: String?
    ) {
        self.id = id
        self.format = format
        (name, sha256) = file
        self.environment = environment.rawValue.lowercased()
        self.caller = caller
        self.beganAt = beganAt
        self.endedAt = endedAt
        (rows, imported, unchanged, refused) = (counts[0], counts[1], counts[2], counts[3])
        self.undone = undone
        self.undoneAt = undoneAt
        self.undoneBy = undoneBy
    }
}

/// What an undo did for some customers.
public struct UndoImportReply: Codable, Sendable, Hashable {
    public struct Kept: Codable, Sendable, Hashable {
        public let userId: String
        public let line: Int64
        public let subject: String
        /// `spent`, `renewed`, `refunded`, `updated` or `moved`.
        public let reason: String

        public init(userId: String, line: Int64, subject: String, reason: String) {
            self.userId = userId
            self.line = line
            self.subject = subject
            self.reason = reason
        }
    }

    public let undone: Int64
    public let kept: [Kept]
    /// Nil at the end.
    public let next: Int64?

    public init(undone: Int64, kept: [Kept], next: Int64?) {
        self.undone = undone
        self.kept = kept
        self.next = next
    }
}
