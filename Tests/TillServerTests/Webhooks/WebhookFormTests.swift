import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillLedger

@testable import TillServer

@Suite("Signatures, addresses and the schedule of webhooks") struct WebhookFormTests {
    @Test("The published example of Standard Webhooks is signed as published, once for each secret")
    func signature() throws {
        let body = Array(#"{"test": 2432232314}"#.utf8)
        let secrets = [WebhookReceiver.secret, WebhookReceiver.olderSecret].compactMap { WebhookSecret($0) }
        let published = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        let header = WebhookSignature.header(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330, body: body, secrets: secrets)
        let parts = header.split(separator: " ").map(String.init)
        #expect(parts.count == 2 && parts[0] == published)
        let older = WebhookSignature.header(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330, body: body, secrets: [secrets[1]])
        #expect(parts[1] == older && older != published)
    }

    @Test(
        "A secret is whsec_ and 24 to 64 bytes in base64; anything else is refused",
        arguments: [
            ("whsec_" + Base64.encode([UInt8](repeating: 1, count: 24)), true),
            ("whsec_" + Base64.encode([UInt8](repeating: 1, count: 64)), true),
            ("whsec_" + Base64.encode([UInt8](repeating: 1, count: 23)), false),
            ("whsec_" + Base64.encode([UInt8](repeating: 1, count: 65)), false),
            (Base64.encode([UInt8](repeating: 1, count: 32)), false), ("whsec_", false), ("whsec_not base64!", false),
        ])
    func secret(_ text: String, _ isGood: Bool) {
        #expect((WebhookSecret(text) != nil) == isGood)
    }

    private static let addresses = """
        ok          https://a.example https://a.example/ https://a.example:8443/hook?x=1 HTTPS://A.EXAMPLE/x
        ok          https://[2606:4700::1]:443/x https://8.8.8.8/ https://a_b.example https://a.example?x=@b
        plain       http://a.example/ http://127.0.0.1/ HTTP://a.example
        scheme      ftp://a.example a.example //a.example https:/a.example javascript:alert(1) file:///etc/passwd
        credentials https://user@a.example/ https://user:pass@a.example/ https://a.example:1@b.example/
        host        https:// https:///x https://?x https://./ https://[::1 https://[a.example]/ https://[::1%25eth0]/
        host        https://a!.example/ https://a%2e.example/ https://[]/
        port        https://a.example:0/ https://a.example:65536/ https://a.example:x/ https://[::1]x/
        fragment    https://a.example/#part https://a.example#@b.example/
        form        https://a.example\\@b.example/ https://例.example/
        """

    @Test("The valid forms of an endpoint's address; forms that URL parsers could read differently are refused")
    func address() {
        var count = 0
        for line in Self.addresses.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            for text in words.dropFirst() {
                count += 1
                do throws(WebhookURL.FormatError) {
                    let url = try WebhookURL(text, allowsPlain: false)
                    #expect(words[0] == "ok" && url.description == text, "\(text)")
                } catch {
                    #expect(error.rawValue == words[0], "\(text)")
                }
            }
        }
        #expect(count > 35)
        #expect(throws: WebhookURL.FormatError.form) { try WebhookURL("https://a.example/a b", allowsPlain: true) }
        #expect(throws: Never.self) { try WebhookURL("http://10.0.0.1:8080/hook", allowsPlain: true) }
    }

    @Test("Ten attempts in three days and a few hours, each pause at least as long as scheduled, and never together")
    func schedule() throws {
        let start = Instant(seconds: 1_790_000_000)
        var ends: Set<Instant> = []
        for event in [Int64(1), 2, 99, .max] {
            var now = start
            var attempts: Int64 = 1
            while let next = WebhookSchedule.next(after: attempts, event: event, at: now, requestedRetryAt: nil) {
                let pause = WebhookSchedule.pauses[Int(attempts - 1)] * 1_000
                let waited = next.milliseconds - now.milliseconds
                #expect((pause...pause + pause / 10).contains(waited), "\(attempts)")
                (now, attempts) = (next, attempts + 1)
            }
            #expect(attempts == 10)
            let hours = (now.seconds - start.seconds) / 3_600
            #expect((75...84).contains(hours), "\(hours)")
            ends.insert(now)
        }
        #expect(ends.count > 2)
    }

    @Test("A receiver's Retry-After delays an attempt by a day at most, and never brings it forward")
    func retryAfter() {
        let now = Instant(seconds: 1_790_000_000)
        func due(_ delay: Int64, after attempts: Int64 = 1) -> Int64? {
            WebhookSchedule.next(after: attempts, event: 0, at: now, requestedRetryAt: now.adding(seconds: delay))
                .map { $0.seconds - now.seconds }
        }
        #expect(due(1) == 5)
        #expect(due(60) == 60)
        #expect(due(60, after: 4) == 7_200)
        #expect(due(400_000) == 86_400)
        #expect(due(60, after: 10) == nil)
    }

    @Test("Every event type that the code writes is on the list, and the list has no other")
    func types() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources")
        var written: Set<String> = []
        let topics = "grant|guest|customer|transfer|transaction|subscription|service|consumption|order|wallet"
        for receiver in ["TillServer", "TillLedger", "TillBilling/Reminders"] {
            let folder = sources.appendingPathComponent(receiver)
            let names = try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap { $0 as? String }
            for name in names
            where name.hasSuffix(".swift") && !name.contains("Webhooks/") && !name.contains("Endpoints/") {
                let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
                guard text.contains("utbox") || text.contains("try tell(") || receiver == "TillBilling/Reminders" else {
                    continue
                }
                let event = try Regex(#""((?:\#(topics))\.[a-z_]+)""#, as: (Substring, Substring).self)
                for match in text.matches(of: event) {
                    written.insert(String(match.1))
                }
                if text.contains(#""consumption.\(word)""#) {
                    written.formUnion(["consumption.answered", "consumption.unanswered"])
                }
            }
        }
        // These name their types by the list itself.
        written.formUnion([EventType.ledgerRestored, .ledgerCheckpoint].map(\.rawValue))
        #expect(written == Set(EventType.allCases.map(\.rawValue)))
    }
}
