import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import till

@Suite("till demo, as a process") struct DemoTests {
    @Test("Three purchases end as they should: granted, killed and recovered, forged and refused (L8, O6, P9)")
    func once() async throws {
        let demo = try TillProcess.start(["demo", "--once", "--json"])
        let (output, code) = await demo.finish()
        #expect(code == 0, "\(demo.complaints)")
        #expect(demo.complaints.isEmpty)
        let transcript = try JSONValue(decoding: output)
        #expect(transcript["passed"] == true)
        #expect(transcript.at("checks").list.count == 11)
        #expect(transcript.at("checks").list.allSatisfy { $0["passed"] == true })
        let purchases = transcript.at("purchases").list
        try #require(purchases.map { $0.at("kind").text } == ["plain", "killed", "forged"])

        #expect(["granted", "alreadyGranted"].contains(purchases[0].at("outcome").text))
        #expect(purchases[0].at("wallet") == ["before": 0, "after": 60])

        let killed = purchases[1]
        #expect(killed.at("signal") == 9)
        #expect(killed.at("processes").at("killed") != killed.at("processes").at("relaunched"))
        #expect(killed.at("journal") == ["before": "ongoing", "after": "completed"])
        #expect(killed.at("queue") == ["before": 1, "after": 0])
        #expect(killed.at("wallet") == ["before": 0, "between": 0, "after": 300])
        #expect(killed.at("outcome") == "granted")

        #expect(purchases[2].at("outcome") == "refused" && purchases[2].at("code") == "chain_untrusted")
        #expect(purchases[2].at("wallet") == ["before": 0, "after": 0])
        #expect(purchases.map { $0.at("grants") } == [1, 1, 0])
    }

    @Test("For people it prints one line per step in their language, and nothing else", .slow, arguments: ["en", "zh"])
    func lines(_ language: String) async throws {
        let demo = try TillProcess.start(["demo", "--once", "--lang", language])
        let (output, code) = await demo.finish()
        #expect(code == 0 && demo.complaints.isEmpty)
        let lines = output.split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("  ✓ ") }.count == 11)
        #expect(lines.filter { $0.hasPrefix("  ✗ ") }.isEmpty)
        #expect(output.contains(language == "en" ? "killed with signal 9" : "被信号 9 终止"))
        #expect(lines.last == (language == "en" ? "Each purchase ended as expected." : "三笔购买的结果都符合预期。"))
        let marks = ["  ✓ ", "  · ", "1. ", "2. ", "3. ", "till demo"]
        #expect(lines.dropLast().allSatisfy { line in marks.contains { line.hasPrefix($0) } })
    }

    @Test("A port in use is reported with a remedy, and nothing is left behind")
    func portTaken() async throws {
        let taken = try Listener(bodyLimit: { _, _ in 0 }, handler: { _ in HTTPResponse(status: 200) })
        let demo = try TillProcess.start(["demo", "--once", "--lang", "en", "--port", String(taken.port)])
        let (output, code) = await demo.finish()
        #expect(code == 1)
        #expect(output.isEmpty)
        #expect(demo.complaints.contains("127.0.0.1:\(taken.port) is in use"))
        await taken.stop(grace: 1)
    }

    @Test(
        "Without the buyers' app beside it the demo says how to build it, in both languages", arguments: ["en", "zh"])
    func missingApp(_ language: String) async throws {
        let products = TillProcess.executable.deletingLastPathComponent()
        let folder = products.appendingPathComponent("till-alone-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let alone = folder.appendingPathComponent("till")
        try FileManager.default.linkItem(at: TillProcess.executable, to: alone)
        let demo = try TillProcess.start(["demo", "--once", "--lang", language], executable: alone.path)
        let (output, code) = await demo.finish()
        #expect(code == 1 && output.isEmpty)
        #expect(demo.complaints.contains("swift build --product learnpoints"))
        #expect(demo.complaints.contains(language == "en" ? "is missing" : "缺少"))
    }

    @Test("A buyer's app killed with signal 9 between paying and submitting recovers at its next launch (O6)")
    func killedOnce() async throws { try await killedBuyer(generation: 2, kills: 1) }

    @Test("The same with StoreKit 1, and with any number of kills", .slow, arguments: [(1, 1), (1, 3), (2, 3)])
    func killedOften(generation: Int, kills: Int) async throws {
        try await killedBuyer(generation: generation, kills: kills)
    }

    private func killedBuyer(generation: Int, kills: Int) async throws {
        try await OpenShop.open { shop in
            // The store's notification would complete the purchase without the buyer (U2).
            try await shop.turnOffNotifications()
            let line = try DemoProxy(to: shop.server, shop.fetch)
            let app = try shop.learnPoints("kim", generation: generation, server: line.url)
            line.hold()
            let first = try await AppLaunch.run(
                app, sending: "buy \(Shop.points60)", during: { await $0.killAtProof(on: line) },
                answering: { $0["event"] == "purchase" ? "quit" : nil })
            #expect(first.signal == SIGKILL)
            let order = try #require(first.last("order")?["order"]?["orderId"]?.string)
            for _ in 1..<kills {
                line.cut()
                line.hold()
                let again = try await AppLaunch.run(
                    app, during: { await $0.killAtProof(on: line) }, answering: { _ in nil })
                #expect(again.signal == SIGKILL)
            }
            #expect(line.outcomes.isEmpty)
            #expect(try await shop.points(of: "kim") == 0)
            #expect(try await shop.status(of: order) == "prepared")

            line.cut()
            let relaunched = try await AppLaunch.run(app) { stated in
                stated["event"] == "order" && stated["order"]?["status"] == "completed" ? "quit" : nil
            }
            #expect(relaunched.code == 0)
            #expect(relaunched.last("order")?["order"]?["orderId"]?.string == order)
            #expect(line.outcomes == ["granted"])
            #expect(try await shop.points(of: "kim") == 60)
            #expect(try await shop.status(of: order) == "completed")

            let quiet = try await AppLaunch.run(app, sending: "wait") { $0["event"] == "waited" ? "quit" : nil }
            #expect(quiet.code == 0)
            #expect(quiet.last("waited")?["underWay"] == 0)
            #expect(quiet.last("order") == nil)
            #expect(line.outcomes == ["granted"])
            #expect(try await shop.points(of: "kim") == 60)
            await line.close()
        }
    }
}

extension ChildProcess {
    /// Kills between paying and submitting: the proof is on the line, and never arrives.
    fileprivate func killAtProof(on line: DemoProxy) async {
        for await _ in line.held {
            kill()
            return
        }
    }
}
