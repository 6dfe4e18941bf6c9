import TillBilling
import TillJSON
import TillLedger
import TillSQL

extension Flag {
    static let copyTarget = Flag(
        "to", .text("postgres://…|sqlite:PATH"),
        summary: LocalizedText(
            en: "copy the whole ledger into an empty database, verify it, and change nothing in this one",
            zh: "把整个账本复制到空数据库并核对；原账本不变"))
}

/// `till migrate --to`: one copy of a ledger into another database.
struct CopyRun: Sendable {
    let source: LedgerLocation
    let target: LedgerLocation
    let schema: DatabaseSchema
    let call: Invocation

    /// - Parameter text: of `--to`.
    init(from source: LedgerLocation, to text: String, _ schema: DatabaseSchema, _ call: Invocation) throws {
        self.source = source.labelled("till-copy")
        target = try LedgerLocation(text, flag: Flag.copyTarget.name).labelled("till-copy")
        self.schema = schema
        self.call = call
        guard source != target else {
            throw CommandError(
                LocalizedText(en: "--to names the configured ledger itself", zh: "--to 指的就是配置中的账本"))
        }
    }

    func run() async throws {
        let (from, to) = (try await openSource(), try await openTarget())
        let copy = LedgerCopy(
            from: from, to: to, refusesNUL: target.file == nil, isSourceLocked: source.file != nil,
            onProgress: { draw($0) })
        let report: LedgerCopy.Report
        do {
            report = try await copy.run { [target] in try target.continueNumbers(after: $1, $0) }
        } catch {
            await close(from, to)
            switch error {
            case let error as CopyError: throw error.failure(source: source.name, target: target.name)
            case let error as DatabaseError: throw target.failure(error)
            default: throw error
            }
        }
        await close(from, to)
        say(report)
    }

    private func close(_ from: any Database, _ to: any Database) async {
        if call.console.drawsProgress { call.console.draw("\r\u{1B}[K") }
        await from.close()
        await to.close()
    }

    // MARK: Both ends

    /// Opened as a server opens a file, so that none starts meanwhile. The copy only reads.
    private func openSource() async throws -> any Database {
        do {
            guard try source.version(schema) == schema.version else {
                throw CommandError(
                    LocalizedText(
                        en: "the ledger \(source.name) is not up to date; run `till migrate` first",
                        zh: "账本 \(source.name) 的结构不是最新；请先运行“till migrate”"))
            }
            let ledger = try source.open(as: source.file == nil ? .operator : .server, schema).database
            do {
                try await checkSource(ledger)
            } catch {
                await ledger.close()
                throw error
            }
            return ledger
        } catch let error as DatabaseError {
            throw source.failure(error)
        }
    }

    private func checkSource(_ ledger: any Database) async throws {
        guard try await Backfills(ledger, schema).remaining().isEmpty else {
            throw CommandError(
                LocalizedText(
                    en: "a backfill of the ledger \(source.name) is not finished; run `till migrate` first",
                    zh: "账本 \(source.name) 的数据回填尚未完成；请先运行“till migrate”"))
        }
        try await source.requireNoServer(ledger)
        try await source.requireComplete(ledger)
    }

    private func openTarget() async throws -> any Database {
        do {
            try await target.migrate(schema, as: nil, grantingTo: nil)
            return try target.open(as: .server, schema).database
        } catch let error as DatabaseError {
            throw target.failure(error)
        }
    }

    // MARK: Output

    private func draw(_ progress: LedgerCopy.Progress) {
        guard call.console.drawsProgress else { return }
        let text = LocalizedText(
            en: "\(progress.isVerifying ? "verified" : "copying") \(progress.table): \(progress.rows) rows",
            zh: "\(progress.isVerifying ? "已核对" : "正在复制") \(progress.table)：\(progress.rows) 行")
        call.console.draw("\r\u{1B}[K" + text[call.language])
    }

    private func say(_ report: LedgerCopy.Report) {
        if call.wantsJSON {
            let document: JSONValue = [
                "target": .string(target.configured), "tables": .int(Int64(report.tables)), "rows": .int(report.rows),
            ]
            call.console.print(document.encoded(pretty: true))
        }
        call.say(
            LocalizedText(
                en: "copied and verified: \(report.rows) rows of \(report.tables) tables. Set database to "
                    + "\(target.configured) and start the server; never start one on \(source.configured) again",
                zh: "已复制并核对：\(report.tables) 个表共 \(report.rows) 行。请把 database 设为 "
                    + "\(target.configured) 并启动服务器；不要再用 \(source.configured) 启动服务器"))
    }
}

extension CopyError {
    func failure(source: String, target: String) -> CommandError {
        switch self {
        case .targetIsNotEmpty(let table):
            CommandError(
                LocalizedText(
                    en: "the ledger \(target) is not empty: \(table) has rows; name an empty database",
                    zh: "账本 \(target) 不是空的：\(table) 中已有数据；请指明空数据库"))
        case .otherSource:
            CommandError(
                LocalizedText(
                    en: "the ledger \(target) has the beginning of another ledger's copy; name an empty database",
                    zh: "账本 \(target) 中是另一个账本未完成的副本；请指明空数据库"))
        case .textsWithNUL(let rows):
            CommandError(
                reasons: [
                    LocalizedText(
                        en: "PostgreSQL can't store U+0000, which these texts of \(source) contain; correct them "
                            + "there, and run the command again:",
                        zh: "PostgreSQL 无法保存 U+0000，而 \(source) 的以下文本含有它；请先更正，再运行此命令：")
                ] + rows.prefix(20).map { LocalizedText("  " + shown($0)) })
        case .sourceChanged(let table):
            CommandError(
                LocalizedText(
                    en: "\(table) of \(source) changed during the copy: stop every server on it, and copy again into "
                        + "an empty database",
                    zh: "复制期间 \(source) 的 \(table) 发生了变化：请停止使用它的所有服务器，再复制到空数据库"))
        case .differs(let table, let expected, let found):
            CommandError(
                LocalizedText(
                    en: "\(table) of \(target) does not have what was copied (\(found) rows, expected \(expected)); "
                        + "something else changed it. Copy again into an empty database",
                    zh: "\(target) 的 \(table) 与复制的内容不符（\(found) 行，应为 \(expected) 行）；它被其他程序改动。"
                        + "请重新复制到空数据库"))
        case .sumsDiffer(let currency):
            CommandError(
                LocalizedText(
                    en: "the sums of the postings in \(shown(currency)) differ between \(source) and \(target)",
                    zh: "\(source) 与 \(target) 中 \(shown(currency)) 的记账合计不同"))
        }
    }
}

extension LedgerLocation {
    /// Why nothing is served from a copy that is not complete.
    static func halfCopy(_ name: String) -> LocalizedText {
        LocalizedText(
            en: "the ledger \(name) is a copy that is not complete: run the same `till migrate --to` again, which goes "
                + "on where it stopped",
            zh: "账本 \(name) 是未完成的副本：请再次运行同一条“till migrate --to”，它会从中断处继续")
    }

    /// - Throws: `CommandError` for a copy that is not complete.
    func requireComplete(_ ledger: any Database) async throws {
        if try await ledger.read({ try CopyProgressTable($0).source() }) != nil {
            throw CommandError(Self.halfCopy(name))
        }
    }
}
