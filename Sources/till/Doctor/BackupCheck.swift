import TillBilling

extension Doctor {
    /// In seconds: a nightly backup that is late by two hours.
    private static let oldBackup: Int64 = 26 * 3_600

    /// When `till backup` last copied the ledger. A copy by other means is unknown here.
    func backupChecks() -> [DoctorCheck] {
        guard let ledger = location.file else {
            return [
                .ok(
                    .backup, en: "PostgreSQL is backed up by its own means (docs/scaling.md).",
                    zh: "PostgreSQL 使用自己的备份手段（docs/scaling.zh-CN.md）。")
            ]
        }
        guard let note = BackupNote(ofLedger: ledger) else {
            let detail = LocalizedText(en: "`till backup` was never run here.", zh: "这里从未运行过“till backup”。")
            guard configuration.apple.environments.contains(.production) else {
                return [.ok(.backup, en: detail.en, zh: detail.zh)]
            }
            return [.warning(.backup, detail, do: Self.makeBackup)]
        }
        let age = max(0, now.seconds - note.takenAt.seconds)
        let detail = LocalizedText(
            en: "The last backup is \(age / 3_600) hours old: \(shown(note.file)), \(shortSize(note.bytes)).",
            zh: "最近一次备份在 \(age / 3_600) 小时之前：\(shown(note.file))，\(shortSize(note.bytes))。")
        guard age <= Self.oldBackup else { return [.warning(.backup, detail, do: Self.makeBackup)] }
        return [.ok(.backup, en: detail.en, zh: detail.zh)]
    }

    private static let makeBackup = LocalizedText(
        en: "Run `till backup` every night, and copy the ledger continuously (docs/backup.md).",
        zh: "请每晚运行“till backup”，并持续复制账本（docs/backup.zh-CN.md）。")
}
