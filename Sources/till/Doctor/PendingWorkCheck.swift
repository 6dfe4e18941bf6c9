import TillAPI
import TillBilling
import TillLedger
import TillSQL

extension Doctor {
    /// The queues of the ledger, with the limits of `PendingWork.Queue`.
    func pendingWork(_ connection: any Connection) throws -> [DoctorCheck] {
        let endpoints = configuration.webhooks.endpoints.filter { !$0.isDisabled }.map(\.id)
        let queues = try PendingWork.list(endpoints: endpoints, at: now, connection)
        let found = queues.compactMap(finding)
        guard found.isEmpty else { return found }
        let count = queues.reduce(0) { $0 + $1.count }
        return [
            .ok(
                .pendingWork, en: "\(count) entries wait in \(queues.count) queues, none for too long.",
                zh: "\(queues.count) 个队列中有 \(count) 项等待，均未超时。")
        ]
    }

    /// Nil if the queue needs no attention.
    private func finding(_ work: PendingWork) -> DoctorCheck? {
        let (age, limits) = (work.age(at: now), work.queue.limits)
        let endpoint = work.endpoint.map { " (\(shown($0)))" } ?? ""
        let (english, chinese) = (work.queue.name.en + endpoint, work.queue.name.zh + endpoint)
        var (en, zh): ([String], [String]) = ([], [])
        if age > limits.warning {
            en.append("\(work.count) \(english), the oldest for \(shortDuration(seconds: age))")
            zh.append("\(chinese)有 \(work.count) 项，最早的已等待 \(shortDuration(seconds: age))")
        }
        if work.failing > 0 {
            en.append("\(work.failing) \(english) have failed \(PendingWork.failingAttempts) times or more")
            zh.append("\(chinese)中有 \(work.failing) 项已失败 \(PendingWork.failingAttempts) 次以上")
        }
        if work.givenUp > 0 {
            en.append("\(work.givenUp) \(english) were given up")
            zh.append("\(chinese)中有 \(work.givenUp) 项已放弃")
        }
        guard !en.isEmpty else { return nil }
        let detail = LocalizedText(en: en.joined(separator: "; ") + ".", zh: zh.joined(separator: "；") + "。")
        let action = Self.cure(work.queue)
        return age > limits.error
            ? .error(.pendingWork, detail, do: action) : .warning(.pendingWork, detail, do: action)
    }

    private static func cure(_ queue: PendingWork.Queue) -> LocalizedText {
        switch queue {
        case .appleTasks, .waitingReceipts, .claims, .refundAnswers:
            LocalizedText(
                en: "See the checks api_key, clock and server; the server asks again once Apple answers.",
                zh: "请看检查项 api_key、clock 与 server；Apple 恢复应答后，服务器会再次询问。")
        case .notifications, .savedProofs, .reminders, .events:
            LocalizedText(
                en: "See the checks server and disk; a running server does this within a minute, and its log names "
                    + "the job that fails.",
                zh: "请看检查项 server 与 disk；运行中的服务器会在一分钟内处理，失败的任务会写入其日志。")
        case .webhooks:
            LocalizedText(
                en: "See the check webhooks. After the receiver is mended, replay what was given up: "
                    + "POST \(Paths.webhookReplays).",
                zh: "请看检查项 webhooks。接收方修复后，请重发已放弃的事件：POST \(Paths.webhookReplays)。")
        }
    }
}
