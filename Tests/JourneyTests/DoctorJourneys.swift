import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillSQL
import TillSQLite

@testable import TillServer
@testable import till

@Suite("till doctor, beside a running server and an emulated store on sockets") struct DoctorJourneys {
    @Test("A healthy shop has no error and no warning but the proxy's, in less than ten seconds")
    func healthy() async throws {
        try await DoctorShop.open { shop in
            let began = ContinuousClock.now
            let found = try await shop.examine()
            #expect(ContinuousClock.now - began < .seconds(10))
            #expect(found.names(.error).isEmpty, "\(found.checks.filter { $0.status == .error })")
            #expect(found.names(.warning) == ["proxy"], "\(found.checks.filter { $0.status == .warning })")
            expect(found, .apiKey, .ok, en: "Sandbox: the emulated store accepts the key.", zh: "接受此密钥")
            expect(found, .clock, .ok, en: "Within", zh: "相差不到")
            expect(found, .notifications, .ok, en: "arrived in this ledger", zh: "已到达此账本")
            expect(found, .server, .ok, en: "ready, version \(Program.version), on this ledger", zh: "已就绪")
            expect(found, .webhooks, .ok, en: "backend: reachable", zh: "backend：可以到达")
            expect(found, .ledgerIdentity, .ok, en: "belongs to \(Shop.bundleID)", zh: "账本属于")
            expect(found, .schema, .ok, en: "as this program needs it", zh: "与此程序一致")
        }
    }

    @Test("As a process it ends with 0 beside a healthy server and with 1 after an error, in both languages")
    func process() async throws {
        try await DoctorShop.open { shop in
            let listen = "127.0.0.1:\(shop.server?.port ?? 0)"
            func run(_ more: [String]) async throws -> (output: String, code: Int32) {
                let process = try TillProcess.start(
                    ["doctor", "--config", shop.configurationFile, "--listen", listen] + more)
                return await process.finish()
            }
            let english = try await run(["--lang", "en"])
            #expect(english.code == 0, "\(english.output)")
            #expect(english.output.contains("ok       api_key          Sandbox: the emulated store accepts the key."))
            let chinese = try await run(["--lang", "zh", "--json"])
            #expect(chinese.output.contains("模拟商店接受此密钥"))
            let checks = try JSONValue(decoding: Array(chinese.output.utf8))["checks"]?.array ?? []
            #expect(checks.allSatisfy { Set(($0.object ?? [:]).keys) == ["name", "status", "detail", "action"] })
            shop.setApple("keyId", "WRONGKEY99")
            try shop.write()
            let wrong = try await run(["--json", "--lang", "en"])
            #expect(wrong.code == 1 && wrong.output.contains("refuses the key (401)"))
        }
    }

    // MARK: Apple

    @Test("A key that Apple does not know is an error that names what to compare; so is one of another file")
    func wrongKey() async throws {
        try await DoctorShop.open { shop in
            shop.setApple("keyId", "WRONGKEY99")
            try shop.write()
            let found = try await shop.examine()
            expect(
                found, .apiKey, .error, en: "Sandbox: the emulated store refuses the key (401).", zh: "拒绝此密钥（401）",
                action: "apple.issuerId")
            expect(found, .notifications, .warning, en: "sent no test notification", zh: "没有发送测试通知")
            expect(found, .clock, .ok, en: "Within", zh: "相差不到")
        }
    }

    @Test("A store that does not answer is an error of the key, and what needs it is not checked")
    func away() async throws {
        try await DoctorShop.open { shop in
            shop.setApple("emulator", "http://127.0.0.1:1")
            try shop.write()
            let found = try await shop.examine()
            expect(found, .apiKey, .error, en: "can't be reached (unreachable", zh: "连接不到", action: "till emulate")
            expect(found, .clock, .warning, en: "not checked", zh: "未检查")
            expect(found, .notifications, .warning, en: "sent no test notification", zh: "没有发送测试通知")
            expect(found, .server, .ok, en: "ready", zh: "已就绪")
        }
    }

    @Test("A frozen job is an error of the server, a flood of refused requests a warning")
    func frozenAndFlooded() async throws {
        try await DoctorShop.open { shop in
            let server = try #require(shop.server).server
            for _ in 0..<150 { server.requestFigures.refused(.tooManyRequests, at: server.monitoring.stopwatch()) }
            let flooded = try await shop.examine()
            expect(flooded, .server, .warning, en: "150 requests were refused", zh: "150 个请求", action: "limit_reached")
            server.jobHistory.succeeded("reminders", at: server.machineClock().adding(seconds: -3_600))
            let frozen = try await shop.examine()
            expect(frozen, .server, .error, en: "too long: reminders", zh: "没有正常结束：reminders", action: "job_failed")
        }
    }

    @Test("A clock that differs by days is an error, which explains the 401 beside it; one by a minute is a warning")
    func clock() async throws {
        try await DoctorShop.open { shop in
            try await shop.advanceClock("90s")
            let minute = try await shop.examine()
            expect(minute, .clock, .warning, en: " s behind that of the emulated store", zh: "慢 ")
            #expect(minute[.apiKey].allSatisfy { $0.status == .ok })
            try await shop.advanceClock("31d")
            let month = try await shop.examine()
            expect(month, .clock, .error, en: "31 d behind", zh: "慢 31 d", action: "follows it")
            expect(month, .clock, .error, en: "Tokens for Apple's API live for 300 s", zh: "有效 300 秒")
            expect(month, .apiKey, .error, en: "(401)", zh: "（401）", action: "First mend the clock")
        }
    }

    @Test("A test notification that does not arrive says where it was lost")
    func notifications() async throws {
        try await DoctorShop.open { shop in
            try await shop.setNotificationURL(nil)
            expect(
                try await shop.examine(), .notifications, .error, en: "no notification URL is set", zh: "没有设置通知 URL",
                action: "/v1/notifications/apple")
            try await shop.setNotificationURL("http://127.0.0.1:1/")
            expect(
                try await shop.examine(), .notifications, .error, en: "Apple could not deliver", zh: "Apple 无法送达",
                action: "17.0.0.0/8")
            try await shop.setNotificationURL(shop.serverURL + "/nowhere")
            expect(
                try await shop.examine(), .notifications, .error, en: "UNSUCCESSFUL_HTTP_RESPONSE_CODE", zh: "应答状态",
                action: "/v1/notifications/apple")
            let other = try Listener(bodyLimit: { _, _ in 1 << 20 }) { _ in HTTPResponse(status: 200) }
            try await shop.setNotificationURL("http://127.0.0.1:\(other.port)/v1/notifications/apple")
            expect(
                try await shop.examine(), .notifications, .error, en: "belongs to another server", zh: "属于另一台服务器")
            await other.stop(grace: 1)
        }
    }

    @Test("A wrong shared secret is found with a receipt of the ledger, and a right one is confirmed (P2)")
    func sharedSecret() async throws {
        try await DoctorShop.open(serves: false) { shop in
            let receipt = try await shop.store.emulator.receipt(bundleID: Shop.bundleID)
            let path = shop.folder.appendingPathComponent("till.db").path
            let ledger = try SQLiteDatabase.open(path: path, role: .server, options: .init(.ledger))
            try await ledger.write { connection in
                let payment = PaidTransaction(
                    id: TransactionID("1"), originalID: TransactionID("1"), productID: ProductID(Shop.points60),
                    quantity: 1, environment: .sandbox, token: nil, purchasedAt: Instant(seconds: 0),
                    signedAt: Instant(seconds: 0), revokedAt: nil, isRenewal: false, isFromReceipt: true, price: nil)
                let row = try TransactionTable(connection).insert(
                    payment, state: .quarantined, quarantine: .unknownToken, orderRowID: nil, at: Instant(seconds: 0))
                try ProofTable(connection).insert(transaction: row, kind: .receipt, body: receipt)
            }
            await ledger.close()
            shop.setApple("sharedSecret", "0123456789abcdef0123456789abcdef")
            try shop.write()
            let found = try await shop.examine()
            #expect(found[.sharedSecret].map(\.status) == [.ok], "the store has no secret: \(found[.sharedSecret])")
        }
    }

    // MARK: Webhooks

    @Test("Each endpoint is tried without an event: away, refused address, broken behind its proxy, disabled")
    func webhooks() async throws {
        try await DoctorShop.open { shop in
            shop.setWebhooks([
                shop.endpoint("away", "/", port: 1), shop.endpoint("broken", "/broken"), shop.endpoint("well", "/"),
                shop.endpoint("plain-tls", "/", scheme: "https"),
            ])
            try shop.write()
            let found = try await shop.examine()
            expect(found, .webhooks, .error, en: "away: nothing listens there", zh: "没有程序监听", action: "three days")
            expect(found, .webhooks, .warning, en: "broken: a proxy answers 503", zh: "代理应答 503")
            expect(found, .webhooks, .ok, en: "well: reachable", zh: "well：可以到达")
            expect(found, .webhooks, .error, en: "plain-tls: its TLS certificate is not accepted", zh: "TLS 证书不被接受")
            shop.setWebhooks([shop.endpoint("inside", "/", scheme: "https")], allowPrivate: false)
            try shop.write()
            expect(
                try await shop.examine(), .webhooks, .error, en: "inside: its address is not allowed", zh: "不允许连接该地址",
                action: "webhooks.allowPrivate")
        }
    }

    @Test("A receiver whose last real event failed, or that answered 410, is named with its reason")
    func failedDeliveries() async throws {
        try await DoctorShop.open(serves: false) { shop in
            let path = shop.folder.appendingPathComponent("till.db").path
            let ledger = try SQLiteDatabase.open(path: path, role: .server, options: .init(.ledger))
            let now = Instant(seconds: Int64(Date().timeIntervalSince1970))
            try await ledger.write { connection in
                let table = WebhookEndpointTable(connection)
                let row = try table.insert("backend", url: "http://127.0.0.1:1/", position: 0, at: now)
                try table.markFailed(row, error: "answered 401: wrong secret", isGone: false, at: now)
            }
            let found = try await shop.examine()
            expect(found, .webhooks, .warning, en: "answered 401: wrong secret", zh: "未被接受", action: "wrong secret")
            try await ledger.write { connection in
                try WebhookEndpointTable(connection).markFailed(1, error: "answered 410", isGone: true, at: now)
            }
            await ledger.close()
            expect(try await shop.examine(), .webhooks, .error, en: "it answered 410", zh: "应答了 410")
        }
    }

    @Test("A TLS certificate that ends soon is a warning, read from the connection to the endpoint")
    func certificateEnd() async throws {
        try await DoctorShop.open { shop in
            let (key, certificate) = (shop.folder.path + "/tls.key", shop.folder.path + "/tls.pem")
            let made = try TillProcess.start(
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "5",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
                    certificate,
                ], executable: "/usr/bin/openssl")
            #expect(await made.finish().code == 0, "\(made.complaints)")
            let receiver = try TillProcess.start(
                ["s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate],
                executable: "/usr/bin/openssl")
            defer { receiver.abandon() }
            // The answer to the first request, whatever it is.
            try receiver.tell("HTTP/1.1 204 No Content\r")
            try receiver.tell("Connection: close\r")
            try receiver.tell("\r")
            var port: UInt16?
            for await line in receiver.lines where line.hasPrefix("ACCEPT") {
                port = line.split(separator: ":").last.flatMap { UInt16($0) }
                break
            }
            shop.setWebhooks([shop.endpoint("soon", "/", port: try #require(port), scheme: "https")])
            try shop.write()
            var effects = Doctor.Effects()
            effects.rootsFile = certificate
            let found = try await shop.examine(effects: effects)
            expect(
                found, .webhooks, .warning, en: "soon: the TLS certificate ends in ", zh: "soon：TLS 证书将在",
                action: "Renew")
        }
    }

    // MARK: The server and its proxy

    @Test("Another program or another ledger's server at the configured address is an error; none is a warning")
    func otherServer() async throws {
        try await DoctorShop.open { shop in
            try await DoctorShop.open { other in
                let found = try await shop.examine(
                    try shop.configuration(listen: "127.0.0.1:\(other.server?.port ?? 1)"))
                expect(
                    found, .server, .error, en: "not for this ledger", zh: "不属于此账本", action: "`database`")
                expect(found, .notifications, .warning, en: "no server of this ledger runs", zh: "服务器没有运行")
            }
            await shop.stop()
            expect(try await shop.examine(), .server, .warning, en: "No server answers", zh: "没有服务器应答")
        }
    }

    @Test("Through the public address the server's own view of Host, client and scheme is examined")
    func proxy() async throws {
        try await DoctorShop.open { shop in
            let (target, fetch) = (shop.serverURL, try Fetch())
            let proxy = try Listener(bodyLimit: { _, _ in 1 << 20 }) { request in
                var headers = HTTPHeaders([("Host", "upstream.internal")])
                for name in ["Till-Doctor"] {
                    if let value = request.headers[name] { headers.add(name, value) }
                }
                let message = HTTPRequest(method: request.method, path: "", headers: headers)
                return (try? await fetch.send(target + request.path, message)) ?? HTTPResponse(status: 502)
            }
            let origin = "http://127.0.0.1:\(proxy.port)"
            let found = try await shop.examine { $0.publicURL = origin }
            expect(found, .proxy, .error, en: "is not https", zh: "不是 https", action: "TLS")
            expect(
                found, .proxy, .error, en: "sends Host upstream.internal", zh: "upstream.internal",
                action: "proxy_set_header Host")
            expect(found, .proxy, .warning, en: "every client's", zh: "所有客户端", action: "trustedProxies")
            await proxy.stop(grace: 1)
            let away = try await shop.examine { $0.publicURL = origin }
            expect(away, .proxy, .error, en: "can't be reached (cannotConnect", zh: "连接不到", action: "DNS")
            let straight = try await shop.examine { $0.publicURL = target }
            #expect(!straight[.proxy].contains { $0.detail.en.contains("Host") }, "\(straight[.proxy])")
            fetch.stop()
        }
    }

    @Test("What a server says to the doctor is not said to others")
    func strangers() async throws {
        try await DoctorShop.open { shop in
            let fetch = try Fetch()
            for value in ["", "a.b", DoctorQuestion.value(nonce: [1], secret: Array(repeating: 0, count: 32))] {
                let request = HTTPRequest(
                    method: .get, path: "", headers: HTTPHeaders([(DoctorQuestion.header, value)]))
                let answer = try await fetch.send(shop.serverURL + "/healthz", request)
                #expect(try JSONValue(decoding: answer.body) == ["status": "ok"])
            }
            fetch.stop()
        }
    }

    // MARK: The ledger's app

    @Test("A server for one app refuses the ledger of another, and takes over a ledger whose purchases are its own")
    func otherApp() async throws {
        try await DoctorShop.open { shop in
            let purchase = try await shop.ask(
                .post, shop.storeURL + "/emulator/purchases",
                ["bundleId": .string(Shop.bundleID), "productId": .string(Shop.points60)])
            try await shop.ask(
                .post, shop.serverURL + "/v1/transactions",
                ["signedTransaction": purchase["signedTransaction"] ?? .null, "userId": "ann"])
            await shop.stop()
            func refusal() async throws -> LocalizedText? {
                do {
                    try await shop.start()
                    await shop.stop()
                    return nil
                } catch let error as CommandError {
                    return error.reasons.first
                }
            }
            // As a ledger from before bundle ids were stored.
            try await forgetApp(shop)
            #expect(try await refusal() == nil, "it is taken over")
            try await forgetApp(shop)
            shop.setApple("bundleId", "com.example.other")
            try shop.write()
            let sampled = try await refusal()
            #expect(
                sampled?.en.contains("belongs to the app \(Shop.bundleID)") == true, "\(String(describing: sampled))")
            #expect(sampled?.zh.contains("属于 App \(Shop.bundleID)") == true)
            expect(
                try await shop.examine(), .ledgerIdentity, .error, en: "belongs to the app \(Shop.bundleID)",
                zh: "属于 App", action: "`till serve` refuses it")
            shop.setApple("bundleId", .string(Shop.bundleID))
            try shop.write()
            #expect(try await refusal() == nil)
            shop.setApple("bundleId", "com.example.other")
            try shop.write()
            #expect(try await refusal()?.en.contains("apple.bundleId is com.example.other") == true, "as stored")
        }
    }

    private func forgetApp(_ shop: DoctorShop) async throws {
        let path = shop.folder.appendingPathComponent("till.db").path
        let ledger = try SQLiteDatabase.open(path: path, role: .server, options: .init(.ledger))
        _ = try await ledger.write { try $0.execute("UPDATE apps SET bundle_id = NULL", []) }
        await ledger.close()
    }
}
