import TillBilling
import TillJSON
import TillLedger
import TillSQL
import TillSQLite

extension Flag {
    fileprivate static let restoreTarget = Flag(
        "to", .text("FILE"),
        summary: LocalizedText(en: "the new file of the ledger", zh: "账本的新文件"))
    fileprivate static let recovered = Flag(
        "recovered",
        summary: LocalizedText(
            en: "PostgreSQL: finish the restore of the configured ledger, which its own tools brought back",
            zh: "PostgreSQL：所配置的账本已由其自身工具恢复，完成剩余步骤"))
}

extension Command {
    /// `till restore`: a ledger from a backup.
    static let restore = Command(
        "restore",
        summary: LocalizedText(en: "make a ledger from a backup", zh: "从备份恢复账本"),
        discussion: LocalizedText(
            en: """
                Checks the backup, copies it to a new file, and begins a new epoch of the ledger: cursors of the event
                feed from before are refused, every later event states the epoch, and the event ledger.restored comes
                first. People on the lists of erasures (erasure.list, and erasures.jsonl beside the backup) are erased
                again, for which --config is needed. SOURCE is a backup of `till backup`, or a ledger's file that
                Litestream restored. A file that was copied in part is refused.
                Then start the server. It compares the ledger with Apple at once; `till recover` waits for that, and
                brings back what Apple does not know (docs/backup.md).
                On PostgreSQL: restore the database with its own tools, and run `till restore --recovered` before a
                server starts.
                --json prints {"file", "epoch", "takenAt", "restoredAt", "schemaVersion", "erased"}.
                """,
            zh: """
                检查备份，复制到新文件，并开始账本的新纪元：之前的事件游标会被拒绝，此后的每个事件都注明纪元，
                第一个事件是 ledger.restored。抹除清单（erasure.list，以及备份旁的 erasures.jsonl）上的人会再次抹除，
                此时需要 --config。SOURCE 是“till backup”的备份，或 Litestream 恢复出的账本文件。
                只复制了一部分的文件会被拒绝。
                然后启动服务器：它会立即与 Apple 对账；“till recover”等待对账结束，并找回 Apple 不知道的部分
                （docs/backup.zh-CN.md）。
                在 PostgreSQL 上：先用其自身工具恢复数据库，再在启动服务器之前运行“till restore --recovered”。
                --json 输出 {"file", "epoch", "takenAt", "restoredAt", "schemaVersion", "erased"}。
                """),
        flags: Configuration.flags + [.restoreTarget, .recovered],
        positionals: [
            Positional("SOURCE", .optional, summary: LocalizedText(en: "the backup", zh: "备份文件"))
        ]
    ) { call in
        let done: RestoreRun.Done
        let configuration = call.text(.config) == nil ? nil : try Configuration.load(for: call)
        let run = RestoreRun(call: call, erasure: configuration?.erasure, sealKey: configuration?.sealKey)
        switch (call.positionals.first, call.text(.restoreTarget), call.isSet(.recovered)) {
        case (let source?, let target?, false):
            done = try await run.restore(source, to: RestoreRun.path(target))
        case (nil, nil, true):
            done = try await run.finish(
                try Configuration.ledger(for: call, command: "restore"), erasing: try run.erasures(beside: nil))
        default:
            throw UsageError(
                LocalizedText(
                    en: "give a backup and --to with a new file, or only --recovered for PostgreSQL",
                    zh: "请给出备份和 --to 新文件；在 PostgreSQL 上只给 --recovered"), command: "restore")
        }
        done.report(call)
        if configuration == nil { call.warn(RestoreRun.otherLists) }
        return .done
    }
}

/// One `till restore`.
struct RestoreRun: Sendable {
    let call: Invocation
    /// How people are erased again; nil without a configuration that says it.
    let erasure: ErasureSettings?
    /// The key of the ledger's seals; nil without such a configuration.
    let sealKey: SealKey?

    struct Done: Sendable {
        let place: String
        let restore: LedgerRestoreTable.Restore
        /// Customers that were erased after the backup, and are again.
        let erased: Int64
    }

    /// The lines of every list of erasures: the configured one, and the one beside the backup.
    ///
    /// - Throws: `CommandError` if there is a list, and no key to find the people on it.
    fileprivate func erasures(beside source: String?) throws -> [String] {
        let beside = source.map(ErasureListFile.besideBackup)
        let lists = [erasure?.list, beside].compactMap { $0 }
        var lines: [String] = []
        do throws(FileError) {
            for path in lists { lines += try ErasureListFile(path: path).lines() }
        } catch {
            throw CommandError(error.sentence)
        }
        guard erasure != nil || lines.isEmpty else {
            throw CommandError(
                LocalizedText(
                    en: "\(shown(beside ?? "")) lists people who were erased: give --config with the key in "
                        + "\"erasure\", so that they are erased again",
                    zh: "\(shown(beside ?? "")) 中列有已抹除的人：请用 --config 给出含 \"erasure\" 密钥的配置，以便再次抹除"))
        }
        return lines
    }

    /// Without a configuration, its list of erasures is unknown.
    fileprivate static let otherLists = LocalizedText(
        en: "without --config, the list of erasures that your configuration may name (erasure.list) was not read. If "
            + "there is one, run `till erase --replay` with it before the server starts: the people on it are in this "
            + "ledger again",
        zh: "没有 --config 时，不会读取您的配置中可能写有的抹除清单（erasure.list）。如果有这份清单，请在启动服务器之前"
            + "用它运行“till erase --replay”：清单上的人又在这个账本里了")

    /// Without `sqlite:`, as configurations write a file.
    static func path(_ text: String) -> String {
        let prefix = "sqlite:"
        return text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
    }

    /// - Parameters:
    ///   - source: a backup, or a ledger's file.
    ///   - target: does not exist yet.
    func restore(_ source: String, to target: String) async throws -> Done {
        do {
            try requireNoRemains(of: target)
            let erasures = try erasures(beside: source)
            let backup = try BackupFile.read(source)
            let file = try NewFile(target)
            if let backup {
                try backup.verify(source) { try file.append($0) }
                try file.sync()
            } else {
                _ = try SQLiteDatabase.copy(
                    source, to: file.path, as: DatabaseSchema.served.applicationID, options: .init(.served))
            }
            let damages = try SQLiteDatabase.damages(of: file.path)
            guard damages.isEmpty else { throw BackupFile.Fault.damaged }
            try SQLiteDatabase.mark(file.path, as: DatabaseSchema.served.applicationID)
            let done = try await finish(.sqlite(path: file.path), takenAt: backup?.takenAt, erasing: erasures)
            for ending in ["-lock", "-wal", "-shm"] { removeFile(file.path + ending) }
            try file.finish()
            return Done(place: target, restore: done.restore, erased: done.erased)
        } catch let error as DatabaseError {
            throw LedgerLocation.sqlite(path: source).failure(error)
        } catch let error as FileError {
            throw CommandError(error.sentence)
        } catch let fault as BackupFile.Fault {
            throw CommandError(fault.sentence(source))
        }
    }

    /// SQLite would apply the log of another file to this one.
    private func requireNoRemains(of target: String) throws {
        for ending in ["", "-wal", "-shm", "-journal"] where fileExists(target + ending) {
            throw CommandError(
                LocalizedText(
                    en:
                        "\(shown(target + ending)) exists: first move \(shown(target)) and its -wal and -shm files "
                        + "away; they may hold what the backup lacks",
                    zh: "\(shown(target + ending)) 已存在：请先移走 \(shown(target)) 及其 -wal、-shm 文件；"
                        + "其中可能有备份里没有的内容"))
        }
    }

    /// Begins the ledger's next epoch, while no server uses it.
    ///
    /// - Parameter lines: of the people who were erased after the backup.
    func finish(
        _ location: LedgerLocation, takenAt: Instant? = nil, erasing lines: [String]
    ) async throws -> Done {
        let labelled = location.labelled("till-restore")
        do {
            let ledger = try labelled.open(as: .server, .served).database
            do {
                try await labelled.requireNoServer(ledger)
                if let sealKey { ledger.markCommits(sealKey.commitMark) }
                let restore = try await LedgerRestore(ledger).finish(
                    takenAt: takenAt, at: call.process.clock(), entropy: call.process.entropy)
                var erased: Int64 = 0
                if let erasure {
                    let erasures = Erasures(ledger, key: erasure.key, sealKey: sealKey)
                    erased = try await erasures.replay(lines, at: call.process.clock()).erased
                }
                await ledger.close()
                return Done(place: location.configured, restore: restore, erased: erased)
            } catch {
                await ledger.close()
                throw error
            }
        } catch let error as DatabaseError {
            throw location.failure(error)
        }
    }
}

extension RestoreRun.Done {
    fileprivate func report(_ call: Invocation) {
        if call.wantsJSON {
            let document: JSONValue = [
                "file": .string(place), "epoch": .int(restore.epoch), "takenAt": .string(restore.takenAt.rfc3339),
                "restoredAt": .string(restore.restoredAt.rfc3339),
                "schemaVersion": .int(Int64(DatabaseSchema.served.version)), "erased": .int(erased),
            ]
            call.console.print(document.encoded(pretty: true))
        }
        if erased > 0 {
            call.say(LocalizedText(en: "erased again: \(erased) customers", zh: "再次抹除：\(erased) 位客户"))
        }
        call.say(
            LocalizedText(
                en: "\(place) is the ledger as of \(restore.takenAt.rfc3339), in epoch \(restore.epoch). Start the "
                    + "server on it, then run `till recover`: what happened since is to be brought back",
                zh: "\(place) 是截至 \(restore.takenAt.rfc3339) 的账本，纪元 \(restore.epoch)。请用它启动服务器，"
                    + "然后运行“till recover”：此后发生的事需要找回"))
    }
}

extension BackupFile.Fault {
    fileprivate func sentence(_ path: String) -> LocalizedText {
        switch self {
        case .noDatabase:
            LocalizedText(
                en: "\(shown(path)) is no backup: it is not an SQLite file", zh: "\(shown(path)) 不是备份：它不是 SQLite 文件")
        case .halfCopy:
            LocalizedText(
                en: "\(shown(path)) is a part of a backup: its end is missing; copy it again, or take another backup",
                zh: "\(shown(path)) 只是备份的一部分：末尾缺失；请重新复制，或换一个备份")
        case .damaged:
            LocalizedText(
                en:
                    "\(shown(path)) is damaged: its contents are not what was backed up; copy it again, or take "
                    + "another backup",
                zh: "\(shown(path)) 已损坏：内容与备份时不符；请重新复制，或换一个备份")
        }
    }
}
