import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON

@Suite("till reconcile, as a process") struct ReconcileCommandJourneys {
    /// Files for a server that asks the store in this process over a socket, and the name of its configuration.
    private func withStore(
        _ body: (_ files: ServerProcess, _ configuration: String) async throws -> Void
    ) async throws {
        try await ServerProcess.withFiles { files in
            let router = files.emulator.router
            let listener = try Listener(
                configuration: ListenerConfiguration(), bodyLimit: router.bodyLimit(method:path:),
                handler: router.respond(to:))
            let asked = HTTPRequest(method: .get, path: "/emulator/api-key")
            let key = try JSONValue(decoding: await router.respond(to: asked).body)
            func text(_ name: String) throws -> String { try #require(key[name]?.string) }
            try Data(text("privateKey").utf8).write(to: files.folder.appendingPathComponent("key.p8"))
            try Data(Shop.secretKey.utf8).write(to: files.folder.appendingPathComponent("backend.key"))
            let usual = try JSONValue(decoding: Array(Data(contentsOf: URL(fileURLWithPath: files.configurationFile))))
            var members = try #require(usual.object)
            var apple = try #require(members["apple"]?.object)
            apple["issuerId"] = .string(try text("issuerId"))
            apple["keyId"] = .string(try text("keyId"))
            apple["privateKeyFile"] = "key.p8"
            apple["emulator"] = .string("http://127.0.0.1:\(listener.port)")
            members["apple"] = .object(apple)
            try Data(JSONValue.object(members).encoded().utf8).write(
                to: URL(fileURLWithPath: files.configurationFile))
            do {
                try await body(files, files.configurationFile)
            } catch {
                await listener.stop(grace: 1)
                throw error
            }
            await listener.stop(grace: 1)
        }
    }

    private func run(_ arguments: [String]) async throws -> (json: JSONValue, code: Int32, complaints: String) {
        let process = try TillProcess.start(["reconcile", "--json", "--lang", "en"] + arguments)
        let (output, code) = await process.finish()
        return (output.isEmpty ? .null : try JSONValue(decoding: output), code, process.complaints)
    }

    @Test("Without a server it opens the ledger itself; beside one it uses the server's API (CONTRACT §1)")
    func bothWays() async throws {
        try await withStore { files, configuration in
            let (server, port) = try await files.start()
            // A new ledger is compared at once; later purchases are lost.
            var first: Reply
            repeat {
                first = try await files.send(port, .get, "/v1/reconciliations")
                try await Task.sleep(for: .milliseconds(50))
            } while first["data"].list.first?.at("state").text != "finished"
            let order = try await files.send(
                port, .post, "/v1/orders", ["productId": .string(Shop.points60)], as: .user("ann"))
            // Granted, so that there is a customer to ask about; the second payment is never submitted.
            try await files.buy(port, as: "ben")
            let proof = try await files.pay(token: UniqueID(order["id"].text)).signed
            let closed = try await run(["--config", configuration, "--dry-run"])
            #expect(closed.code == 1 && closed.complaints.contains("--key-file"), "\(closed)")

            let beside = [
                "--config", configuration, "--listen", "127.0.0.1:\(port)", "--key-file",
                files.folder.appendingPathComponent("backend.key").path,
            ]
            let dry = try await run(beside + ["--dry-run"])
            // All purchases of the store belong to one account, so one customer leads to both.
            #expect(dry.code == 1 && dry.complaints.contains("nothing was changed"), "\(dry)")
            #expect(dry.json.at("reconciliation").at("dryRun") == true)
            #expect(dry.json.at("differences").list.map { $0.at("kind").text } == ["purchase_missed"], "\(dry.json)")
            #expect(try await files.send(port, .get, "/v1/orders/\(order["id"].text)")["status"].text == "prepared")
            let finished = try await run(beside)
            #expect(finished.code == 0 && finished.complaints.isEmpty, "\(finished)")
            #expect(finished.json.at("reconciliation").at("state").text == "finished")
            #expect(try await files.send(port, .get, "/v1/orders/\(order["id"].text)")["status"].text == "completed")
            #expect(!proof.isEmpty)
            server.send(SIGTERM)
            #expect(await server.end() == 0)

            let alone = try await run(["--config", configuration])
            #expect(alone.code == 0, "\(alone)")
            #expect(alone.json.at("reconciliation").at("state").text == "finished")
            let agreed = try await run(["--config", configuration, "--dry-run", "--since", "2020-01-01"])
            #expect(agreed.code == 0 && agreed.json.at("differences").list.isEmpty, "\(agreed)")
        }
    }

    @Test("Without a key, or with an invalid time, it says what is needed, in both languages")
    func usage() async throws {
        try await ServerProcess.withFiles { files in
            let noKey = try await run(["--config", files.configurationFile])
            #expect(noKey.code == 1 && noKey.complaints.contains("In-App Purchase key"), "\(noKey)")
        }
        try await withStore { _, configuration in
            let process = try TillProcess.start(
                ["reconcile", "--config", configuration, "--since", "tomorrow", "--lang", "zh"])
            #expect(await process.finish().code == 2)
            #expect(process.complaints.contains("--since 应为过去的时刻"), "\(process.complaints)")
        }
    }
}
