import TillBilling

extension Flag {
    static let config = Flag(
        "config", .text("FILE"),
        summary: Text(en: "the configuration (`till init` writes one)", zh: "配置文件（“till init” 会写一份）"))
    static let listen = Flag(
        "listen", .text("ADDRESS:PORT"),
        summary: Text(en: "listen there instead of where the configuration says", zh: "监听这个地址，而不是配置里的"))
    static let database = Flag(
        "database", .text("sqlite:PATH"),
        summary: Text(en: "use this database instead of the configured one", zh: "用这个数据库，而不是配置里的"))
    static let unsafeHTTP = Flag(
        "unsafe-http",
        summary: Text(
            en: "serve with any libmicrohttpd, behind a proxy that refuses ambiguous requests",
            zh: "允许任意版本的 libmicrohttpd；前面须有拒绝歧义请求的代理"))
}

extension Configuration {
    /// The flags of every command that needs a configuration.
    static let flags: [Flag] = [.config, .listen, .database]

    /// Reads the configuration that a call names with these flags, or that its environment holds.
    ///
    /// - Throws: `UsageError` if there is neither a file nor any `TILL_…` variable; `CommandFailure` with everything
    ///   that is wrong.
    static func load(for call: Invocation) throws -> Configuration {
        let variables = ConfigurationKey.allCases.flatMap { [$0.variable, $0.variable + "_FILE"] }
        let file = call.text(.config)
        guard file != nil || variables.contains(where: { call.process.environment[$0] != nil }) else {
            throw UsageError(
                Text(
                    en: "--config is missing (`till init` writes a configuration)",
                    zh: "缺少 --config（“till init” 会写一份配置）"))
        }
        var flags: [ConfigurationKey: String] = [:]
        flags[.listen] = call.text(.listen)
        flags[.database] = call.text(.database)
        if call.isSet(.unsafeHTTP) { flags[.unsafeHTTP] = "true" }
        do throws(ConfigurationRefusal) {
            return try load(file: file, environment: call.process.environment, flags: flags)
        } catch {
            throw error.failure
        }
    }
}
