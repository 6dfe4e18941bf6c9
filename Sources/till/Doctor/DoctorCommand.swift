import TillBilling

extension Flag {
    fileprivate static let full = Flag(
        "full",
        summary: LocalizedText(
            en: "look at every row of the ledger, which takes minutes for millions of purchases",
            zh: "检查账本的每一行；数百万笔购买需要数分钟"))
    fileprivate static let publicURL = Flag(
        "public", .text("URL"),
        summary: LocalizedText(
            en: "the server's public address, such as https://till.example.com, to check the proxy in front",
            zh: "服务器的公开地址，如 https://till.example.com，用于检查前面的代理"))
}

extension Command {
    /// `till doctor`: finds what is wrong with an installation, and says what to do.
    static let doctor = Command(
        "doctor",
        summary: LocalizedText(
            en: "check configuration, keys, Apple, ledger, webhooks and server, and say what to do",
            zh: "检查配置、密钥、Apple、账本、webhook 与服务器，并说明如何处理"),
        discussion: LocalizedText(
            en: """
                Works with or without a running server, and never writes to the ledger. It asks Apple, or the configured
                emulator, with the configured key, has Apple send a test notification to the server, and opens a
                connection to each webhook endpoint without sending an event. Ends with 1 if any check is an error.
                --json prints {"checks": [{"name", "status", "detail", "action"}]}; a status is ok, warning or error.
                docs/operations.md describes every check.
                """,
            zh: """
                服务器运行与否均可，从不写入账本。它用所配置的密钥询问 Apple（或所配置的模拟商店），让 Apple 向服务器发送
                一条测试通知，并连接每个 webhook 端点但不发送任何事件。任何一项检查为 error 时以 1 结束。
                --json 输出 {"checks": [{"name", "status", "detail", "action"}]}；status 为 ok、warning 或 error。
                docs/operations.zh-CN.md 说明每一项检查。
                """),
        flags: Configuration.flags + [.full, .publicURL]
    ) { call in
        let checks: [DoctorCheck]
        do {
            let configuration = try Configuration.loadListingProblems(for: call)
            var doctor = try Doctor(configuration, process: call.process)
            doctor.isFull = call.isSet(.full)
            doctor.publicURL = call.text(.publicURL)
            doctor.configurationFile = call.text(.config)
            checks = await doctor.run()
        } catch let error as ConfigurationError {
            checks = ConfigurationChecks.unreadable(error)
        }
        if call.wantsJSON {
            try call.print(DoctorCheck.Document(checks: checks.map { $0.reply(in: call.language) }))
        } else {
            for line in checks.flatMap({ $0.lines(in: call.language) }) { call.console.print(line) }
        }
        return checks.contains { $0.status == .error } ? .refused : .done
    }
}
