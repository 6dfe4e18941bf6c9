import TillAPI
import TillBilling
import TillLedger
import TillSQL

/// The pages of the file, and the rules that every ledger satisfies (`AuditRule`).
struct IntegrityCheck: Sendable {
    let doctor: Doctor
    let ledger: any Database

    /// Up to this size all pages are read by default: some seconds from a disk.
    static let mostBytesByDefault: Int64 = 512 << 20

    func run() async -> [DoctorCheck] {
        let size = doctor.location.file.map { fileSize($0) ?? 0 }
        let readsPages = size.map { doctor.isFull || $0 <= Self.mostBytesByDefault } ?? false
        do {
            var damages: [String] = []
            if readsPages { damages = try await LedgerLocation.damages(of: ledger, isComplete: doctor.isFull) }
            let end = ContinuousClock.now.advanced(by: .milliseconds(doctor.effects.auditPatience))
            let isFull = doctor.isFull
            let report = try await LedgerAudit.run(on: ledger) { isFull || ContinuousClock.now < end }
            guard damages.isEmpty, report.violations.isEmpty else {
                return damaged(damages) + violated(report.violations)
            }
            return [whole(report, pagesOf: readsPages ? size : nil)]
        } catch {
            return [.failed(.integrity, error)]
        }
    }

    private func whole(_ report: LedgerAudit.Report, pagesOf size: Int64?) -> DoctorCheck {
        let pages =
            size.map { LocalizedText(en: "all pages (\(shortSize($0)))", zh: "全部页面（\(shortSize($0))）") }
            ?? (doctor.location.file == nil
                ? LocalizedText(en: "the rules", zh: "规则") : LocalizedText(en: "no pages", zh: "未检查页面"))
        let share = LocalizedText(
            en: report.isComplete ? "all \(report.rows)" : "the newest \(report.rows) of \(report.allRows)",
            zh: report.isComplete ? "全部 \(report.rows)" : "\(report.allRows) 行中最新的 \(report.rows)")
        let more =
            report.isComplete && (size != nil || doctor.location.file == nil)
            ? LocalizedText("")
            : LocalizedText(en: " `till doctor --full` looks at everything.", zh: "`till doctor --full` 会检查全部。")
        return .ok(
            .integrity, en: "Looked at \(pages.en) and \(share.en) rows: no violation.\(more.en)",
            zh: "已检查\(pages.zh)和\(share.zh) 行：没有违反规则。\(more.zh)")
    }

    private func damaged(_ lines: [String]) -> [DoctorCheck] {
        guard !lines.isEmpty else { return [] }
        let list = lines.prefix(5).map { shown($0) }.joined(separator: "; ")
        return [
            .error(
                .integrity,
                LocalizedText(
                    en: "The ledger's file is damaged in \(lines.count) places: \(list)",
                    zh: "账本文件有 \(lines.count) 处损坏：\(list)"),
                do: LocalizedText(
                    en: "Stop the server, keep a copy of the file and its -wal file, restore a backup, and check the "
                        + "disk. Then run `till reconcile`, which brings back what Apple knows.",
                    zh: "请停止服务器，保留该文件及其 -wal 文件的副本，恢复备份，并检查磁盘。"
                        + "然后运行 `till reconcile`，找回 Apple 所知的购买。"))
        ]
    }

    /// One line for each violated rule.
    private func violated(_ violations: [AuditViolation]) -> [DoctorCheck] {
        AuditRule.allCases.compactMap { rule in
            let found = violations.filter { $0.rule == rule }
            guard !found.isEmpty else { return nil }
            let most = found.count >= LedgerAudit.violationLimit ? "+" : ""
            func list(_ language: Language) -> String {
                found.prefix(3).map { shown($0.text[language]) }.joined(separator: "; ")
            }
            return .error(
                .integrity,
                LocalizedText(
                    en: "\(found.count)\(most) violations of \(rule.rawValue) (\(rule.sentence.en)): \(list(.english))",
                    zh: "违反 \(rule.rawValue)（\(rule.sentence.zh)）\(found.count)\(most) 处：\(list(.chinese))"),
                do: LocalizedText(
                    en: "Keep a copy of the ledger and report it: Till never writes such rows. If another program "
                        + "changed the file, restore a backup; otherwise correct single balances with "
                        + "POST \(Paths.corrections).",
                    zh: "请保留账本副本并上报：Till 从不写入这样的行。若是其他程序改动了文件，请恢复备份；"
                        + "否则可用 POST \(Paths.corrections) 更正个别余额。"))
        }
    }
}
