import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger
import TillServer

@Suite("Reconciliation over HTTP, and its metrics") struct ReconciliationHTTPJourneys {
    private static let token = "op_reconciliation_0123456789"

    private static func open(_ journey: (SilentShop) async throws -> Void) async throws {
        let line = AppleProxy()
        let change = { (configuration: inout ServerConfiguration) in
            configuration.operators = [SecretKey(id: "anna", sha256: Digest.sha256.hash(token.utf8))]
        }
        try await Shop.open(change: change, line: line) { shop in
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            shop.intercept { _ in HTTPResponse(status: 503) }
            try await journey(
                SilentShop(shop: shop, line: line, api: try await line.serverAPI(of: shop.emulator, time: shop.time)))
        }
    }

    @Test("An operator or a backend starts it; it runs until it is done, and returns its findings")
    func started() async throws {
        try await Self.open { silent in
            let shop = silent.shop
            let order = try await shop.openOrder(as: "ann")
            _ = try await shop.pay(token: order)
            await shop.emulator.sendDueNotifications()
            shop.time.advance(seconds: 60)
            #expect(try await shop.send(.post, "/v1/reconciliations", as: .anonymous).status == 401)
            #expect(try await shop.send(.post, "/v1/reconciliations", as: .user("ann")).status == 403)

            let dry = try await shop.send(
                .post, "/v1/reconciliations", ["dryRun": true], as: .bearer(Self.token))
            #expect(dry.status == 202 && dry["state"].text == "running" && dry["caller"].text == "operator:anna")
            let digest = try await silent.digest()
            try await DryRuns(shop.server.ledger).runAll()
            #expect(try await silent.digest() == digest)
            let reported = try await shop.send(.get, "/v1/reconciliations/\(dry["id"].text)")
            #expect(reported["reconciliation"].at("ending").text == "different", "\(reported.body)")
            #expect(reported["differences"].at("data").list.count == 2)

            let run = try await shop.send(.post, "/v1/reconciliations")
            #expect(run.status == 202 && run["caller"].text == "key:backend")
            let again = try await shop.send(.post, "/v1/reconciliations")
            #expect(again["id"].text == run["id"].text, "one at a time")
            try await Reconciliations(shop.server.ledger).advance()
            let done = try await shop.send(.get, "/v1/reconciliations/\(run["id"].text)?limit=1")
            #expect(done["reconciliation"].at("state").text == "finished")
            let page = done["differences"]
            #expect(page.at("data").list.count == 1 && page.at("hasMore") == true)
            let first = try #require(page.at("data").list.first)
            #expect(!first.at("explanation").at("zh").text.isEmpty)
            let rest = try await shop.send(
                .get, "/v1/reconciliations/\(run["id"].text)?limit=1&cursor=\(page.at("nextCursor").text)")
            #expect(rest["differences"].at("data").list.count == 1)
            #expect(rest["differences"].at("hasMore") == false)
            #expect(try await shop.send(.get, "/v1/reconciliations")["data"].list.count == 1)
            #expect(try await shop.send(.get, "/v1/reconciliations/99").status == 404)
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("The metrics: only permitted callers read them, their values are right, and their format is Prometheus'")
    func metrics() async throws {
        try await Self.open { silent in
            let shop = silent.shop
            for target in [Party.anonymous, .backend, .user("ann")] {
                #expect(try await shop.status(.get, "/metrics", as: target) == 401)
            }
            let empty = try await Self.scrape(shop)
            #expect(empty["till_lost_order_ratio"] == 0 && empty["till_purchases_total"] == 0)
            let sandbox = #"{environment="Sandbox"}"#
            #expect(empty["till_reconciliation_age_seconds" + sandbox]?.isNaN == true, "unknown, not absent")

            let order = try await shop.openOrder(as: "ann")
            _ = try await shop.pay(token: order)
            _ = try await shop.pay(token: nil)
            await shop.emulator.sendDueNotifications()
            shop.time.advance(seconds: 2 * SilentShop.day)
            _ = try await shop.openOrder(as: "ben")
            #expect(try await silent.reconciliations.advance()?.state == .finished)
            shop.time.advance(seconds: 100)

            let figures = try await Self.scrape(shop)
            let purchases = try #require(figures["till_purchases_total"])
            #expect(shop.ledger.isShared ? purchases >= 2 : purchases == 2, "several writers skip row ids")
            #expect(figures["till_purchases_granted_late_total" + sandbox] == 1)
            #expect(figures["till_purchases_ungranted" + sandbox] == 1)
            #expect(figures["till_lost_order_ratio"] == 2 / purchases)
            #expect(figures["till_quarantined_transactions"] == 1)
            #expect(figures["till_oldest_quarantined_age_seconds"].map { $0 > 172_800 } == true)
            #expect(figures[#"till_oldest_open_order_age_seconds{status="prepared"}"#].map { $0 >= 100 } == true)
            #expect(figures["till_pending_notifications"] == 0 && figures["till_waiting_receipts"] == 0)
            #expect(figures["till_reconciliation_age_seconds" + sandbox].map { (100...110).contains($0) } == true)
            let drift = #"till_reconciliation_differences{environment="Sandbox",kind="purchase_missed"}"#
            #expect(figures[drift] == 1, "\(figures)")
            #expect(figures["till_reconciliation_running"] == 0)
        }
    }

    /// Samples by name and labels; each line must be a sample, or belong to the head of a family that is named once.
    private static func scrape(_ shop: Shop) async throws -> [String: Double] {
        var request = HTTPRequest(method: .get, path: "/metrics", peer: "127.0.0.1")
        request.headers.add("Authorization", "Bearer \(token)")
        let reply = await shop.server.respond(to: request)
        #expect(reply.status == 200)
        #expect(reply.headers["Content-Type"]?.hasPrefix("text/plain; version=0.0.4") == true)
        let text = String(decoding: reply.body, as: UTF8.self)
        #expect(text.hasSuffix("\n"))
        var found: [String: Double] = [:]
        var families: Set<String> = []
        for line in text.split(separator: "\n") {
            if line.hasPrefix("# TYPE ") {
                let words = line.split(separator: " ")
                #expect(words.count == 4 && families.insert(String(words[2])).inserted)
                #expect(["gauge", "counter", "histogram"].contains(words[3]))
                #expect((words[3] == "counter") == words[2].hasSuffix("_total"))
            } else if !line.hasPrefix("# HELP ") {
                let space = try #require(line.lastIndex(of: " "))
                let name = line[..<space]
                let sample = String(name.prefix { $0 != "{" })
                let family = sample.replacing(/_(bucket|sum|count)$/, with: "")
                #expect(families.contains(sample) || families.contains(family))
                guard let number = Double(String(line[line.index(after: space)...])) else {
                    Issue.record("no number: \(line)")
                    continue
                }
                found[String(name)] = number
            }
        }
        return found
    }
}
