import TillBilling
import TillLedger
import TillServer

extension Flag {
    static let log = Flag(
        "log", .choice(LogFormat.allCases.map(\.rawValue)),
        summary: LocalizedText(
            en: "form of the log on stderr (default: text on a terminal, json otherwise)",
            zh: "标准错误输出中日志的格式（默认：终端上为 text，否则为 json）"))
}

/// The log of `till serve` on stderr.
struct ServerLog: Sendable {
    let format: LogFormat
    private let writer: LogWriter

    var log: Log { writer.log }

    /// - Throws: `CommandError` if no thread can be started.
    init(_ call: Invocation) throws {
        format = call.text(.log).flatMap(LogFormat.init) ?? (call.console.drawsProgress ? .text : .json)
        let console = call.console
        guard
            let writer = LogWriter(
                format, level: .info, clock: call.process.clock,
                output: { console.draw(String(decoding: $0, as: UTF8.self)) })
        else {
            throw CommandError(LocalizedText(en: "the log's thread can't be started", zh: "无法启动日志线程"))
        }
        self.writer = writer
    }

    /// The least level that is written. It may be changed at any time.
    func setLevel(_ level: Log.Level) { writer.level = level }

    /// Writes what is left. Returns after two seconds even if the reader of stderr takes nothing.
    func end() { writer.stop() }

    /// Writes why the server can't start.
    func startFailed(_ reasons: [LocalizedText], in language: Language) {
        log.write(.startFailed, ["text": .text(reasons.map { $0(language) }.joined(separator: "; "))])
    }
}

extension Configuration {
    /// The configuration in one line, without secrets.
    var logFields: Log.Fields {
        func list(_ names: [String]) -> Log.Field { .text(names.isEmpty ? nil : names.joined(separator: ",")) }
        return [
            "version": .text(BuildIdentity.current.name), "listen": .text(listen.description),
            "database": .text(database.configured),
            "bundleId": .text(apple.bundleID), "environments": list(apple.environments.map(\.rawValue).sorted()),
            "appleKeyId": .text(appleService.key?.keyID), "hasSharedSecret": .bool(appleService.sharedSecret != nil),
            "asksEmulator": .bool(appleService.asksEmulator), "revocation": .text(appleService.revocation.rawValue),
            "products": .integer(catalog.products.count), "secretKeys": list(secretKeys.map(\.id)),
            "userTokens": list(userTokens.map(\.id)), "operators": list(operators.map(\.id)),
            "webhooks": list(webhooks.endpoints.map(\.id)), "delivery": .text(delivery.order.rawValue),
            "logLevel": .text(logLevel.rawValue),
        ]
    }
}
