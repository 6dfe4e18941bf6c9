import TillBilling
import TillJSON
import TillLedger
import TillSQL
import TillSQLite

extension Flag {
    fileprivate static let keep = Flag(
        "keep", .integer("COUNT", 1...10_000),
        summary: LocalizedText(
            en: "with a directory: keep this many of its backups, and delete older ones",
            zh: "DEST 为目录时：只保留这么多个备份，删除更早的"))
}

extension Command {
    /// `till backup`: a copy of the ledger as it is at one moment.
    static let backup = Command(
        "backup",
        summary: LocalizedText(en: "copy the ledger into a backup, beside a running server", zh: "备份账本，服务器可继续运行"),
        discussion: LocalizedText(
            en: """
                Copies the ledger's file as it is at one moment, reads the copy back, and only then gives it its name.
                The server goes on serving. DEST is a new file, or a directory, where the backup gets the name
                till-20260116T093000Z.db. Only this user can read it.
                A backup is an SQLite file with a label behind its last page. A server refuses to open it: bring it back
                with `till restore`, so that no number of an event is given twice.
                PostgreSQL has its own means: see docs/scaling.md.
                --json prints {"file", "bytes", "sha256", "takenAt", "schemaVersion", "ledgerId", "epoch"}.
                """,
            zh: """
                复制账本文件在某一时刻的内容，重新读取副本核对，之后才给它正式的文件名。服务器照常服务。
                DEST 是一个新文件，或一个目录；为目录时，备份名为 till-20260116T093000Z.db。只有本用户可读。
                备份是一个 SQLite 文件，末页之后附有标签。服务器拒绝直接打开它：请用“till restore”恢复，
                这样事件编号不会被重复使用。
                PostgreSQL 使用自己的备份手段：见 docs/scaling.zh-CN.md。
                --json 输出 {"file", "bytes", "sha256", "takenAt", "schemaVersion", "ledgerId", "epoch"}。
                """),
        flags: Configuration.flags + [.keep],
        positionals: [Positional("DEST", summary: LocalizedText(en: "a new file, or a directory", zh: "新文件或目录"))]
    ) { call in
        let location = try Configuration.ledger(for: call, command: "backup")
        guard let ledger = location.file else {
            throw CommandError(
                LocalizedText(
                    en: "the ledger is on PostgreSQL, which is backed up by its own means: pgBackRest, as "
                        + "docs/scaling.md describes",
                    zh: "账本在 PostgreSQL 上，请用它自己的手段备份：pgBackRest，做法见 docs/scaling.zh-CN.md"))
        }
        let run = BackupRun(ledger: ledger, location: location, call: call)
        let (file, backup) = try await run.make(call.positionals[0])
        do throws(FileError) {
            try BackupNote(file: file, takenAt: backup.takenAt, bytes: backup.bytes).write(ofLedger: ledger)
        } catch {
            // The backup is whole: only its age is unknown to the server and the doctor.
            call.warn(error.sentence)
        }
        try await run.keepErasures(beside: file)
        if let keep = call.integer(.keep) { try run.deleteOlder(beside: file, keeping: Int(keep)) }
        var document = backup.json
        document["file"] = .string(file)
        if call.wantsJSON { call.console.print(JSONValue.object(document).encoded(pretty: true)) }
        call.say(
            LocalizedText(
                en: "\(file): \(backup.bytes) bytes, as of \(backup.takenAt.rfc3339), read back and equal",
                zh: "\(file)：\(backup.bytes) 字节，截至 \(backup.takenAt.rfc3339)，已重新读取并核对"))
        return .done
    }
}

/// One `till backup`.
struct BackupRun: Sendable {
    let ledger: String
    let location: LedgerLocation
    let call: Invocation

    func make(_ destination: String) async throws -> (file: String, backup: BackupFile) {
        let identity = await identity()
        let taken = call.process.clock()
        let target = isDirectory(destination) ? resolve(Self.name(at: taken), from: destination) : destination
        do {
            let file = try NewFile(target)
            var last = -1
            let copied = try SQLiteDatabase.copy(
                ledger, to: file.path, as: SQLiteDatabase.backupApplicationID, options: .init(.served),
                onProgress: { done, pages in
                    let share = pages > 0 ? done * 100 / pages : 100
                    if call.console.drawsProgress, share != last { call.console.draw("\r\u{1B}[K\(share) %") }
                    last = share
                })
            if call.console.drawsProgress { call.console.draw("\r\u{1B}[K") }
            try file.sync()
            var backup = BackupFile(
                takenAt: taken, schemaVersion: copied.schemaVersion, bytes: copied.bytes,
                sha256: try BackupFile.digest(of: file.path, bytes: copied.bytes))
            (backup.ledgerID, backup.epoch) = (identity?.id.description, identity?.epoch)
            try file.appendAtEnd(backup.label)
            // From the disk, not from what the copying left in memory.
            file.forget()
            let damages = try SQLiteDatabase.damages(of: file.path)
            guard damages.isEmpty, try BackupFile.read(file.path) == backup else {
                throw CommandError(
                    LocalizedText(
                        en: "the copy is damaged (\(shown(damages.joined(separator: "; ")))); the ledger may be too: "
                            + "run `till doctor --full`",
                        zh: "副本已损坏（\(shown(damages.joined(separator: "；")))）；账本也可能已损坏：请运行“till doctor --full”"))
            }
            try backup.verify(file.path)
            try file.finish()
            return (target, backup)
        } catch let error as DatabaseError {
            throw location.failure(error)
        } catch let error as FileError {
            throw CommandError(error.sentence)
        } catch is BackupFile.Fault {
            throw CommandError(
                LocalizedText(
                    en: "the disk of \(shown(target)) does not give back what was written to it; use another",
                    zh: "\(shown(target)) 所在的磁盘读出的内容与写入的不同；请换一块磁盘"))
        }
    }

    /// Nil for a ledger of another version than this program's, which can still be copied.
    private func identity() async -> LedgerIdentity? {
        guard let opened = try? location.open(as: .operator, .served).database else { return nil }
        let found = try? await opened.read { try LedgerIdentityTable($0).find() }
        await opened.close()
        return found ?? nil
    }

    /// Adds the ledger's erasures to the list beside its backups: an older backup still has those people.
    func keepErasures(beside file: String) async throws {
        do {
            guard let opened = try? location.open(as: .operator, .served).database else { return }
            var all: [String] = []
            try await Erasures.lines(of: opened) { all += $0 }
            await opened.close()
            guard !all.isEmpty else { return }
            try ErasureListFile(path: ErasureListFile.besideBackup(file)).add(all)
        } catch let error as DatabaseError {
            throw location.failure(error)
        }
    }

    // MARK: A directory of backups

    /// `till-20260116T093000Z.db`: the names sort by time.
    private static func name(at time: Instant) -> String {
        let digits = time.rfc3339.prefix(19).filter { $0 != "-" && $0 != ":" }
        return "till-\(digits)Z.db"
    }

    /// Deletes the oldest backups in the directory of `file`. Files with other names stay.
    func deleteOlder(beside file: String, keeping count: Int) throws {
        let folder = directory(of: file)
        let names = try fileNames(in: folder).filter(Self.isName).sorted()
        for name in names.dropLast(count) {
            removeFile(resolve(name, from: folder))
            call.say(LocalizedText(en: "deleted \(name)", zh: "已删除 \(name)"))
        }
    }

    private static func isName(_ name: String) -> Bool {
        let form = "till-00000000T000000Z.db"
        return name.utf8.count == form.utf8.count
            && zip(name.utf8, form.utf8).allSatisfy { byte, shape in
                shape == UInt8(ascii: "0") ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) : byte == shape
            }
    }
}
