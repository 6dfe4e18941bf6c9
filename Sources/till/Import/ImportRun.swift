import TillAPI
import TillBilling
import TillJSON
import TillLedger

/// One run of `till import` over a file.
struct ImportRun {
    let destination: any ImportDestination
    let format: ImportFormat
    let path: String
    let isDry: Bool
    let call: Invocation
    var questions = ImportPatience()

    /// Bytes of one request or commit.
    private static let batchBytes = 6 << 20
    /// Refusals that a report lists; all of them are printed for people.
    private static let listed = 10_000
    /// Rows that are searched for the members of the format.
    private static let probe = 20

    struct Report {
        var counts = ImportCounts()
        var codes: [String: Int64] = [:]
        var refusals: [ImportOutcomeReply] = []
        var run: LedgerImportReply?
        /// Whether consumables came, and a balance.
        var hasPoints = false
        var hasBalance = false
    }

    func run() async throws -> Report {
        let reader = try ImportFileReader(path)
        let name = String(path.split(separator: "/").last ?? "file")
        var rows = try reader.next(destination.batch, bytes: Self.batchBytes)
        try requireFormat(of: rows, reader)
        var report = Report()
        if !isDry {
            report.run = try await destination.begin(
                ImportedFile(format: format, name: name, sha256: try ImportFileReader.digest(of: path)))
        }
        var progress = ImportProgress(total: fileSize(path) ?? 0, call)
        var seen: [Int: Int] = [:]
        var prepared = isDry ? nil : try await destination.prepare(rows, as: format)
        while !rows.isEmpty {
            let next = try reader.next(destination.batch, bytes: Self.batchBytes)
            var outcomes: [ImportOutcomeReply]
            if let run = report.run, let now = prepared {
                async let following = destination.prepare(next, as: format)
                outcomes = try await answered(try await destination.record(now, into: run), rows, run)
                prepared = try await following
            } else {
                outcomes = try await answered(try await destination.check(rows, as: format), rows, nil)
                outcomes = repeated(outcomes, &seen)
            }
            add(outcomes, rows.count, to: &report)
            rows = next
            progress.show(report.counts, reader.position)
        }
        progress.end()
        if let run = report.run { report.run = try await destination.end(run, report.counts) }
        return report
    }

    /// Sends rows again about which Apple has not answered, until it does.
    private func answered(
        _ outcomes: [ImportOutcomeReply], _ rows: [ImportFileReader.Row], _ run: LedgerImportReply?
    ) async throws -> [ImportOutcomeReply] {
        var (done, waiting) = (outcomes.filter { !$0.isWaiting }, outcomes.filter(\.isWaiting))
        var (pause, answeredAt) = (questions.first, call.process.clock())
        while let one = waiting.first {
            let silence = call.process.clock().milliseconds - answeredAt.milliseconds
            guard !ImportDelay.isFinal(one.code ?? ""), silence < questions.limit else {
                throw ImportPatience.ended(one.sentence)
            }
            if !call.wantsJSON { call.warn(ImportPatience.sentence(waiting.count, one.sentence, pause)) }
            try await Task.sleep(for: .milliseconds(pause))
            let lines = Set(waiting.map(\.line))
            let again = rows.filter { lines.contains($0.entry.line) }
            let ended =
                if let run {
                    try await destination.record(try await destination.prepare(again, as: format), into: run)
                } else {
                    try await destination.check(again, as: format)
                }
            let still = ended.filter(\.isWaiting)
            if still.count < waiting.count {
                (pause, answeredAt) = (questions.first, call.process.clock())
            } else {
                pause = min(pause * 2, questions.longest)
            }
            done += ended.filter { !$0.isWaiting }
            waiting = still
        }
        // A receipt has several outcomes, which stay in their order.
        return done.enumerated().sorted { ($0.element.line, $0.offset) < ($1.element.line, $1.offset) }.map(\.element)
    }

    /// A file of another format is refused before anything is written.
    private func requireFormat(of rows: [ImportFileReader.Row], _ reader: ImportFileReader) throws {
        let found = rows.prefix(Self.probe).contains { row in
            guard case .success(let members) = row.entry.members else { return false }
            return format.members.allSatisfy { $0.contains { members[$0] != nil } }
        }
        guard !found else { return }
        let wanted = format.members.map { $0.joined(separator: " / ") }.joined(separator: ", ")
        throw CommandError(
            LocalizedText(
                en: "\(shown(path)) is not a file of the format \(format.rawValue): its rows need \(wanted). "
                    + "docs/moving.md shows each format",
                zh: "\(shown(path)) 不是 \(format.rawValue) 格式的文件：各行需要 \(wanted)。"
                    + "docs/moving.zh-CN.md 说明了各种格式"))
    }

    /// A dry run records nothing, so it remembers what it has seen: a repeated purchase ends as in a real run.
    private func repeated(_ outcomes: [ImportOutcomeReply], _ seen: inout [Int: Int]) -> [ImportOutcomeReply] {
        outcomes.map { outcome in
            guard outcome.outcome == "imported", let subject = outcome.subject, let user = outcome.userId else {
                return outcome
            }
            let isTransaction = outcome.subject.map { $0.utf8.count > 12 } ?? false
            let key = isTransaction ? subject.hashValue : (subject + "\n" + user).hashValue
            guard let first = seen.updateValue(user.hashValue, forKey: key) else { return outcome }
            seen[key] = first
            guard first != user.hashValue else {
                return ImportOutcomeReply(
                    line: outcome.line, outcome: "unchanged", subject: subject, userId: outcome.userId)
            }
            let why = ImportRefusal.ownedByAnother
            return ImportOutcomeReply(
                line: outcome.line, outcome: "refused", code: why.code, sentence: why.sentence, subject: subject,
                userId: user)
        }
    }

    private func add(_ outcomes: [ImportOutcomeReply], _ rows: Int, to report: inout Report) {
        // A receipt has several outcomes, and is one row.
        var lines: [Int64: Set<String>] = [:]
        for outcome in outcomes {
            lines[outcome.line, default: []].insert(outcome.outcome)
            guard outcome.outcome == "refused" else { continue }
            report.codes[outcome.code ?? "refused", default: 0] += 1
            if report.refusals.count < Self.listed { report.refusals.append(outcome) }
            if !call.wantsJSON, let sentence = outcome.sentence {
                let about = outcome.subject.map { " (\(shown($0)))" } ?? ""
                call.warn(
                    LocalizedText(
                        en: "line \(outcome.line)\(about): \(outcome.code ?? ""): \(sentence.en)",
                        zh: "第 \(outcome.line) 行\(about)：\(outcome.code ?? "")：\(sentence.zh)"))
            }
        }
        for ends in lines.values {
            report.counts.rows += 1
            if ends.contains("imported") {
                report.counts.imported += 1
            } else if ends.contains("refused") {
                report.counts.refused += 1
            } else {
                report.counts.unchanged += 1
            }
        }
    }
}

/// The progress of an import on stderr: a line that is drawn again on a terminal, otherwise one every some seconds.
struct ImportProgress {
    private let total: Int64
    private let call: Invocation
    private let began: Instant
    private var shownAt: Instant

    init(total: Int64, _ call: Invocation) {
        self.total = total
        self.call = call
        began = call.process.clock()
        shownAt = began
    }

    mutating func show(_ counts: ImportCounts, _ position: Int64) {
        let now = call.process.clock()
        let pause: Int64 = call.console.drawsProgress ? 500 : 15_000
        guard now.milliseconds - shownAt.milliseconds >= pause else { return }
        shownAt = now
        let seconds = max(1, (now.milliseconds - began.milliseconds) / 1_000)
        let percent = total > 0 ? min(100, position * 100 / total) : 0
        let text = LocalizedText(
            en: "\(counts.rows) rows, \(percent) %, \(counts.rows / seconds) a second: \(counts.imported) imported, "
                + "\(counts.unchanged) unchanged, \(counts.refused) refused",
            zh: "\(counts.rows) 行，\(percent) %，每秒 \(counts.rows / seconds) 行：导入 \(counts.imported)，"
                + "未变 \(counts.unchanged)，拒绝 \(counts.refused)")(call.language)
        if call.console.drawsProgress {
            call.console.draw("\r\u{1B}[K" + text)
        } else {
            call.console.complain("till: " + text)
        }
    }

    func end() {
        if call.console.drawsProgress { call.console.draw("\r\u{1B}[K") }
    }
}
