import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON

@Suite("The log of till serve, as a process (issue 20)") struct LogOutputJourneys {
    @Test("Each line on stderr is one JSON object, from the configuration at the start to the end of the drain")
    func json() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            try await files.buy(port, as: "ann")
            let refused = try await files.send(port, .get, "/v1/users/ann/wallet", as: .bearer("wrong"))
            process.send(SIGTERM)
            #expect(await process.end() == 0)
            let lines = try process.logLines
            #expect(
                lines.allSatisfy { line in
                    Instant(rfc3339: line.at("ts").text) != nil && !line.at("event").text.isEmpty
                        && ["debug", "info", "warning", "error"].contains(line.at("level").text)
                })
            func named(_ event: String) -> [JSONValue] { lines.filter { $0.at("event").text == event } }
            #expect(lines.first?.at("event") == "starting" && lines.last?.at("event") == "stopped")
            let start = try #require(lines.first)
            #expect(start.at("bundleId").text == Shop.bundleID && start.at("environments") == "Sandbox")
            #expect(start.at("secretKeys") == "backend" && start.at("userTokens") == "app" && start.at("products") == 1)
            #expect(start.at("database").text.hasSuffix("till.db") && !start.at("version").text.isEmpty)
            #expect(named("listening").first?.at("address").text.hasSuffix(":\(port)") == true)
            #expect(named("start_warning").contains { $0.at("text").text.contains("maximumLifetime") })
            #expect(named("drain_begins").count == 1)

            let requests = named("request")
            #expect(requests.map { $0.at("route").text }.contains("/v1/transactions"))
            let last = try #require(requests.last)
            #expect(last.at("status") == 401 && last.at("code") == "unauthorized" && last.at("method") == "GET")
            #expect(
                last.at("caller") == "anonymous" && last.at("network") == "127.0.0.0/24" && last.at("ms").int != nil)
            #expect(last.at("requestId").text == refused["requestId"].text)
            #expect(named("purchase_granted").map { $0.at("user").text } == ["ann"])
            let secrets = [Shop.secretKey, String(decoding: Shop.tokenSecret, as: UTF8.self), "eyJ"]
            for secret in secrets { #expect(!process.complaints.contains(secret)) }
        }
    }

    @Test("--log text writes a line for people; TILL_LOG's level in the file hides what is below it")
    func text() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start(["--log", "text"])
            try await files.buy(port, as: "ann")
            process.send(SIGTERM)
            #expect(await process.end() == 0)
            let lines = process.complaints.split(separator: "\n")
            #expect(lines.first?.contains(" INFO starting version=") == true, "\(lines)")
            #expect(lines.contains { $0.contains(" INFO request method=POST route=/v1/transactions status=200 ms=") })
            #expect(lines.contains { $0.contains(" WARNING start_warning text=\"") })

            try files.configure("logLevel", "warning")
            let (quiet, other) = try await files.start()
            try await files.buy(other, as: "ben")
            quiet.send(SIGTERM)
            #expect(await quiet.end() == 0)
            let quietLines = try quiet.logLines
            #expect(!quietLines.isEmpty && quietLines.allSatisfy { $0.at("level") == "warning" }, "\(quiet.complaints)")
        }
    }

    @Test("A start that fails is one JSON line with every reason, in the reader's language", arguments: ["en", "zh"])
    func failedStart(_ language: String) async throws {
        try await ServerProcess.withFiles { files in
            try files.configure("logLevel", "loud")
            try files.configure("reviewUsers", 7)
            let process = try TillProcess.start(["serve", "--config", files.configurationFile, "--lang", language])
            let (output, code) = await process.finish()
            #expect(code == 1 && output.isEmpty)
            let lines = try process.logLines
            #expect(lines.count == 1 && lines.first?.at("event") == "start_failed")
            #expect(lines.first?.at("level") == "error")
            let text = lines.first?.at("text").text ?? ""
            #expect(text.contains("logLevel") && text.contains("reviewUsers"))
            #expect(text.contains(language == "en" ? "must be one of debug, info, warning, error" : "之一"))

            let plain = try TillProcess.start([
                "serve", "--config", files.configurationFile, "--lang", language, "--log", "text",
            ])
            #expect(await plain.end() == 1)
            #expect(plain.complaints.hasPrefix("till: ") && plain.complaints.split(separator: "\n").count == 2)
        }
    }

    @Test("A flood of refused requests is a few lines and a count, and the answers stay fast")
    func flood() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            for _ in 0..<200 { _ = try await files.send(port, .get, "/v1/users/ann/wallet", as: .bearer("wrong")) }
            try await files.buy(port, as: "ann")
            process.send(SIGTERM)
            #expect(await process.end() == 0)
            let lines = try process.logLines
            let refused = lines.filter { $0.at("event") == "request" && $0.at("status") == 401 }
            let counted = lines.filter { $0.at("event") == "log_lines_suppressed" && $0.at("status") == 401 }
            #expect(refused.count < 100 && !counted.isEmpty)
            #expect(refused.count + counted.reduce(0) { $0 + Int($1.at("suppressed").int ?? 0) } == 200)
            #expect(lines.contains { $0.at("event") == "purchase_granted" })
        }
    }

    @Test("While nothing reads stderr, requests are answered, and the server ends in order")
    func blocked() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start(["--log", "json"], readsErrors: false)
            // Far more than the pipe and the buffer of the log hold.
            let start = ContinuousClock().now
            await withTaskGroup(of: Void.self) { group in
                for client in 0..<8 {
                    group.addTask {
                        for _ in 0..<150 {
                            let reply = try? await files.send(port, .get, "/v1/users/u\(client)/wallet")
                            #expect(reply?.status == 200)
                        }
                    }
                }
            }
            #expect(ContinuousClock().now - start < .seconds(60))
            process.send(SIGTERM)
            #expect(await process.end() == 0)
        }
    }
}
