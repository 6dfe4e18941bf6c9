import TillBilling
import TillCrypto
import TillSQL

/// Computes every seal of a ledger again and compares it, beside a running server (docs/decisions/0080).
package struct SealAudit: Sendable {
    package struct Report: Sendable, Hashable {
        /// Sealed rows that were read.
        package var rows: Int64 = 0
        package var seals: Int64 = 0
        /// Seals of rows that a server found when it started, as `postings 17–19`.
        package var found: [Found] = []
        /// When the newest seal was made.
        package var sealedAt: Instant?
        package var violations: [AuditViolation] = []

        package struct Found: Sendable, Hashable {
            package let rows: String
            package let at: Instant
        }

        mutating func add(_ other: Report) {
            rows += other.rows
            found += other.found
            seals += other.seals
            sealedAt = [sealedAt, other.sealedAt].compactMap { $0 }.max { $0.milliseconds < $1.milliseconds }
            violations += other.violations
        }
    }

    /// Seals read at once, with their rows.
    private static let batch = 32

    private let database: any Database
    private let key: SealKey
    private let ledger: UniqueID

    package init(_ database: any Database, key: SealKey, ledger: UniqueID) {
        self.database = database
        self.key = key
        self.ledger = ledger
    }

    /// The last row of every table at one moment.
    package struct Ends: Sendable {
        fileprivate var last: [SealedStream: Int64] = [:]
        /// The last event without a position.
        fileprivate var unplaced: Int64?
    }

    package func ends() async throws -> Ends {
        try await database.read { try Self.ends($0) }
    }

    private static func ends(_ connection: any Connection) throws -> Ends {
        var ends = Ends()
        for stream in SealedStream.allCases {
            ends.last[stream] = try connection.first(stream.last, []) { $0.integer("last") } ?? 0
        }
        ends.unplaced =
            try connection.first("SELECT max(event_row_id) AS last FROM unplaced_events", []) {
                $0.optionalInteger("last")
            } ?? nil
        return ends
    }

    private static func hasPlaced(_ ends: Ends, _ connection: any Connection) throws -> Bool {
        guard let last = ends.unplaced else { return true }
        let left = try connection.first(
            "SELECT 1 FROM unplaced_events WHERE event_row_id <= ?1 LIMIT 1", [.integer(last)]
        ) { _ in true }
        return left == nil
    }

    /// Whether every row up to these is sealed.
    package func hasSealed(_ ends: Ends) async throws -> Bool {
        try await database.read { connection in
            let table = SealTable(connection)
            return try Self.hasPlaced(ends, connection)
                && ends.last.allSatisfy { stream, last in try (table.newest(of: stream)?.last ?? 0) >= last }
        }
    }

    /// - Parameters:
    ///   - ends: rows up to these must be sealed; nil: all that there are.
    ///   - checkpoint: what an earlier audit or webhook said of the chains; the ledger must contain it.
    package func run(_ ends: Ends? = nil, against checkpoint: Checkpoint? = nil) async throws -> Report {
        var report = Report()
        let ends = if let ends { ends } else { try await self.ends() }
        report.violations += try await database.read { try strays(ends, checkpoint, $0) }
        let found = try await withThrowingTaskGroup(of: (SealedStream, Report).self) { group in
            for stream in SealedStream.allCases {
                group.addTask {
                    (stream, try await run(stream, to: ends.last[stream] ?? 0, against: checkpoint?.heads[stream]))
                }
            }
            var found: [SealedStream: Report] = [:]
            for try await (stream, report) in group { found[stream] = report }
            return found
        }
        for stream in SealedStream.allCases { if let other = found[stream] { report.add(other) } }
        report.found += try await database.read { connection in
            try AccountTokenTable(connection).found(limit: LedgerAudit.violationLimit).map {
                Report.Found(rows: "account_token_log \($0.rowID)", at: $0.at)
            }
        }
        return report
    }

    /// What the ends of the chains show, without computing a seal again.
    package func newestViolations() async throws -> [AuditViolation] {
        try await database.read { try strays(Ends(), nil, $0) }
    }

    /// Compares the whole ledger as it is at one moment. For small ledgers.
    package func report(
        _ connection: any Connection, against checkpoint: Checkpoint? = nil
    ) throws -> Report {
        var report = Report()
        let ends = try Self.ends(connection)
        report.violations += try strays(ends, checkpoint, connection)
        for stream in SealedStream.allCases {
            var walk = Walk(stream: stream, head: checkpoint?.heads[stream], digest: stream.start(of: ledger))
            while !walk.isEnded { try follow(&walk, connection) }
            walk.end(at: ends.last[stream] ?? 0)
            report.add(walk.report)
        }
        return report
    }

    /// The ends of the chains, rows of the seals' own tables that belong to no chain, and a foreign checkpoint.
    private func strays(
        _ ends: Ends, _ checkpoint: Checkpoint?, _ connection: any Connection
    ) throws -> [AuditViolation] {
        var found: [AuditViolation] = []
        let table = SealTable(connection)
        let (heads, summary) = (try table.heads(), try table.summary())
        let code = summary.map { key.code(of: heads, ledger: ledger, at: $0.at) }
        if summary?.code != code || summary == nil && !heads.isEmpty {
            found.append(
                AuditViolation(
                    .seals, "seal_summary",
                    en: "does not match the ends of the chains: seals were removed, or seals.keyFile is another key",
                    zh: "与各封印链的末端不符：有封印被删除，或 seals.keyFile 不是同一把密钥"))
        }
        if try !Self.hasPlaced(ends, connection) {
            found.append(
                AuditViolation(
                    .seals, "unplaced_events", en: "has events that no server has placed and sealed",
                    zh: "含有尚无服务器排定位置并封印的事件"))
        }
        if try table.countUnknown() > 0 {
            found.append(AuditViolation(.seals, "seals", en: "has seals of unknown tables", zh: "含有未知表的封印"))
        }
        if try table.hasMisplacedGaps() {
            found.append(
                AuditViolation(
                    .seals, "seal_gaps", en: "names seals that hold no late rows", zh: "所指的封印不含迟到的行"))
        }
        if let checkpoint, checkpoint.ledger != ledger {
            found.append(
                AuditViolation(
                    .seals, "checkpoint", en: "is of the ledger \(checkpoint.ledger), not of \(ledger)",
                    zh: "属于账本 \(checkpoint.ledger)，而不是 \(ledger)"))
        }
        return found
    }

    // MARK: One table

    /// Where the walk along one chain is.
    private struct Walk: Sendable {
        let stream: SealedStream
        let head: Checkpoint.Head?
        var digest: [UInt8]
        var last: Int64 = 0
        var seal: Int64 = 0
        var isEnded = false
        var hasHead = false
        var report = Report()

        mutating func note(_ about: String, en: String, zh: String) {
            guard report.violations.count < LedgerAudit.violationLimit else { return }
            report.violations.append(AuditViolation(.seals, about, en: en, zh: zh))
        }

        /// - Parameter end: rows up to here must be sealed; a running server seals a row within a second.
        mutating func end(at end: Int64) {
            if end > last {
                note(
                    "\(stream.name) \(last + 1)–\(end)",
                    en: "is not sealed. It was written after the last seal: by a server that stopped at once, which "
                        + "seals it when it starts again, or by somebody else",
                    zh: "尚未封印，写于最后一个封印之后：或是服务器突然停止，再次启动时会补上封印；或是由他人写入")
            }
            guard let head, !hasHead else { return }
            note(
                stream.name,
                en: "does not contain the checkpoint, which sealed the rows up to \(head.position); the ledger's "
                    + "seals end at \(last). The file is an older copy, or sealed rows were replaced",
                zh: "不含检查点所封印的内容（至第 \(head.position) 行），账本的封印止于 \(last)。"
                    + "该文件是较旧的副本，或已封印的行被替换")
        }

        /// Call after each content of the chain.
        mutating func compareHead(_ position: Int64, _ digest: [UInt8]) {
            if let head, head.position == position, head.digest == digest { hasHead = true }
        }
    }

    private func run(
        _ stream: SealedStream, to end: Int64, against head: Checkpoint.Head?
    ) async throws -> Report {
        var walk = Walk(stream: stream, head: head, digest: stream.start(of: ledger))
        while !walk.isEnded {
            let before = walk
            walk = try await database.read { connection in
                var walk = before
                try follow(&walk, connection)
                return walk
            }
        }
        walk.end(at: end)
        return walk.report
    }

    /// Computes the next seals of a chain.
    private func follow(_ walk: inout Walk, _ connection: any Connection) throws {
        let seals = try SealTable(connection).list(of: walk.stream, after: walk.seal, limit: Self.batch)
        guard !seals.isEmpty else {
            walk.isEnded = true
            return
        }
        let chain = SHA256Chain(after: walk.digest)
        var rows = try ChainRows(walk.stream, seals, after: walk.last, key: key, connection)
        for seal in seals {
            walk.report.seals += 1
            let about = "seal \(seal.rowID)"
            guard constantTimeEqual(key.code(of: seal, ledger: ledger), seal.code) else {
                walk.note(
                    about,
                    en: "of \(seal.rowsText(.english)) was not made with this key: the seal was changed, or "
                        + "seals.keyFile is another one",
                    zh: "（\(seal.rowsText(.chinese))）不是用此密钥生成的：封印被改动，或 seals.keyFile 不是同一把密钥")
                walk.seal = seal.rowID
                continue
            }
            if seal.first == walk.last + 1, seal.rows <= Seal.most {
                // After a seal that is missing, the rows read are not enough.
                guard seal.last <= rows.last else { return }
                chain.restart(after: walk.digest)
                compare(seal, &walk, &rows, chain)
            } else {
                walk.note(
                    about,
                    en: "of \(seal.rowsText(.english)) does not follow the seal before it, which ends at \(walk.last)",
                    zh: "（\(seal.rowsText(.chinese))）与前一个封印不相接，后者止于 \(walk.last)")
            }
            (walk.digest, walk.last, walk.seal) = (seal.digest, max(walk.last, seal.last), seal.rowID)
            walk.report.sealedAt = seal.at
            if seal.isFound, walk.report.found.count < LedgerAudit.violationLimit {
                walk.report.found.append(.init(rows: seal.rowsText(.english), at: seal.at))
            }
        }
    }

    private func compare(_ seal: Seal, _ walk: inout Walk, _ rows: inout ChainRows, _ chain: SHA256Chain) {
        let (added, missing, foreign) = rows.add(seal, to: chain) { walk.compareHead($0, $1) }
        walk.report.rows += added
        if seal.isLate { walk.compareHead(seal.last, chain.digest) }
        let changed = rows.changed(in: seal)
        guard chain.digest != seal.digest || !foreign.isEmpty || !changed.isEmpty else { return }
        let lists = [
            changed.isEmpty ? nil : (en: "changed: \(Self.list(changed))", zh: "改动：\(Self.list(changed))"),
            missing.isEmpty ? nil : (en: "missing: \(Self.list(missing))", zh: "缺少：\(Self.list(missing))"),
            foreign.isEmpty ? nil : (en: "added: \(Self.list(foreign))", zh: "多出：\(Self.list(foreign))"),
        ].compactMap { $0 }
        walk.note(
            "seal \(seal.rowID)",
            en: "of \(seal.rowsText(.english)) does not match: rows were changed"
                + lists.map { "; " + $0.en }.joined(),
            zh: "与\(seal.rowsText(.chinese))不符：行被改动" + lists.map { "；" + $0.zh }.joined())
    }

    private static func list(_ positions: [Int64]) -> String {
        positions.prefix(20).map(String.init).joined(separator: ", ") + (positions.count > 20 ? ", …" : "")
    }
}

extension Seal {
    /// `postings 129–256`.
    func rowsText(_ language: Language) -> String {
        guard isLate else { return "\(stream.name) \(first)–\(last)" }
        return language == .chinese ? "\(stream.name) 迟到的行" : "late rows of \(stream.name)"
    }
}
