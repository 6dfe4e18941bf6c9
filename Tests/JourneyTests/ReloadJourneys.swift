import Foundation
import Glibc
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillThreads

/// The running server takes over a changed configuration (issue 20).
@Suite("Change without a restart, as a process") struct ReloadJourneys {
    // MARK: Helpers

    /// What a client saw while the configuration changed.
    private final class Load: Sendable {
        private let state = Locked((sent: 0, failures: [String](), prices: Set<Int64>(), isOver: false))

        var sent: Int { state.withLock { $0.sent } }
        var failures: [String] { state.withLock { $0.failures } }
        var prices: Set<Int64> { state.withLock { $0.prices } }
        var isOver: Bool { state.withLock { $0.isOver } }
        func end() { state.withLock { $0.isOver = true } }

        func add(_ reply: Reply?) {
            state.withLock { state in
                state.sent += 1
                if let price = reply?["price"].at("amount").int { state.prices.insert(price) }
                if reply?.status != 201 {
                    state.failures.append("\(reply?.status ?? 0) \(reply?["detail"].text ?? "")")
                }
            }
        }

        /// Waits for further requests, so that a change has an effect on some.
        func more(_ count: Int = 40) async throws {
            let wanted = sent + count
            for _ in 0..<4_000 where sent < wanted { try await Task.sleep(for: .milliseconds(5)) }
            try #require(sent >= wanted)
        }
    }

    /// Opens orders over several connections while `body` runs.
    private func underLoad(
        _ files: ServerProcess, _ port: UInt16, as party: @escaping @Sendable () -> Party,
        _ body: (Load) async throws -> Void
    ) async throws -> Load {
        let load = Load()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<8 {
                group.addTask {
                    while !load.isOver {
                        load.add(
                            try? await files.send(
                                port, .post, "/v1/orders",
                                ["productId": .string(Shop.points60), "userId": .string("u\(client)")], as: party()))
                    }
                }
            }
            defer { load.end() }
            try await load.more()
            try await body(load)
            try await load.more()
        }
        return load
    }

    private func till(_ files: ServerProcess, _ arguments: String..., language: String = "en") async throws -> (
        output: String, errors: String, code: Int32
    ) {
        let process = try TillProcess.start(arguments + ["--config", files.configurationFile, "--lang", language])
        let (output, code) = await process.finish()
        return (output, process.complaints, code)
    }

    private func catalog(_ price: Int, _ points: Int = 60) -> String {
        """
        {"products": [{"id": "\(Shop.points60)", "type": "Consumable", "names": {"en": "60 points", "zh": "60 学点"},
          "price": {"amount": \(price), "currency": "CNY"}, "points": {"points": \(points)}}]}
        """
    }

    private func write(_ files: ServerProcess, _ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: files.folder.appendingPathComponent(name), options: .atomic)
    }

    private func restrict(_ files: ServerProcess) throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: files.configurationFile)
    }

    private func stop(_ process: TillProcess) async {
        process.send(SIGTERM)
        #expect(await process.end() == 0, "\(process.complaints)")
    }

    // MARK: Prices

    @Test("A price changes under load: no request fails, and an open order keeps the price that its buyer saw")
    func priceUnderLoad() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            let opened = try await files.send(
                port, .post, "/v1/orders", ["productId": .string(Shop.points60)], as: .user("early"))
            let load = try await underLoad(files, port, as: { .backend }) { load in
                try write(files, "catalog.json", catalog(1_200))
                let reload = try await till(files, "reload")
                #expect(reload.code == 0, "\(reload.errors)")
                #expect(reload.output.contains("catalog: \(Shop.points60): price 600 CNY → 1200 CNY"))
                try await load.more()
                try write(files, "catalog.json", catalog(1_800))
                process.send(SIGHUP)
                for _ in 0..<1_000 where !load.prices.contains(1_800) { try await Task.sleep(for: .milliseconds(5)) }
            }
            #expect(load.failures.isEmpty)
            #expect(load.prices == [600, 1_200, 1_800])
            let id = opened["id"].text
            #expect(try await files.send(port, .get, "/v1/orders/\(id)")["price"].at("amount").int == 600)
            // It is paid after both changes, and granted as usual.
            let proof = try await files.pay(token: try #require(OrderID(id))).signed
            let paid = try await files.send(
                port, .post, "/v1/transactions", ["signedTransaction": .string(proof)], as: .user("early"))
            #expect(paid["outcome"].text == "granted")
            await stop(process)
            #expect(process.complaints.contains("price 1200 CNY → 1800 CNY"))
        }
    }

    // MARK: Refusals

    private static let spoilings: [(kind: String, english: String, chinese: String)] = [
        ("not JSON", "is not valid JSON", "不是合法的 JSON"),
        ("unknown key", "Did you mean catalog?", "是否想写 catalog？"),
        ("catalogue", "gives its buyer nothing", "没有给买家任何东西"),
        ("listen", "listen: needs a restart; nothing was changed", "listen：需要重启；未作任何更改"),
        ("bundle id", "apple.bundleId: needs a restart", "apple.bundleId：需要重启"),
    ]

    @Test("A broken or unsuitable configuration changes nothing, and the reasons are said", arguments: spoilings)
    func refused(_ spoiling: (kind: String, english: String, chinese: String)) async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            let good = try String(contentsOfFile: files.configurationFile, encoding: .utf8)
            // The key below must not be added by a configuration that is wrong elsewhere.
            try files.configure(
                "operators", [["id": "eve", "sha256": .string(hexadecimal(Digest.sha256.hash("op_eve".utf8)))]])
            var text = try String(contentsOfFile: files.configurationFile, encoding: .utf8)
            switch spoiling.kind {
            case "not JSON": text.removeLast(8)
            case "unknown key": text = text.replacingOccurrences(of: "\"catalog\"", with: "\"catalogue\"")
            case "catalogue":
                try write(
                    files, "catalog.json",
                    catalog(600).replacingOccurrences(of: ", \"points\": {\"points\": 60}", with: ""))
            case "listen": text = text.replacingOccurrences(of: "127.0.0.1:0", with: "127.0.0.1:1")
            default: text = text.replacingOccurrences(of: Shop.bundleID, with: "com.example.other")
            }
            try write(files, "till.json", text)
            for (language, phrase) in [("en", spoiling.english), ("zh", spoiling.chinese)] {
                let reload = try await till(files, "reload", language: language)
                #expect(reload.code == 1)
                #expect(reload.output.isEmpty)
                #expect(reload.errors.contains(phrase), "\(reload.errors)")
            }
            #expect(try await files.send(port, .get, "/metrics", as: .bearer("op_eve")).status == 401)
            try await files.buy(port, as: "u1")
            // With the good file again, there is nothing to change.
            try write(files, "till.json", good)
            try write(files, "catalog.json", catalog(600))
            let again = try await till(files, "reload")
            #expect(again.code == 0)
            #expect(again.output.contains("Nothing has changed."))
            await stop(process)
        }
    }

    @Test("A SIGHUP before the server listens does not end it; the reload follows the start")
    func earlySignal() async throws {
        try await ServerProcess.withFiles { files in
            // The server waits in the middle of reading its configuration: the catalogue is a pipe without a writer.
            let path = files.folder.appendingPathComponent("catalog.json").path
            try FileManager.default.removeItem(atPath: path)
            try #require(mkfifo(path, 0o600) == 0)
            let process = try TillProcess.start(["serve", "--config", files.configurationFile, "--json"])
            let pipe = open(path, O_WRONLY)
            try #require(pipe >= 0)
            try write(files, "catalog.json", catalog(1_200))
            process.send(SIGHUP)
            let text = catalog(600)
            #expect(Glibc.write(pipe, text, text.utf8.count) == text.utf8.count)
            close(pipe)
            for await line in process.lines where line.contains("listening") { break }
            for _ in 0..<1_000 where !process.complaints.contains("price 600 CNY → 1200 CNY") {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(process.complaints.contains("price 600 CNY → 1200 CNY"), "\(process.complaints)")
            await stop(process)
        }
    }

    @Test("Several reloads at once take turns, and each is answered")
    func concurrent() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            try write(files, "catalog.json", catalog(1_200))
            let codes = try await withThrowingTaskGroup(of: Int32.self) { group in
                for _ in 0..<4 { group.addTask { try await till(files, "reload").code } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes == [0, 0, 0, 0])
            try await files.buy(port, as: "u1")
            let changes = process.complaints.split(separator: "\n").filter { $0.contains("price 600 CNY → 1200 CNY") }
            #expect(changes.count == 1, "\(process.complaints)")
            await stop(process)
        }
    }

    @Test("Without a server, till reload says so and signals no other process", arguments: ["en", "zh"])
    func noServer(_ language: String) async throws {
        try await ServerProcess.withFiles { files in
            let phrase = language == "en" ? "no running server uses the ledger" : "没有正在运行的服务器使用账本"
            let before = try await till(files, "reload", language: language)
            #expect(before.code == 1)
            #expect(before.errors.contains(phrase), "\(before.errors)")
            let (process, _) = try await files.start()
            process.send(SIGKILL)
            _ = await process.end()
            // Its number may belong to another program by now: this test's process, which survives.
            let state = files.ledgerFile + "-server"
            try Data("{\"process\":\(getpid()),\"keyUses\":[]}".utf8).write(to: URL(fileURLWithPath: state))
            try Data("\(getpid())\n".utf8).write(to: URL(fileURLWithPath: files.ledgerFile + "-lock"))
            let after = try await till(files, "reload", language: language)
            #expect(after.code == 1)
            #expect(after.errors.contains(phrase), "\(after.errors)")
        }
    }

    @Test("The log's level changes with a reload, and the reload itself is a line")
    func logLevel() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            func requests() -> Int {
                process.complaints.split(separator: "\n").count { $0.contains("\"event\":\"request\"") }
            }
            _ = try await files.send(port, .get, "/v1/users/u1/wallet")
            for _ in 0..<400 where requests() < 1 { try await Task.sleep(for: .milliseconds(5)) }
            #expect(requests() == 1)
            try files.configure("logLevel", "debug")
            #expect(try await till(files, "reload").output.contains("logLevel: the default → \"debug\""))
            for _ in 0..<1_000 where !process.complaints.contains("\"event\":\"job_run\"") {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(process.complaints.contains("\"event\":\"job_run\""))
            #expect(process.complaints.contains("\"event\":\"reloaded\""))
            try files.configure("logLevel", "warning")
            #expect(try await till(files, "reload").code == 0)
            _ = try await files.send(port, .get, "/v1/users/u2/wallet")
            try files.configure("listen", "127.0.0.1:1")
            #expect(try await till(files, "reload").code == 1)
            for _ in 0..<400 where !process.complaints.contains("reload_refused") {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(process.complaints.contains("\"event\":\"reload_refused\""))
            #expect(requests() == 1, "a warning was written, the request before it was not")
            await stop(process)
        }
    }

    // MARK: Keys

    @Test("A secret key is rotated under load with the commands alone: no request fails")
    func rotation() async throws {
        try await ServerProcess.withFiles { files in
            try restrict(files)
            let (process, port) = try await files.start()
            let key = Locked(Shop.secretKey)
            let load = try await underLoad(files, port, as: { .bearer(key.withLock { $0 }) }) { load in
                let added = try await till(files, "keys", "add", "backend-2", "--expires", "90d", "--json")
                #expect(added.code == 0, "\(added.errors)")
                let new = try JSONValue(decoding: added.output).at("key").text
                #expect(try await till(files, "reload").code == 0)
                try await load.more()
                key.withLock { $0 = new }
                // The requests that began with the old key have ended.
                try await load.more()
                #expect(try await till(files, "keys", "retire", "backend").code == 0)
                let retired = try await till(files, "reload")
                #expect(retired.output.contains("secretKeys: backend removed"))
            }
            #expect(load.failures.isEmpty)
            let old = try await files.send(port, .get, "/v1/users/u1/wallet", as: .bearer(Shop.secretKey))
            #expect(old.status == 401)
            let list = try await till(files, "keys", "list", "--json")
            let keys = try JSONValue(decoding: list.output).at("keys").list.filter {
                $0.at("list").text == "secretKeys"
            }
            #expect(keys.map { $0.at("id").text } == ["backend-2"])
            #expect(Instant(rfc3339: keys[0].at("lastUsedAt").text) != nil, "saved at the last reload")
            await stop(process)
        }
    }

    // MARK: Webhooks

    @Test("An endpoint that a reload adds gets the events from then on, each once; a removed one gets no more")
    func webhooks() async throws {
        try await ServerProcess.withFiles { files in
            let received = Locked<[String]>([])
            let receiver = try Listener(bodyLimit: { _, _ in 1 << 20 }) { request in
                received.withLock { $0.append(request.headers["webhook-id"] ?? "") }
                return HTTPResponse(status: 204)
            }
            try files.configure("webhooks", ["allowPrivate": true, "endpoints": []])
            let (process, port) = try await files.start()
            try await files.buy(port, as: "before")
            func endpoints(_ list: JSONValue) async throws {
                try files.configure("webhooks", ["allowPrivate": true, "endpoints": list])
                let reload = try await till(files, "reload")
                #expect(reload.code == 0, "\(reload.errors)")
                #expect(!reload.output.contains("127.0.0.1") && !reload.output.contains("whsec_"))
            }
            let secret = JSONValue.string("whsec_" + Base64.encode([UInt8](repeating: 7, count: 32)))
            let url = JSONValue.string("http://127.0.0.1:\(receiver.port)/hook")
            try await endpoints([["id": "shop", "url": url, "secret": secret]])
            try await files.buy(port, as: "after")
            for _ in 0..<1_000 where received.withLock({ $0 }).isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            try await endpoints([])
            let then = received.withLock { $0 }
            #expect(!then.isEmpty && Set(then).count == then.count)
            let events = try await files.send(port, .get, "/v1/events")["data"].list
            let expected = events.filter { $0.at("userId").text == "after" }.map { $0.at("id").text }
            #expect(Set(then).isSubset(of: expected))
            try await files.buy(port, as: "removed")
            try await Task.sleep(for: .milliseconds(1_500))
            #expect(received.withLock { $0 } == then)
            await stop(process)
            await receiver.stop(grace: 1)
        }
    }
}
