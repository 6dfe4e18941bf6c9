import TillAPI
import TillBilling

extension Flag {
    static let dryRun = Flag(
        "dry-run", summary: LocalizedText(en: "report the differences without changing anything", zh: "只报告差异，不作任何更改"))
    static let since = Flag(
        "since", .text("TIME"),
        summary: LocalizedText(
            en: "read the notifications since this time (2026-03-01T00:00:00Z) and all histories in full",
            zh: "从这一时刻（2026-03-01T00:00:00Z）起读取通知，并完整读取全部历史"))
}

extension Command {
    /// `till reconcile`: compares the ledger with Apple's records and processes the differences.
    static let reconcile = Command(
        "reconcile",
        summary: LocalizedText(
            en: "compare the ledger with Apple's records and correct the differences", zh: "将账本与 Apple 的记录对账，并处理差异"),
        discussion: LocalizedText(
            en: """
                Needs the In-App Purchase key in the configuration. If a server uses the ledger, the command calls
                it over HTTP with --key-file, and the run continues in the server when this command is stopped.
                Without a server, the command opens the ledger itself. Ends with 0 when the records agree:
                reconciled, or no difference in a --dry-run. --json prints {"reconciliation": {…}, "differences": […]}.
                """,
            zh: """
                需要在配置中设置 App 内购买项目密钥。账本正由服务器使用时，通过 HTTP 请求该服务器（需要 --key-file）；
                本命令结束后，已开始的对账仍会继续。没有服务器时直接打开账本。两边一致时以 0 结束：
                对账完成，或 --dry-run 没有发现差异。--json 输出 {"reconciliation": {…}, "differences": […]}。
                """),
        flags: Configuration.flags + [.dryRun, .since, .keyFile]
    ) { call in
        let configuration = try Configuration.load(for: call)
        guard configuration.appleService.key != nil else {
            throw CommandError(Refusal.noInAppPurchaseKey.sentence)
        }
        let body = StartReconciliationBody(dryRun: call.isSet(.dryRun), since: try call.moment(.since))
        let result: ReconcileResult
        if let own = try await LocalReconciliation(configuration, call) {
            result = try await own.run(body)
        } else {
            let server = try ServerClient(configuration, call)
            defer { server.stop() }
            result = try await ServerReconciliation(server, call).run(body)
        }
        return try result.report(call)
    }
}

extension Invocation {
    fileprivate func moment(_ flag: Flag) throws -> Instant? {
        guard let text = text(flag) else { return nil }
        let moment = Instant(rfc3339: text) ?? Instant(rfc3339: text + "T00:00:00Z")
        guard let moment, moment <= process.clock() else {
            throw UsageError(
                LocalizedText(
                    en:
                        "--\(flag.name) must be a past time, like 2026-03-01T00:00:00Z, not \"\(shown(text))\"",
                    zh: "--\(flag.name) 应为过去的时刻，如 2026-03-01T00:00:00Z，实际为“\(shown(text))”"),
                command: "reconcile")
        }
        return moment
    }
}

/// A completed run with all its differences.
struct ReconcileResult: Sendable {
    let reconciliation: ReconciliationReply
    let differences: [DifferenceReply]

    private struct Document: Encodable {
        let reconciliation: ReconciliationReply
        let differences: [DifferenceReply]
    }

    func report(_ call: Invocation) throws -> ExitCode {
        let drift = differences.count { $0.isDrift }
        if call.wantsJSON {
            try call.print(Document(reconciliation: reconciliation, differences: differences))
        } else {
            for difference in differences { call.console.print(difference.line(call.language)) }
            call.say(
                LocalizedText(
                    en: "\(count("notifications")) notifications and \(count("customers")) customers compared: "
                        + "\(drift) differences, \(differences.count - drift) remarks",
                    zh: "核对了 \(count("notifications")) 条通知、\(count("customers")) 位客户："
                        + "\(drift) 处差异，\(differences.count - drift) 条备注"))
        }
        guard reconciliation.state == .finished else {
            call.warn(
                LocalizedText(
                    en: "not reconciled: \(reconciliation.ending ?? "")", zh: "对账未完成：\(reconciliation.ending ?? "")"))
            return .refused
        }
        guard reconciliation.dryRun, drift > 0 else { return .done }
        call.warn(LocalizedText(en: "the records differ; nothing was changed", zh: "两边不一致；未作任何更改"))
        return .refused
    }

    private func count(_ name: String) -> Int64 {
        reconciliation.counts.filter { $0.name == name }.reduce(0) { $0 + $1.count }
    }
}

extension DifferenceReply {
    fileprivate func line(_ language: Language) -> String {
        let subject = transactionId ?? orderId?.description ?? notificationId ?? ""
        let change = [was, now].filter { !$0.isEmpty }.joined(separator: " → ")
        return [kind, environment.rawValue, shown(subject), shown(change), explanation[language]]
            .filter { !$0.isEmpty }.joined(separator: "  ")
    }
}
