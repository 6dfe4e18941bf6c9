import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

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

    @Test("For people it is a line a step in their language, and nothing else", arguments: ["en", "zh"])
    func lines(_ language: String) async throws {
        let demo = try TillProcess.start(["demo", "--once", "--lang", language])
        let (output, code) = await demo.finish()
        #expect(code == 0 && demo.complaints.isEmpty)
        let lines = output.split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("  ✓ ") }.count == 11)
        #expect(lines.filter { $0.hasPrefix("  ✗ ") }.isEmpty)
        #expect(output.contains(language == "en" ? "killed with signal 9" : "被信号 9 终止"))
        #expect(lines.last == (language == "en" ? "Each purchase ended as it should." : "三笔购买都如预期结束。"))
        let marks = ["  ✓ ", "  · ", "1. ", "2. ", "3. ", "till demo"]
        #expect(lines.dropLast().allSatisfy { line in marks.contains { line.hasPrefix($0) } })
    }

    @Test("A port that is taken is said so, with what to do, and nothing is left behind")
    func portTaken() async throws {
        let taken = try Listener(bodyLimit: { _, _ in 0 }, handler: { _ in HTTPResponse(status: 200) })
        let demo = try TillProcess.start(["demo", "--once", "--lang", "en", "--port", String(taken.port)])
        let (output, code) = await demo.finish()
        #expect(code == 1)
        #expect(output.isEmpty)
        #expect(demo.complaints.contains("127.0.0.1:\(taken.port) is taken"))
        await taken.stop(grace: 1)
    }

    @Test(
        "A buyer's app killed with signal 9 between paying and posting recovers at its next launch, however often",
        arguments: [1, 3])
    func killedBuyer(kills: Int) async throws {
        let demo = try TillProcess.start(["demo", "--json", "--port", "0"])
        let open = try OpenShop(try await demo.document())
        // What the store would tell the server by itself would complete the purchase without the buyer (U2).
        try await open.turnOffNotifications()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-device-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }

        let first = try open.launch(.buyAndHold, user: "kim", directory: folder.path)
        let order = try #require(await first.event("prepared"))["orderId"]?.string ?? ""
        #expect(await first.event("paid") != nil)
        #expect(await first.event("holding") != nil)
        first.send(SIGKILL)
        #expect(await first.end() == -SIGKILL)
        for _ in 1..<kills {
            let again = try open.launch(.relaunch, user: "kim", directory: folder.path)
            #expect(await again.event("launched")?["ongoing"] == 1)
            #expect(await again.event("holding") != nil)
            again.send(SIGKILL)
            #expect(await again.end() == -SIGKILL)
        }
        #expect(try await open.points(of: "kim") == 0)
        #expect(try await open.status(of: order) == "prepared")

        let relaunched = try open.launch(.relaunch, user: "kim", directory: folder.path)
        #expect(await relaunched.event("holding") != nil)
        try relaunched.tell("go on")
        #expect(await relaunched.event("settled")?["outcome"] == "granted")
        #expect(await relaunched.end() == 0)
        #expect(try await open.points(of: "kim") == 60)
        #expect(try await open.status(of: order) == "completed")

        let quiet = try open.launch(.relaunch, user: "kim", directory: folder.path)
        #expect(await quiet.event("launched")?["ongoing"] == 0)
        #expect(await quiet.event("settled") == nil)
        #expect(await quiet.end() == 0)
        #expect(try await open.points(of: "kim") == 60)

        demo.send(SIGTERM)
        #expect(await demo.end() == 0)
    }
}

/// The shop that a demo keeps open, as its announcement describes it.
private struct OpenShop {
    private let announcement: JSONValue
    private let fetch: Fetch

    init(_ announcement: JSONValue) throws {
        self.announcement = announcement
        fetch = try Fetch()
    }

    private var server: String { announcement.at("server").at("url").text }
    private var store: String { announcement.at("store").at("url").text }

    func launch(_ wish: BuyerPapers.Wish, user: String, directory: String) throws -> TillProcess {
        let secret = Array(announcement.at("server").at("userTokenSecret").text.utf8)
        let token = UserToken.hs256(
            subject: user, expires: Int64(Date().timeIntervalSince1970) + 600, secret: secret)
        let papers = BuyerPapers(
            wish: wish, user: user, token: token, product: "com.example.learn.points60", server: server, store: store,
            directory: directory, language: .english)
        let process = try TillProcess.start(["demo-buyer"])
        try process.tell(String(decoding: try JSONEncoder().encode(papers), as: UTF8.self))
        return process
    }

    func turnOffNotifications() async throws {
        let reply = try await ask(.put, store + "/emulator/notifications", [:])
        #expect(reply.status == 200)
    }

    func points(of user: String) async throws -> Int64 {
        try await ask(.get, server + "/v1/users/\(user)/wallet")["balances"].at("points").int ?? 0
    }

    func status(of order: String) async throws -> String {
        try await ask(.get, server + "/v1/orders/\(order)")["status"].text
    }

    private func ask(_ method: HTTPMethod, _ url: String, _ body: JSONValue? = nil) async throws -> Reply {
        let key = announcement.at("server").at("secretKey").text
        let headers = HTTPHeaders([("Authorization", "Bearer \(key)"), ("Content-Type", "application/json")])
        return try Reply(
            await fetch.send(
                url,
                HTTPRequest(
                    method: method, path: "", headers: headers, body: body.map { Array($0.encoded().utf8) } ?? [])))
    }
}
