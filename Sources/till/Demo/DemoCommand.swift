import TillBilling
import TillHTTP

extension Command {
    private static let demoPort = Flag(
        "port", .integer("N", 0...65_535),
        summary: LocalizedText(
            en: "the server's port on 127.0.0.1 (default: 8787; with --once any free port)",
            zh: "服务器在 127.0.0.1 上的端口（默认 8787；加 --once 时任选空闲端口）"))
    private static let demoOnce = Flag(
        "once", summary: LocalizedText(en: "end after the three purchases", zh: "三笔购买之后就结束"))
    private static let demoData = Flag(
        "data", .text("DIR"),
        summary: LocalizedText(
            en: "the directory that keeps ledger, store and devices (default: discarded at the end)",
            zh: "保存账本、商店和设备文件的目录（默认退出后丢弃）"))

    /// `till demo`: the main features on one screen.
    static let demo = Command(
        "demo",
        summary: LocalizedText(
            en: "three purchases against an emulated App Store, then a running shop",
            zh: "在模拟 App Store 中完成三笔购买，然后保持商店运行"),
        discussion: LocalizedText(
            en: """
                One buyer makes a plain purchase, one buyer's app is killed after paying and recovers at relaunch,
                and one submits a forged proof. The shop and its dashboard then run until Ctrl-C. With --once the
                demo ends after the purchases, with 0 only if each of them ended as expected.
                """,
            zh: """
                一位买家正常购买；一位买家的 App 在付款后被强行终止，重新启动后完成补单；一位提交伪造的凭证。
                之后商店和控制台继续运行，直到按下 Ctrl-C。加 --once 则在购买结束后退出，三笔结果都符合预期时返回 0。
                """),
        flags: [demoPort, demoOnce, demoData]
    ) { call in
        let isOnce = call.isSet(demoOnce)
        let port = UInt16(call.integer(demoPort) ?? (isOnce ? 0 : 8_787))
        _ = try BuyerApp.found()
        let directory = try StoreDirectory(call.text(demoData))
        defer { directory.removeIfTemporary() }
        let untilStopped = call.process.waitForStop()
        let shop = try await DemoShop.open(
            in: directory.path, port: port, language: call.language, process: call.process)
        let demo = Demo(shop: shop, directory: directory.path, call: call)
        do {
            let code = try await demo.run(once: isOnce, untilStopped: untilStopped)
            await shop.close()
            return code
        } catch {
            await shop.close()
            throw error
        }
    }
}

/// The demo around its shop: the purchases, and the open shop afterwards.
private struct Demo: Sendable {
    let shop: DemoShop
    let directory: String
    let call: Invocation

    func run(once isOnce: Bool, untilStopped: @escaping @Sendable () async -> Void) async throws -> ExitCode {
        try await withThrowingTaskGroup(of: Void.self) { jobs in
            jobs.addTask { await shop.work() }
            defer { jobs.cancelAll() }
            guard let transcript = try await buy(unless: untilStopped) else { return .refused }
            conclude(transcript)
            if !isOnce {
                try printInstructions()
                await untilStopped()
            }
            return transcript.passed ? .done : .refused
        }
    }

    /// The purchases; nil if they were interrupted.
    private func buy(unless untilStopped: @escaping @Sendable () async -> Void) async throws -> Transcript? {
        try await withThrowingTaskGroup(of: Transcript?.self) { group in
            group.addTask { try await buy() }
            group.addTask {
                await untilStopped()
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    private func buy() async throws -> Transcript {
        call.say(
            LocalizedText(
                en: "till demo: an emulated App Store (\(shop.storeURL)) and a purchase server (\(shop.serverURL))",
                zh: "till demo：模拟 App Store（\(shop.storeURL)）和内购服务器（\(shop.serverURL)）"))
        let fetch = try Fetch()
        defer { fetch.stop() }
        let transcript = Transcript(call)
        let run = DemoRun(
            shop: shop, directory: directory, fetch: fetch, transcript: transcript, language: call.language,
            process: call.process)
        try await run.run()
        return transcript
    }

    private func conclude(_ transcript: Transcript) {
        if call.wantsJSON { call.console.print(transcript.json(of: shop).encoded(pretty: true)) }
        for failure in transcript.failures { call.warn(failure) }
        call.say(LocalizedText(""))
        call.say(
            transcript.passed
                ? LocalizedText(en: "Each purchase ended as expected.", zh: "三笔购买的结果都符合预期。")
                : LocalizedText(en: "Not every purchase ended as expected.", zh: "有购买的结果不符合预期。"))
    }

    private func printInstructions() throws {
        let product = shop.catalog.products[0].id
        let zoe = BuyerApp(
            executable: try BuyerApp.found(), user: UserID("zoe"), token: shop.token(of: UserID("zoe"), hours: 24),
            server: shop.serverURL, store: shop.storeURL, generation: 2,
            directory: resolve("device-zoe", from: directory), language: call.language, inherited: [:])
        let buyer = zoe.commandLine(from: call.process.environment["PWD"])
        call.say(
            LocalizedText(
                en: """

                    The shop runs until Ctrl-C.
                      dashboard       \(shop.dashboard)
                      operator token  \(shop.operatorToken)
                      secret key      \(shop.secretKey)

                    To buy something yourself, start the same app (type help in it; the token is valid for one day):
                      \(buyer)

                    To act as the app's backend, open an order, then pay it with its id:
                      curl -s \(shop.serverURL)/v1/orders -H 'Authorization: Bearer \(shop.secretKey)' \\
                        -d '{"userId": "zoe", "productId": "\(product)"}'
                      curl -s \(shop.storeURL)/emulator/purchases \\
                        -d '{"bundleId": "\(DemoShop.bundleID)", "productId": "\(product)",
                             "appAccountToken": "ORDER-ID"}'
                    """,
                zh: """

                    商店持续运行，按 Ctrl-C 结束。
                      控制台    \(shop.dashboard)
                      运营令牌  \(shop.operatorToken)
                      后端密钥  \(shop.secretKey)

                    如需亲自购买，请启动同一个 App（进入后输入 help；令牌一天内有效）：
                      \(buyer)

                    如需以 App 后端的身份操作，请先创建订单，再用订单号付款：
                      curl -s \(shop.serverURL)/v1/orders -H 'Authorization: Bearer \(shop.secretKey)' \\
                        -d '{"userId": "zoe", "productId": "\(product)"}'
                      curl -s \(shop.storeURL)/emulator/purchases \\
                        -d '{"bundleId": "\(DemoShop.bundleID)", "productId": "\(product)",
                             "appAccountToken": "订单号"}'
                    """))
    }
}
