import TillAppStore
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

/// All checks of one installation. It reads, and asks over the network with short time limits; it writes nothing.
struct Doctor: Sendable {
    let configuration: Configuration
    let process: ProcessEffects
    /// Looks at every row of the ledger, however long it takes.
    var isFull = false
    var publicURL: String?
    /// Nil if the configuration comes from the environment.
    var configurationFile: String?
    var effects = Effects()
    let fetch: Fetch

    /// What the checks need from the machine. Tests pass their own.
    struct Effects: Sendable {
        var diskSpace: @Sendable (String) -> DiskSpace? = { DiskSpace(at: $0) }
        /// Milliseconds in which Apple's test notification must have arrived.
        var notificationPatience: Int64 = 6_000
        /// Milliseconds for the rows of the ledger, unless all are asked for.
        var auditPatience: Int64 = 3_000
        /// Trusted for TLS instead of the system's roots.
        var rootsFile: String?
    }

    /// - Throws: `CommandError` if no HTTP client can be started.
    init(_ configuration: Configuration, process: ProcessEffects, effects: Effects = Effects()) throws {
        self.configuration = configuration
        self.process = process
        self.effects = effects
        var settings = FetchConfiguration()
        settings.connectTimeout = 3_000
        settings.totalTimeout = 5_000
        settings.responseLimit = 32 << 20
        settings.rootsFile = effects.rootsFile
        settings.readsCertificates = true
        do {
            fetch = try Fetch(configuration: settings)
        } catch {
            throw CommandError(
                LocalizedText(en: "no HTTP client: \(error.detail)", zh: "无法启动 HTTP 客户端：\(error.detail)"))
        }
    }

    var now: Instant { process.clock() }

    var location: LedgerLocation { configuration.database }

    /// Every check, in the order of their names.
    func run() async -> [DoctorCheck] {
        defer { fetch.stop() }
        let settings = ConfigurationChecks(configuration: configuration, now: now)
        let (ledger, opening) = openLedger()
        let probe = AppleProbe(configuration, process: process, send: fetch.send)
        async let apple = AppleChecks(configuration: configuration, probe: probe, ledger: ledger).run()
        async let books = ledgerChecks(ledger)
        async let webhooks = webhookChecks(ledger)
        let server = await ServerChecks(doctor: self, ledger: ledger).run()
        var checks = settings.all + machineChecks() + backupChecks() + opening + databaseServerChecks() + server.checks
        checks += await apple
        checks += await NotificationCheck(
            doctor: self, probe: probe, ledger: ledger, isServerRunning: server.isRunning
        ).run()
        checks += await books
        checks += await webhooks
        await ledger?.close()
        return DoctorCheck.sorted(checks)
    }
}

extension DoctorCheck {
    /// For the checks that read the ledger, when it can't be read.
    static func ledgerMissing(_ name: Name) -> DoctorCheck {
        notChecked(
            name, because: LocalizedText(en: "the ledger can't be read", zh: "账本无法读取"),
            do: LocalizedText(en: "See the checks ledger and schema.", zh: "请看检查项 ledger 与 schema。"))
    }

    /// For a check whose queries failed.
    static func failed(_ name: Name, _ error: any Error) -> DoctorCheck {
        let (kind, detail) = (error as? DatabaseError).map { ($0.kind, $0.detail) } ?? (.other, "\(error)")
        return kind == .corrupt
            ? .error(
                name,
                LocalizedText(en: "The ledger's file is damaged: \(detail)", zh: "账本文件已损坏：\(detail)"),
                do: LocalizedText(
                    en: "Stop the server, keep a copy of the file and its -wal file, and restore a backup.",
                    zh: "请停止服务器，保留该文件及其 -wal 文件的副本，然后恢复备份。"))
            : .notChecked(
                name, because: LocalizedText(en: "the ledger did not answer: \(detail)", zh: "账本没有应答：\(detail)"),
                do: LocalizedText(en: "Run `till doctor` again.", zh: "请再次运行 `till doctor`。"))
    }
}
