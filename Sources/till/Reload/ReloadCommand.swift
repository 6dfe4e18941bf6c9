import TillBilling
import TillJSON

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension Command {
    /// `till reload`: has the running server read its configuration again.
    static let reload = Command(
        "reload",
        summary: LocalizedText(
            en: "have the running server read its configuration again", zh: "让正在运行的服务器重新读取配置"),
        discussion: LocalizedText(
            en: """
                Sends SIGHUP to the server that uses the ledger, waits for its answer and prints it. Run it on the
                server's machine, as the server's user or as root. The server reads the file, the variables and the
                flags that it was started with. It takes over everything or nothing: after an error, or after a
                change that needs a restart, it goes on with the old configuration. Ends with 0 when the server runs
                what the file says, with 1 when it refuses. --json prints {"outcome": "reloaded", "unchanged" or
                "refused", "lines": [what changed, or the reasons], "warnings": […]}.
                """,
            zh: """
                向使用该账本的服务器发送 SIGHUP，等待并打印它的答复。请在服务器所在的机器上，以服务器的用户或 root 运行。
                服务器重新读取启动时所用的文件、变量和选项，要么全部采用，要么什么都不变：
                有错误，或有需要重启的更改时，继续使用旧配置。服务器已按文件运行时以 0 结束，拒绝时以 1 结束。
                --json 输出 {"outcome": "reloaded"、"unchanged" 或 "refused", "lines": [更改内容或原因], "warnings": […]}。
                """),
        flags: [.config, .database]
    ) { call in
        guard let base = try Configuration.statePath(for: call) else { throw ReloadReport.noState }
        let report = try await RunningProcess(ofLedger: base).reload()
        if call.wantsJSON {
            let value: JSONValue = [
                "outcome": .string(report.outcome.rawValue),
                "lines": .array(report.lines.map { .string($0[call.language]) }),
                "warnings": .array(report.warnings.map { .string($0[call.language]) }),
            ]
            call.console.print(value.encoded(pretty: true))
        }
        for warning in report.warnings where !call.wantsJSON {
            call.warn(LocalizedText(en: "warning: \(warning.en)", zh: "警告：\(warning.zh)"))
        }
        guard report.outcome != .refused else {
            throw CommandError(reasons: [ReloadReport.refusal] + report.lines)
        }
        for line in report.announcement { call.say(line) }
        return .done
    }
}

extension ReloadReport {
    static let refusal = LocalizedText(
        en: "the server refuses the new configuration and keeps the old one:", zh: "服务器拒绝新配置，继续使用旧配置：")

    /// For a server that leaves no file on its machine.
    static let noState = CommandError(
        LocalizedText(
            en: "the ledger is on PostgreSQL, and without database.statePath a server leaves nothing by which it is "
                + "found: set it, or send SIGHUP to the server's process (systemctl reload) and read its log",
            zh: "账本在 PostgreSQL 上，没有 database.statePath 时无法找到服务器：请设置它，"
                + "或向服务器进程发送 SIGHUP（systemctl reload）并查看其日志"))

    /// What is said after a reload that was not refused.
    var announcement: [LocalizedText] {
        outcome == .unchanged
            ? [LocalizedText(en: "Nothing has changed.", zh: "没有更改。")]
            : [LocalizedText(en: "Reloaded:", zh: "已重新载入：")]
                + lines.map { LocalizedText(en: "  \($0.en)", zh: "  \($0.zh)") }
    }
}

extension Configuration {
    /// The ledger that a command's configuration names. The rest of the configuration may be invalid: the server says
    /// what is wrong with it.
    ///
    /// - Throws: `CommandError` if the file can't be read, `UsageError` if there is neither a file nor a variable.
    static func ledger(for call: Invocation, command: String = "reload") throws -> LedgerLocation {
        var flags: [ConfigurationKey: String] = [:]
        flags[.database] = call.text(.database)
        guard call.isSet(.config) || call.isSet(.database) || call.process.environment["TILL_DATABASE"] != nil else {
            throw UsageError(
                LocalizedText(en: "--config is missing", zh: "缺少 --config"), command: command)
        }
        var reader = ConfigurationReader(
            ConfigurationSources(file: call.text(.config), environment: call.process.environment, flags: flags))
        guard let database = reader.readDatabase() else { throw ConfigurationError(problems: reader.problems).failure }
        return database
    }

    /// Beside which path the running server keeps its state; nil if it keeps none.
    static func statePath(for call: Invocation) throws -> String? { try ledger(for: call).stateBase }
}

/// The server that uses a ledger, found by the ledger's lock.
struct RunningProcess {
    private let ledger: String

    init(ofLedger path: String) { ledger = path }

    /// Milliseconds until a server that does not answer is given up.
    private static let patience = 60_000
    private static let step = 20

    /// - Throws: `CommandError` if there is no server, it belongs to another user, or it does not answer.
    func reload() async throws -> ReloadReport {
        var process = try find()
        let begun = monotonicNanoseconds()
        guard kill(process, SIGHUP) == 0 else { throw Self.failure(errno, process) }
        for _ in 0..<(Self.patience / Self.step) {
            try await Task.sleep(for: .milliseconds(Self.step))
            // An earlier reload may still be under way: only one that began after the signal counts.
            if let report = ServerState.read(besideLedger: ledger)?.reload, report.begunAt >= begun { return report }
            if isServing(process) { continue }
            if let next = try? find(), next != process {
                // Another process has taken over, and may not know of the signal.
                process = next
                guard kill(process, SIGHUP) == 0 else { throw Self.failure(errno, process) }
            } else if kill(process, 0) != 0 {
                throw CommandError(
                    LocalizedText(en: "the server ended before it answered", zh: "服务器在答复之前已结束"))
            }
        }
        throw CommandError(
            LocalizedText(
                en: "process \(process) did not answer within a minute; its log says whether it reloaded",
                zh: "进程 \(process) 一分钟内没有答复；是否已重新载入，请查看它的日志"))
    }

    /// The process of the server. SIGHUP ends a process that does not expect it, so this one must have announced itself
    /// and hold the ledger's lock.
    private func find() throws -> Int32 {
        guard let state = ServerState.read(besideLedger: ledger), isServing(state.process) else {
            if let state = ServerState.read(besideLedger: ledger), kill(state.process, 0) != 0, errno == EPERM {
                throw Self.failure(EPERM, state.process)
            }
            throw CommandError(
                LocalizedText(
                    en: "no running server uses the ledger \(shown(ledger)), or it runs as another user or in another "
                        + "container",
                    zh: "没有正在运行的服务器使用账本 \(shown(ledger))；或者它以其他用户运行，或在另一个容器中"))
        }
        return state.process
    }

    /// Whether the process is the one that locked the ledger: its id stands in the lock's file, and it has that file
    /// open. So a number that meanwhile belongs to another program is found out.
    private func isServing(_ process: Int32) -> Bool {
        let lock = ledger + "-lock"
        guard process > 0, let bytes = try? readFile(lock, limit: 64),
            Int32(String(decoding: bytes.filter { $0 > 0x20 }, as: UTF8.self)) == process
        else { return false }
        #if os(Linux)
            var wanted = stat()
            guard stat(lock, &wanted) == 0, let folder = opendir("/proc/\(process)/fd") else { return false }
            defer { closedir(folder) }
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                var found = stat()
                if stat("/proc/\(process)/fd/\(name)", &found) == 0, found.st_ino == wanted.st_ino,
                    found.st_dev == wanted.st_dev
                {
                    return true
                }
            }
            return false
        #else
            return kill(process, 0) == 0
        #endif
    }

    private static func failure(_ number: Int32, _ process: Int32) -> CommandError {
        number == EPERM
            ? CommandError(
                LocalizedText(
                    en: "process \(process) belongs to another user; run the command as that user or as root",
                    zh: "进程 \(process) 属于其他用户；请以该用户或 root 运行此命令"))
            : CommandError(LocalizedText(en: "process \(process) has ended", zh: "进程 \(process) 已结束"))
    }
}
