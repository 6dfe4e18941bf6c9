import TillAPI
import TillBilling
import TillJSON
import TillLedger

extension Flag {
    fileprivate static let format = Flag(
        "format", .choice(ImportFormat.allCases.map(\.rawValue)),
        summary: LocalizedText(en: "the format of the file", zh: "文件的格式"))
    fileprivate static let verify = Flag(
        "verify", .choice(ImportVerification.allCases.map(\.rawValue)),
        summary: LocalizedText(
            en: "ask Apple about rows without a signature before they are recorded, or later, which is the default",
            zh: "何时向 Apple 查询没有签名的行：first 为记录之前，later 为之后（默认）"))
    fileprivate static let rollback = Flag(
        "rollback", .text("ID"),
        summary: LocalizedText(en: "undo an import instead", zh: "改为撤销一次导入"))
    fileprivate static let force = Flag(
        "force",
        summary: LocalizedText(
            en: "with --rollback: also what was spent, renewed or changed since",
            zh: "与 --rollback 一起：也撤销此后已花费、续订或变化的内容"))
    fileprivate static let list = Flag(
        "list", summary: LocalizedText(en: "list the imports instead", zh: "改为列出各次导入"))
}

extension Command {
    /// `till import`: a shop moves in.
    static let importing = Command(
        "import",
        summary: LocalizedText(
            en: "import purchases of another system, or undo an import", zh: "导入其他系统的购买，或撤销一次导入"),
        discussion: LocalizedText(
            en: """
                Reads a file of orders, signed transactions, receipts or a RevenueCat export, row by row
                (docs/moving.md). Each row ends as imported, unchanged (the ledger has it, for the same user) or refused
                with its line, a code and what to do. Imported rows cause no webhooks, no events and no reminders.
                The same file again changes nothing, also after an import that was cut off. Begin with --dry-run.
                With --verify first, Apple is asked about each row without a signed transaction, and what Apple does
                not know is refused. It answers some fifty questions a second: a million rows take six hours.
                If a server uses the ledger, the command calls it over HTTP with --key-file (a secret key).
                --json prints {"rows", "imported", "refused", "unchanged", "importId", "refusals", "refusalCodes"}.
                """,
            zh: """
                逐行读取订单表、签名交易、收据或 RevenueCat 导出文件（docs/moving.zh-CN.md）。每一行的结果为：
                已导入、未变（账本中已有，且属于同一用户），或被拒（附行号、代码与处理办法）。
                导入的行不产生 webhook、事件和提醒。再次导入同一文件不会有任何变化，中断后也一样。请先用 --dry-run。
                使用 --verify first 时，会先就每一个没有签名交易的行向 Apple 查询，Apple 没有的会被拒绝。
                Apple 每秒约回答五十次：一百万行需要六小时。
                账本正由服务器使用时，通过 HTTP 请求该服务器（需要 --key-file，内含后端密钥）。
                --json 输出 {"rows", "imported", "refused", "unchanged", "importId", "refusals", "refusalCodes"}。
                """),
        flags: [.config, .database, .listen, .format, .verify, .dryRun, .rollback, .force, .list, .keyFile],
        positionals: [
            Positional("FILE", .optional, summary: LocalizedText(en: "the file to import", zh: "要导入的文件"))
        ]
    ) { call in
        let configuration = try Configuration.load(for: call)
        let verify = call.text(.verify).flatMap(ImportVerification.init(rawValue:)) ?? .later
        if let own = try await OwnLedger(configuration, call, for: "till import", asksApple: verify == .first) {
            return try await own.use { try await ImportWork(LocalImport($0.ledger, verify: verify), call).run() }
        }
        let client = try ServerClient(configuration, call)
        defer { client.stop() }
        return try await ImportWork(ServerImport(client: client, verify: verify), call).run()
    }
}

/// What the command line asks for.
private struct ImportWork {
    private let destination: any ImportDestination
    private let call: Invocation

    init(_ destination: any ImportDestination, _ call: Invocation) {
        self.destination = destination
        self.call = call
    }

    func run() async throws -> ExitCode {
        if call.isSet(.list) { return try await list() }
        if let id = call.text(.rollback) { return try await undo(id) }
        guard let path = call.positionals.first else {
            throw UsageError(
                LocalizedText(
                    en: "name the FILE to import, or --list or --rollback", zh: "请写明要导入的文件，或 --list、--rollback"),
                command: "import")
        }
        guard let format = call.text(.format).flatMap(ImportFormat.init(rawValue:)) else {
            let names = ImportFormat.allCases.map(\.rawValue)
            throw UsageError(
                LocalizedText(
                    en: "--format says what the file is: \(names.joined(separator: ", "))",
                    zh: "请用 --format 写明文件的格式：\(names.joined(separator: "、"))"),
                command: "import")
        }
        let run = ImportRun(
            destination: destination, format: format, path: path, isDry: call.isSet(.dryRun), call: call)
        say(try await run.run(), format)
        return .done
    }

    private func say(_ report: ImportRun.Report, _ format: ImportFormat) {
        let (counts, isDry) = (report.counts, report.run == nil)
        if call.wantsJSON {
            var members: [String: JSONValue] = [
                "rows": .int(counts.rows), "imported": .int(counts.imported), "refused": .int(counts.refused),
                "unchanged": .int(counts.unchanged), "dryRun": .bool(isDry),
                "refusalCodes": .object(report.codes.mapValues { .int($0) }),
                "refusals": .array(report.refusals.map { $0.json(call.language) }),
            ]
            if let run = report.run { members["importId"] = .string(run.id) }
            return call.console.print(JSONValue.object(members).encoded())
        }
        call.say(
            LocalizedText(
                en: "\(counts.rows) rows: \(counts.imported) \(isDry ? "would be imported" : "imported"), "
                    + "\(counts.unchanged) unchanged, \(counts.refused) refused",
                zh: "\(counts.rows) 行：\(isDry ? "将导入" : "已导入") \(counts.imported)，未变 \(counts.unchanged)，"
                    + "拒绝 \(counts.refused)"))
        if let run = report.run {
            call.say(
                LocalizedText(
                    en: "import \(run.id); undo it with: till import --rollback \(run.id)",
                    zh: "导入编号 \(run.id)；撤销：till import --rollback \(run.id)"))
        } else if format != .till || counts.imported > 0 {
            call.say(
                LocalizedText(
                    en: "consumables give all their points, spent or not: state what is left with a row of the kind "
                        + "\"balance\" for each wallet, in a file of the format till",
                    zh: "消耗型商品会给予全部点数，无论是否已花费：请在 till 格式的文件中，用 kind 为 \"balance\" 的行写明每个钱包的余额"))
        }
    }

    // MARK: Undoing

    private func undo(_ id: String) async throws -> ExitCode {
        var (undone, kept) = (Int64(0), [UndoImportReply.Kept]())
        var body = UndoImportBody(force: call.isSet(.force), dryRun: call.isSet(.dryRun))
        var customers: Set<String> = []
        while true {
            let reply = try await destination.undo(id, body)
            undone += reply.undone
            for one in reply.kept {
                customers.insert(one.userId)
                if kept.count < 10_000 { kept.append(one) }
                if !call.wantsJSON {
                    call.warn(
                        LocalizedText(
                            en: "kept: user \(shown(one.userId)), line \(one.line), \(shown(one.subject)): "
                                + one.reason,
                            zh: "保留：用户 \(shown(one.userId))，第 \(one.line) 行，\(shown(one.subject))：\(one.reason)"))
                }
            }
            guard let next = reply.next else { break }
            body.after = next
        }
        let isDry = call.isSet(.dryRun)
        if call.wantsJSON {
            let entries = kept.map { one -> JSONValue in
                [
                    "userId": .string(one.userId), "line": .int(one.line), "subject": .string(one.subject),
                    "reason": .string(one.reason),
                ]
            }
            call.console.print(
                JSONValue.object([
                    "importId": .string(id), "undone": .int(undone), "keptCustomers": .int(Int64(customers.count)),
                    "kept": .array(entries), "dryRun": .bool(isDry),
                ]).encoded())
        } else {
            call.say(
                LocalizedText(
                    en: "\(undone) purchases, balances and tokens \(isDry ? "would be" : "were") undone; "
                        + "\(customers.count) customers keep theirs",
                    zh: "\(isDry ? "将撤销" : "已撤销") \(undone) 项购买、余额与令牌；\(customers.count) 位客户的内容保留"))
        }
        return .done
    }

    // MARK: The list

    private func list() async throws -> ExitCode {
        let imports = try await destination.list()
        if call.wantsJSON {
            try call.print(imports)
        } else if imports.isEmpty {
            call.say(LocalizedText(en: "no imports", zh: "没有导入"))
        }
        for one in imports {
            let end =
                one.undoneAt.map { LocalizedText(en: "undone \($0.rfc3339)", zh: "于 \($0.rfc3339) 撤销") }
                ?? (one.endedAt == nil
                    ? LocalizedText(en: "cut off: import the file again", zh: "中断：请再次导入该文件")
                    : LocalizedText(en: "finished", zh: "已完成"))
            call.say(
                LocalizedText(
                    en: "\(one.id) \(one.beganAt.rfc3339) \(shown(one.name)) (\(one.format)) by \(one.caller): "
                        + "\(one.imported) imported, \(one.refused) refused; \(end.en)",
                    zh: "\(one.id) \(one.beganAt.rfc3339) \(shown(one.name))（\(one.format)），\(one.caller)："
                        + "导入 \(one.imported)，拒绝 \(one.refused)；\(end.zh)"))
        }
        return .done
    }
}

extension ImportOutcomeReply {
    fileprivate func json(_ language: Language) -> JSONValue {
        var members: [String: JSONValue] = ["line": .int(line), "code": .string(code ?? "refused")]
        if let sentence { members["sentence"] = .string(sentence(language)) }
        if let subject { members["subject"] = .string(subject) }
        return .object(members)
    }
}
