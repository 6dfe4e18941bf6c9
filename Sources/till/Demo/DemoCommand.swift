import TillBilling
import TillHTTP

extension Command {
    private static let demoPort = Flag(
        "port", .integer("N", 0...65_535),
        summary: Text(
            en: "the server's port on 127.0.0.1 (default: 8787, with --once any that is free)",
            zh: "服务器在 127.0.0.1 上的端口（默认 8787；加 --once 时任选空闲端口）"))
    private static let demoOnce = Flag(
        "once", summary: Text(en: "end after the three purchases", zh: "三笔购买之后就结束"))
    private static let demoData = Flag(
        "data", .text("DIR"),
        summary: Text(
            en: "keep ledger, store and devices there (default: gone at the end)",
            zh: "把账本、商店和设备文件存在这里（默认退出后即丢弃）"))

    /// `till demo`: the main features on one screen.
    static let demo = Command(
        "demo",
        summary: Text(
            en: "three purchases against an emulated App Store, then the open shop",
            zh: "对着模拟的 App Store 完成三笔购买，然后开店"),
        discussion: Text(
            en: """
                One buyer buys plainly, one is killed after paying and recovers at relaunch, one brings a forged proof.
                Then the shop with its dashboard stays open until Ctrl-C. With --once it ends after the purchases, with
                0 only if each of them ended as it should.
                """,
            zh: """
                一位买家正常购买；一位付款后 App 被强行终止，重新启动后补单成功；一位拿着伪造的凭证。
                之后商店和后台一直开着，直到 Ctrl-C。加 --once 则购买结束就退出，三笔都如预期才返回 0。
                """),
        flags: [demoPort, demoOnce, demoData]
    ) { call in
        let isOnce = call.isSet(demoOnce)
        let port = UInt16(call.integer(demoPort) ?? (isOnce ? 0 : 8_787))
        _ = try BuyerApp.found()
        let directory = try StoreDirectory(call.text(demoData))
        defer { directory.removeIfTemporary() }
        let untilStopped = call.process.hearStop()
        let shop = try await DemoShop.open(in: directory.path, port: port, process: call.process)
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
                try openDoor()
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
            Text(
                en: "till demo: an emulated App Store (\(shop.storeURL)) and a purchase server (\(shop.serverURL))",
                zh: "till demo：模拟的 App Store（\(shop.storeURL)）和内购服务器（\(shop.serverURL)）"))
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
        call.say(Text(""))
        call.say(
            transcript.passed
                ? Text(en: "Each purchase ended as it should.", zh: "三笔购买都如预期结束。")
                : Text(en: "Not every purchase ended as it should.", zh: "并非每笔购买都如预期结束。"))
    }

    private func openDoor() throws {
        let product = shop.catalog.products[0].id
        let zoe = BuyerApp(
            executable: try BuyerApp.found(), user: UserID("zoe"), token: shop.token(of: UserID("zoe"), hours: 24),
            server: shop.serverURL, store: shop.storeURL, generation: 2,
            directory: resolve("device-zoe", from: directory), language: call.language, inherited: [:])
        let buyer = zoe.commandLine(from: call.process.environment["PWD"])
        call.say(
            Text(
                en: """

                    The shop stays open until Ctrl-C.
                      dashboard       \(shop.dashboard)
                      operator token  \(shop.operatorToken)
                      secret key      \(shop.secretKey)

                    Be a buyer yourself, with the same app as theirs (type help in it; the token is good for a day):
                      \(buyer)

                    Or be the app's backend: open an order, then pay it with its id.
                      curl -s \(shop.serverURL)/v1/orders -H 'Authorization: Bearer \(shop.secretKey)' \\
                        -d '{"userId": "zoe", "productId": "\(product)"}'
                      curl -s \(shop.storeURL)/emulator/purchases \\
                        -d '{"bundleId": "\(DemoShop.bundleID)", "productId": "\(product)",
                             "appAccountToken": "ORDER-ID"}'
                    """,
                zh: """

                    商店一直开着，按 Ctrl-C 结束。
                      后台      \(shop.dashboard)
                      后台令牌  \(shop.operatorToken)
                      后端密钥  \(shop.secretKey)

                    自己当一回买家，用的是和他们一样的 App（进入后输入 help；令牌一天内有效）：
                      \(buyer)

                    或者以 App 后端的身份创建订单，再带着订单号付款。
                      curl -s \(shop.serverURL)/v1/orders -H 'Authorization: Bearer \(shop.secretKey)' \\
                        -d '{"userId": "zoe", "productId": "\(product)"}'
                      curl -s \(shop.storeURL)/emulator/purchases \\
                        -d '{"bundleId": "\(DemoShop.bundleID)", "productId": "\(product)",
                             "appAccountToken": "订单号"}'
                    """))
    }
}
