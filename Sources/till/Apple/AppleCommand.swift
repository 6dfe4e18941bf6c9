import TillAppStore
import TillBilling
import TillJSON

extension Flag {
    fileprivate static let environment = Flag(
        "environment", .choice(["production", "sandbox"]),
        summary: LocalizedText(
            en: "the environment to query (default: production, then the sandbox, if the configuration accepts them)",
            zh: "要查询的环境（默认先生产、后沙盒，仅限配置接受的环境）"))
    fileprivate static let days = Flag(
        "days", .integer("N", 1...180),
        summary: LocalizedText(en: "the number of past days of notifications (default: 1)", zh: "查询最近多少天的通知（默认 1）"))
    fileprivate static let onlyFailures = Flag(
        "only-failures",
        summary: LocalizedText(en: "only notifications that did not reach this server", zh: "只列出未送达本服务器的通知"))
}

extension Command {
    /// `till apple`: sends by hand the requests that the server sends to Apple by itself.
    static let apple = Command(
        "apple",
        summary: LocalizedText(
            en: "query the App Store Server API: a transaction, a history, an order number",
            zh: "查询 App Store Server API：交易、历史、订单号"),
        discussion: LocalizedText(
            en: """
                Needs the In-App Purchase key in the configuration: apple.issuerId, apple.keyId, apple.privateKeyFile.
                Every proof in a response is verified like one that a client posts. A query grants nothing.

                """ + AppleRequestKind.allCases.map { $0.line(.english) }.joined(separator: "\n"),
            zh: """
                需要在配置中设置 App 内购买项目密钥：apple.issuerId、apple.keyId、apple.privateKeyFile。
                应答中的每个凭证都按客户端提交的凭证同样验证。查询不会发放任何内容。

                """ + AppleRequestKind.allCases.map { $0.line(.chinese) }.joined(separator: "\n")),
        flags: Configuration.flags + [.environment, .days, .onlyFailures],
        positionals: [
            Positional("QUESTION", summary: LocalizedText(en: "the query, from the list below", zh: "查询类型，见下面的列表")),
            Positional(
                "ARGUMENT", .any, summary: LocalizedText(en: "the transaction id or order number", zh: "交易号或订单号")),
        ]
    ) { call in
        let asking = try await AppleCommandRun(call)
        defer { asking.stop() }
        let report: AppleReport
        do {
            report = try await asking.report()
        } catch let error as ServerAPIError {
            if call.wantsJSON { call.console.print(error.json.encoded()) }
            throw CommandError(error.sentence)
        }
        if call.wantsJSON {
            call.console.print(report.json.encoded())
        } else {
            call.console.print(report.lines(call.language).joined(separator: "\n"))
        }
        if report.isGenuine { return .done }
        call.warn(
            LocalizedText(
                en: "the response contains a proof that Apple did not sign or that belongs to another app",
                zh: "应答中有凭证不是 Apple 签发的，或不属于本应用"))
        return .refused
    }
}

/// One call of `till apple`: its question and the client that it uses.
struct AppleCommandRun: Sendable {
    private let client: AppleClient
    private let followed: FollowedClock?
    private let kind: AppleRequestKind
    private let arguments: [String]
    private let api: ServerAPI
    private let environment: StoreEnvironment?
    private let usual: StoreEnvironment
    private let span: (days: Int64, onlyFailures: Bool)
    private let policy: InspectionPolicy
    private let now: @Sendable () -> Instant

    init(_ call: Invocation) async throws {
        let name = call.positionals.first ?? ""
        guard let kind = AppleRequestKind(rawValue: name) else {
            let known = AppleRequestKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError(
                LocalizedText(
                    en: "there is no query \"\(shown(name))\"; the queries are \(known)",
                    zh: "没有“\(shown(name))”这种查询；可用的有：\(known)"),
                suggestion: nearestName(to: name, among: AppleRequestKind.allCases.map(\.rawValue)), command: "apple")
        }
        arguments = Array(call.positionals.dropFirst())
        guard arguments.count == kind.arguments.count else {
            let wanted = ([name] + kind.arguments).joined(separator: " ")
            throw UsageError(
                LocalizedText(en: "usage: till apple \(wanted)", zh: "用法：till apple \(wanted)"), command: "apple")
        }
        let configuration = try Configuration.load(for: call)
        self.kind = kind
        environment = call.text(.environment).map { $0 == "production" ? .production : .sandbox }
        usual = environment ?? configuration.server.usualEnvironment
        span = (call.integer(.days) ?? 1, call.isSet(.onlyFailures))
        let followed = try FollowedClock(configuration, process: call.process)
        self.followed = followed
        client = try AppleClient(configuration, process: call.process, following: followed?.clock)
        now = client.effects.clock
        var policy = InspectionPolicy(now: client.effects.clock)
        policy.roots = configuration.apple.roots
        policy.bundleID = configuration.apple.bundleID
        policy.appAppleID = configuration.apple.appAppleID
        self.policy = policy
        guard let api = client.api else {
            throw CommandError(
                LocalizedText(
                    en: "the configuration has no In-App Purchase key: set apple.issuerId, apple.keyId and "
                        + "apple.privateKeyFile (App Store Connect, Users and Access, Integrations)",
                    zh: "配置中没有 App 内购买项目密钥：请设置 apple.issuerId、apple.keyId 和 apple.privateKeyFile"
                        + "（App Store Connect → 用户和访问 → 集成）"))
        }
        self.api = api
        if let fault = await followed?.clock.read() { call.warn(fault) }
    }

    func stop() {
        client.stop()
        followed?.stop()
    }

    private var id: TransactionID { TransactionID(arguments.first ?? "") }

    func report() async throws -> AppleReport {
        var report = AppleReport(kind: kind)
        func take(_ jws: [String], from environment: StoreEnvironment) {
            report.environment = environment
            var policy = policy
            policy.environment = environment.rawValue
            report.proofs += jws.map { ($0, ProofInspection.inspect(Array($0.utf8), policy: policy)) }
        }
        switch kind {
        case .transaction:
            let answer = try await api.transactionInfo(id, in: environment)
            take([answer.value.jws], from: answer.environment)
        case .appTransaction:
            let answer = try await api.appTransactionInfo(of: id, in: environment)
            take([answer.value.jws], from: answer.environment)
        case .history:
            for try await page in api.historyPages(of: id, in: environment) {
                take(page.value.transactions.map(\.jws), from: page.environment)
                report.members["revision"] = page.value.revision.map(JSONValue.string)
            }
        case .refunds:
            for try await page in api.refundPages(of: id, in: environment) {
                take(page.value.transactions.map(\.jws), from: page.environment)
            }
        case .subscriptions:
            let answer = try await api.subscriptionStatuses(of: id, in: environment)
            let subscriptions = answer.value.groups.flatMap(\.subscriptions)
            report.members["statuses"] = .array(
                subscriptions.map { .int(Int64($0.status?.rawValue ?? 0)) })
            take(
                subscriptions.flatMap { [$0.transaction?.jws, $0.renewalInfo?.jws].compactMap { $0 } },
                from: answer.environment)
        case .order:
            let answer = try await api.lookUpOrder(arguments[0])
            report.members["status"] = .int(answer.status.rawValue)
            take(answer.transactions.map(\.jws), from: api.orderLookupEnvironment ?? .production)
        case .notifications:
            let query = NotificationQuery(
                from: now().adding(seconds: -span.days * 86_400 + 60), to: now(), onlyFailures: span.onlyFailures)
            for try await page in api.notificationPages(query, in: usual, retrying: .brief) {
                take(page.value.notifications.map(\.notification.jws), from: page.environment)
            }
        case .testNotification:
            let sent = try await testNotification()
            report.members["attempts"] = .array(
                sent.attempts.map { .string($0.result?.rawValue ?? "") })
            take([sent.notification.jws], from: usual)
        case .finish:
            report.environment = try await api.finish(id, in: environment)
        case .setToken:
            guard let token = UniqueID(arguments[1]) else {
                throw CommandError(
                    LocalizedText(en: "\(shown(arguments[1])) is not a UUID", zh: "\(shown(arguments[1])) 不是 UUID"))
            }
            try await api.setAppAccountToken(token, on: id, in: usual)
            report.environment = usual
        }
        return report
    }

    /// Apple needs some seconds to send the notification, and answers 4040008 until then (facts/server-api §3).
    private func testNotification() async throws -> SentNotification {
        let token = try await api.requestTestNotification(in: usual)
        for pause: Int64 in [1_000, 2_000, 4_000, 8_000] {
            await client.effects.pause(pause)
            do throws(ServerAPIError) {
                let sent = try await api.testNotificationStatus(of: token, in: usual)
                if !sent.attempts.isEmpty { return sent }
            } catch {
                guard error.code == .testNotificationNotFound else { throw error }
            }
        }
        throw CommandError(
            LocalizedText(
                en: "Apple hasn't sent the test notification \(shown(token)) after 15 seconds",
                zh: "15 秒后 Apple 仍未发送测试通知 \(shown(token))"))
    }
}

extension ServerAPIError {
    /// For programs: the error, and whether a retry may succeed.
    fileprivate var json: JSONValue {
        var object: [String: JSONValue] = ["retryable": .bool(isRetryable), "error": .string(sentence(.english))]
        if let code { object["errorCode"] = .int(Int64(code.rawValue)) }
        if let name = code?.name { object["name"] = .string(name) }
        if let instant = retryAfter { object["retryAfter"] = .string(instant.rfc3339) }
        return .object(object)
    }
}
