import TillAPI
import TillBilling

extension Flag {
    static let dryRun = Flag(
        "dry-run", summary: Text(en: "say what would change, and change nothing", zh: "只说明会改变什么，不作任何更改"))
    static let since = Flag(
        "since", .text("TIME"),
        summary: Text(
            en: "read notifications from then on (2026-03-01T00:00:00Z) and all histories whole",
            zh: "从这一时刻（2026-03-01T00:00:00Z）起读取通知，并完整读取全部历史"))
    static let keyFile = Flag(
        "key-file", .text("FILE"),
        summary: Text(
            en: "holds an operator token or a secret key, to ask a running server with",
            zh: "内含后台令牌或后端密钥，用来请求正在运行的服务器"))
}

extension Command {
    /// `till reconcile`: compares the ledger with Apple's records and processes the differences.
    static let reconcile = Command(
        "reconcile",
        summary: Text(
            en: "compare the ledger with Apple's books and settle what differs", zh: "核对账本与 Apple 的记录，并处理差异"),
        discussion: Text(
            en: """
                Needs the In-App Purchase key in the configuration. While a server runs on the ledger it is asked over
                HTTP, which takes --key-file; what it has begun goes on when this command is ended. Without a server
                the ledger is opened here. Ends with 0 when the books agree: reconciled, or under --dry-run without a
                difference. --json prints {"reconciliation": {…}, "differences": […]}.
                """,
            zh: """
                需要在配置里写出 App 内购买密钥。账本正由服务器使用时，通过 HTTP 请求它（要 --key-file）；
                本命令结束后，已开始的核对仍会继续。没有服务器时直接打开账本。两边一致时以 0 结束：
                核对完成，或 --dry-run 没有发现差异。--json 输出 {"reconciliation": {…}, "differences": […]}。
                """),
        flags: Configuration.flags + [.dryRun, .since, .keyFile]
    ) { call in
        let configuration = try Configuration.load(for: call)
        guard configuration.appleService.key != nil else {
            throw CommandFailure(Refusal.noInAppPurchaseKey.sentence)
        }
        let body = StartReconciliationBody(dryRun: call.isSet(.dryRun), since: try call.moment(.since))
        let result: ReconcileResult
        if let own = try OwnReconciliation(configuration, call) {
            result = try await own.run(body)
        } else {
            result = try await ServerReconciliation(configuration, call).run(body)
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
                Text(
                    en: "--\(flag.name) wants a moment that is past, like 2026-03-01T00:00:00Z, not \"\(shown(text))\"",
                    zh: "--\(flag.name) 要一个过去的时刻，如 2026-03-01T00:00:00Z，而不是“\(shown(text))”"),
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
                Text(
                    en: "\(count("notifications")) notifications and \(count("customers")) customers compared: "
                        + "\(drift) differences, \(differences.count - drift) remarks",
                    zh: "核对了 \(count("notifications")) 条通知、\(count("customers")) 位顾客："
                        + "\(drift) 处差异，\(differences.count - drift) 条备注"))
        }
        guard reconciliation.state == .finished else {
            call.warn(
                Text(
                    en: "not reconciled: \(reconciliation.ending ?? "")", zh: "核对未完成：\(reconciliation.ending ?? "")"))
            return .refused
        }
        guard reconciliation.dryRun, drift > 0 else { return .done }
        call.warn(Text(en: "the books differ; nothing was changed", zh: "两边不一致；未作任何更改"))
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
