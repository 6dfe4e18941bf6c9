import TillBilling
import TillLedger
import TillSQL

/// The newest seals of the ledger. `till audit` computes all of them again.
extension Doctor {
    /// How often, and how many milliseconds apart, the check looks whether a server seals the newest rows.
    private static let sealLooks = (count: 8, pause: 250)

    func sealChecks(_ ledger: any Database) async -> [DoctorCheck] {
        guard let key = configuration.sealKey else {
            let detail = LocalizedText(
                en: "There is no key of seals, so a change behind the server is not found.",
                zh: "没有封印的密钥，因此无法发现绕过服务器的改动。")
            guard configuration.apple.environments.contains(.production) else {
                return [.ok(.seals, en: detail.en, zh: detail.zh)]
            }
            return [
                .warning(
                    .seals, detail,
                    do: LocalizedText(
                        en: "Set `seals.keyFile` (docs/seals.md).", zh: "请设置 `seals.keyFile`（docs/seals.zh-CN.md）。"))
            ]
        }
        do {
            guard let identity = try await ledger.read({ try LedgerIdentityTable($0).find() }) else {
                return [.ok(.seals, en: "No server has used the ledger yet.", zh: "尚无服务器使用过此账本。")]
            }
            let audit = SealAudit(ledger, key: key, ledger: identity.id)
            let ends = try await audit.ends()
            for _ in 0..<Self.sealLooks.count where !(try await audit.hasSealed(ends)) {
                try await Task.sleep(for: .milliseconds(Self.sealLooks.pause))
            }
            let violations = try await audit.newestViolations()
            guard violations.isEmpty else {
                return [
                    .error(
                        .seals, violations[0].text,
                        do: LocalizedText(
                            en: "Keep a copy of the ledger, and run `till audit` (docs/seals.md).",
                            zh: "请保留账本副本，并运行 `till audit`（docs/seals.zh-CN.md）。"))
                ]
            }
            guard try await audit.hasSealed(ends) else {
                return [
                    .warning(
                        .seals,
                        LocalizedText(
                            en: "Rows wait for their seal for more than two seconds.", zh: "有行等待封印超过两秒。"),
                        do: LocalizedText(
                            en: "Start the server; if it runs, look for `job_failed` with the job seals in its log.",
                            zh: "请启动服务器；若已在运行，请在日志中查找任务 seals 的 `job_failed`。"))
                ]
            }
            return [.ok(.seals, en: "Every row is sealed.", zh: "每一行都已封印。")]
        } catch {
            return [.failed(.seals, error)]
        }
    }
}
