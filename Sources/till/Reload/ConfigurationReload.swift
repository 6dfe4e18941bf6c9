import TillBilling
import TillServer

/// What a reload needs from the command that runs the server.
struct ConfigurationReload: Sendable {
    /// Reads the whole configuration again; throws `CommandError` with all its errors.
    let load: @Sendable () throws -> Configuration
    /// Called when a new configuration is in force.
    let apply: @Sendable (Configuration) -> Void
    /// The language of the log's lines.
    let language: Language
}

extension RunningServer {
    /// Reads the configuration again and says what became of it, in the log and in the file beside the ledger.
    func reload(_ reload: ConfigurationReload) async {
        let begun = monotonicNanoseconds()
        var report = await replaceConfiguration(reload)
        report.begunAt = begun
        log(report, in: reload.language)
        state.write(report)
    }

    /// All or nothing: what can fail happens before the server is replaced.
    private func replaceConfiguration(_ reload: ConfigurationReload) async -> ReloadReport {
        let configuration: Configuration
        do {
            configuration = try reload.load()
        } catch let error as CommandError {
            return .refused(error.reasons)
        } catch let error as UsageError {
            return .refused([error.message])
        } catch {
            return .refused([LocalizedText("\(error)")])
        }
        let old = current.withLock { $0 }
        let changes = ConfigurationChanges(from: old.configuration, to: configuration)
        guard changes.needRestart.isEmpty else { return .refused(changes.needRestart.map(ReloadReport.needsRestart)) }
        do {
            let server = try await old.server.changed(to: configuration.server)
            let next = Current(configuration: configuration, server: server, router: server.router)
            current.withLock { $0 = next }
        } catch {
            return .refused([
                LocalizedText(en: "the ledger can't be written: \(error)", zh: "账本无法写入：\(error)")
            ])
        }
        reload.apply(configuration)
        let now = clock()
        let known = Set(old.configuration.warnings(at: now))
        return ReloadReport(
            outcome: changes.applied.isEmpty ? .unchanged : .reloaded, lines: changes.applied,
            warnings: configuration.warnings(at: now).filter { !known.contains($0) })
    }

    private func log(_ report: ReloadReport, in language: Language) {
        let log = server.log
        let lines = report.lines.map { $0(language) }.joined(separator: "; ")
        switch report.outcome {
        case .reloaded, .unchanged: log.write(.reloaded, ["text": .text(lines.isEmpty ? nil : lines)])
        case .refused: log.write(.reloadRefused, ["text": .text(lines)])
        }
        for warning in report.warnings { log.write(.startWarning, ["text": .text(warning(language))]) }
    }
}

extension ReloadReport {
    fileprivate static func needsRestart(_ key: ConfigurationKey) -> LocalizedText {
        LocalizedText(
            en: "\(key.rawValue): needs a restart; nothing was changed", zh: "\(key.rawValue)：需要重启；未作任何更改")
    }
}
