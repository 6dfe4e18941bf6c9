import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON

@Suite("till apple, as a process, asks a store over a socket") struct AppleCommandJourneys {
    /// A configuration with the store's own key besides that of `till serve`; the store listens.
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
            let configuration = files.folder.appendingPathComponent("apple.json")
            try Data(
                """
                {"database": "sqlite:till.db", "catalog": "catalog.json",
                 "apple": {"bundleId": "\(Shop.bundleID)", "environments": ["Sandbox"], "roots": ["root.pem"],
                           "issuerId": "\(text("issuerId"))", "keyId": "\(text("keyId"))",
                           "privateKeyFile": "key.p8", "emulator": "http://127.0.0.1:\(listener.port)"}}
                """.utf8
            ).write(to: configuration)
            do {
                try await body(files, configuration.path)
            } catch {
                await listener.stop(grace: 1)
                throw error
            }
            await listener.stop(grace: 1)
        }
    }

    private func buy(from files: ServerProcess) async throws -> String {
        let body = #"{"bundleId": "\#(Shop.bundleID)", "productId": "\#(Shop.points60)"}"#
        let answer = await files.emulator.router.respond(
            to: HTTPRequest(method: .post, path: "/emulator/purchases", body: Array(body.utf8)))
        return try #require(try JSONValue(decoding: answer.body)["transactionId"]?.string)
    }

    private func run(_ arguments: [String]) async throws -> (output: String, code: Int32, complaints: String) {
        let process = try TillProcess.start(arguments)
        let (output, code) = await process.finish()
        return (output, code, process.complaints)
    }

    @Test("A transaction is returned verified, for people and for programs, and can be finished (U1, U2)")
    func transaction() async throws {
        try await withStore { files, configuration in
            let id = try await buy(from: files)
            let reported = try await run(["apple", "transaction", id, "--config", configuration, "--lang", "en"])
            #expect(reported.code == 0, "\(reported.complaints)")
            #expect(reported.output.contains("jws-transaction  ok  \(id)"), "\(reported.output)")
            #expect(reported.output.contains("  productId  \(Shop.points60)"))

            let json = try await run(["apple", "transaction", id, "--config", configuration, "--json"])
            let report = try JSONValue(decoding: Array(json.output.utf8))
            #expect(report["environment"] == "Sandbox" && report["question"] == "transaction")
            #expect(report["proofs"]?.array?.first?["verdict"] == "ok")
            #expect(report["proofs"]?.array?.first?["payload"]?["transactionId"]?.string == id)

            #expect(try await run(["apple", "finish", id, "--config", configuration]).code == 0)
            #expect(try await run(["apple", "finish", id, "--config", configuration]).code == 0, "twice does no harm")
        }
    }

    @Test("A refusal by Apple is shown in the reader's language, with Apple's name for it, and exit 1")
    func refused() async throws {
        try await withStore { _, configuration in
            let english = try await run(["apple", "transaction", "1", "--config", configuration, "--lang", "en"])
            #expect(english.code == 1 && english.output.isEmpty)
            #expect(english.complaints.contains("TransactionIdNotFound"), "\(english.complaints)")
            let chinese = try await run(["apple", "transaction", "1", "--config", configuration, "--lang", "zh"])
            #expect(chinese.complaints.contains("Apple 拒绝了请求"))
            let json = try await run(["apple", "transaction", "1", "--config", configuration, "--json"])
            let error = try JSONValue(decoding: Array(json.output.utf8))
            #expect(error["errorCode"] == 4_040_010 && error["retryable"] == false)
        }
    }

    @Test("Without a key, with a wrong word or a missing argument, it names what is needed and sends no request")
    func usage() async throws {
        try await withStore { files, configuration in
            let noKey = try await run(
                ["apple", "transaction", "1", "--config", files.configurationFile, "--lang", "en"])
            #expect(noKey.code == 1 && noKey.complaints.contains("apple.issuerId, apple.keyId"))
            let slip = try await run(["apple", "transacton", "1", "--config", configuration, "--lang", "en"])
            #expect(slip.code == 2 && slip.complaints.contains("Did you mean transaction?"))
            let short = try await run(["apple", "history", "--config", configuration, "--lang", "en"])
            #expect(short.code == 2 && short.complaints.contains("till apple history TRANSACTION-ID"))
            let hostile = try await run(
                ["apple", "transaction", "../../v1/notifications/test", "--config", configuration])
            #expect(hostile.code == 1)
        }
    }
}
