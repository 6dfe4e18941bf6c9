import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger

@testable import TillServer

@Suite("Claims on the dashboard") struct ClaimPageTests {
    @Test("An operator gives an unclaimed purchase to a user, with a reason, and the page shows every step (U1, U9)")
    func form() async throws {
        try await DashboardServer.open { dashboardServer in
            let stray = try await dashboardServer.pay(token: nil)
            try await dashboardServer.submit(stray.signed)
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let page = try await visitor.get("/dashboard/quarantine")
            #expect(page.read.contains("Grant to…"))
            let target = "/dashboard/quarantine/1/claims"
            #expect(page.text.contains("action=\"\(target)\""))
            let form = [
                "form": try page.formToken, "user": "lin", "reason": "showed <b>Apple's</b> bill",
            ]
            let own = ["Origin": "http://\(DashboardServer.host)"]
            // A form from another site, and one without the page's token.
            #expect(try await visitor.post(target, form, ["Origin": "http://evil.example"]).status == 403)
            #expect(try await visitor.post(target, ["user": "eve", "reason": "r"], own).status == 403)
            #expect(try await visitor.post(target, form.merging(["user": ""]) { $1 }, own).status == 400)
            #expect(
                try await DashboardBrowser(dashboardServer).post(target, form, own).headers["Location"]
                    == "/dashboard/login")
            let missing = try await visitor.post("/dashboard/quarantine/99/claims", form, own)
            #expect(missing.status == 404)
            // The first form shows what it would do, and does nothing.
            let shownFirst = try await visitor.post(target, form, own)
            #expect(shownFirst.status == 200)
            for text in ["Grant this purchase?", "lin", "showed <b>Apple's</b> bill", "has no user with this id"] {
                #expect(shownFirst.read.contains(text), "\(text)")
            }
            #expect(try await visitor.get("/dashboard/transactions/1").read.contains("Quarantined"))
            let confirmed = ["form": try page.formToken, "decision": try shownFirst.hidden("decision")]
            #expect(try await visitor.post(target, confirmed, ["Origin": "http://evil.example"]).status == 403)
            #expect(try await visitor.post(target, confirmed.merging(["form": "x"]) { $1 }, own).status == 403)
            #expect(try await visitor.post(target, confirmed.merging(["decision": "bGlu"]) { $1 }, own).status == 400)
            let given = try await visitor.post(target, confirmed, own)
            #expect(given.status == 303 && given.headers["Location"] == "/dashboard/transactions/1")
            let shown = try await visitor.get("/dashboard/transactions/1")
            for text in [
                "Granted", "an operator assigned it", "operator:anna", "Claimed from quarantine",
                "token absent, order_id not_sent", "showed <b>Apple's</b> bill (anna)",
            ] {
                #expect(shown.read.contains(text), "\(text)")
            }
            #expect(!shown.text.contains("<b>Apple"))
            let again = try await visitor.post(target, form.merging(["user": "eve"]) { $1 }, own)
            #expect(again.status == 409 && again.read.contains("isn't in quarantine"))
            let chinese = try await visitor.get("/dashboard/transactions/1", ["Accept-Language": "zh"])
            for text in ["由运营人员指定归属", "认领"] { #expect(chinese.read.contains(text), "\(text)") }
            // A script has no form token, so the page shows it no form.
            var request = HTTPRequest(method: .get, path: "/dashboard/quarantine")
            request.headers.add("Host", DashboardServer.host)
            request.headers.add("Authorization", "Bearer \(DashboardServer.operatorToken)")
            #expect(Answer(await dashboardServer.server.respond(to: request)).status == 200)
        }
    }

    private let own = ["Origin": "http://\(DashboardServer.host)"]

    /// Names the user and the reason, and returns the fields of the form that confirms it.
    private func decision(
        _ visitor: DashboardBrowser, _ row: Int, _ user: String, reason: String = "r"
    ) async throws -> [String: String] {
        let form = try await visitor.get("/dashboard/quarantine").formToken
        let answer = try await visitor.post(
            "/dashboard/quarantine/\(row)/claims", ["form": form, "user": user, "reason": reason], own)
        #expect(answer.status == 200, "\(answer.read)")
        return ["form": form, "decision": try answer.hidden("decision")]
    }

    @Test("A claim that is confirmed twice grants once, and another user's form then changes nothing (U1, V2)")
    func twice() async throws {
        try await DashboardServer.open { dashboardServer in
            try await dashboardServer.submit(try await dashboardServer.pay(token: nil).signed)
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let forLin = try await decision(visitor, 1, "lin")
            let forEve = try await decision(visitor, 1, "eve")
            func facts() async throws -> [String] {
                try await dashboardServer.ledger.read { connection in
                    try connection.query(
                        """
                        SELECT 'evidence ' || count(*) AS line FROM evidence UNION ALL SELECT 'claims ' || count(*) \
                        FROM claims UNION ALL SELECT 'postings ' || count(*) FROM postings UNION ALL \
                        SELECT 'orders ' || count(*) FROM orders UNION ALL SELECT 'outbox ' || count(*) FROM outbox
                        """, []
                    ) { $0.text("line") }
                }
            }
            let target = "/dashboard/quarantine/1/claims"
            #expect(try await visitor.post(target, forLin, own).status == 303)
            let once = try await facts()
            let again = try await visitor.post(target, forLin, own)
            #expect(again.status == 303 && again.headers["Location"] == "/dashboard/transactions/1")
            #expect(try await visitor.post(target, forEve, own).status == 409)
            let late = try await visitor.post(
                target, ["form": forLin["form"] ?? "", "user": "eve", "reason": "r"], own)
            #expect(late.status == 409 && late.read.contains("isn't in quarantine"))
            #expect(try await facts() == once)
            let wallet = try await dashboardServer.call(.get, "/v1/users/lin/wallet")
            #expect(wallet["balances"]?["points"]?.int == 60)
        }
    }

    @Test("The claim form takes only what is in quarantine: a granted purchase keeps its owner and its basis (U1, V3)")
    func onlyQuarantine() async throws {
        try await DashboardServer.open { dashboardServer in
            let order = try await dashboardServer.openOrder(user: "lin")
            let payment = try await dashboardServer.pay(token: order)
            let receipt = try await dashboardServer.emulator.receipt(bundleID: DashboardServer.bundleID)
            let posted = try await dashboardServer.call(
                .post, "/v1/transactions",
                [
                    "receipt": .string(Base64.encode(receipt)), "transactionId": .string(payment.id),
                    "productId": .string(DashboardServer.points60), "orderId": .string(order.description),
                    "userId": "lin",
                ])
            #expect(posted["outcome"]?.string == "granted", "\(posted)")
            func basis() async throws -> OwnershipBasis? {
                try await dashboardServer.ledger.read { try OwnershipTable($0).find(1)?.basis }
            }
            #expect(try await basis() == .receipt)
            // A purchase in quarantine, from whose page the forms come.
            try await dashboardServer.submit(try await dashboardServer.pay(token: nil).signed)
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let taken = try await decision(visitor, 2, "lin")
            for form in [taken, ["form": taken["form"] ?? "", "user": "lin", "reason": "r"]] {
                let refused = try await visitor.post("/dashboard/quarantine/1/claims", form, own)
                #expect(refused.status == 409 && refused.read.contains("isn't in quarantine"))
                #expect(try await visitor.post("/dashboard/quarantine/99/claims", form, own).status == 404)
                #expect(try await visitor.post("/dashboard/quarantine/x/claims", form, own).status == 404)
            }
            #expect(try await basis() == .receipt)
        }
    }

    @Test("A claim grants to exactly the entered id, also with characters that pages show by code (U1)")
    func exactUser() async throws {
        try await DashboardServer.open { dashboardServer in
            try await dashboardServer.submit(try await dashboardServer.pay(token: nil).signed)
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let user = "a\u{200D}b<\">"
            let confirmed = try await decision(visitor, 1, user, reason: "客户出示了账单 \u{200F}")
            #expect(try await visitor.post("/dashboard/quarantine/1/claims", confirmed, own).status == 303)
            let owner = try await dashboardServer.ledger.read {
                try GrantTable($0).find(transaction: 1)?.userID
            }
            #expect(owner == UserID(user))
        }
    }

    @Test("A missing, blank or overlong reason is refused in the operator's language, and nothing is granted (U1)")
    func reasons() async throws {
        try await DashboardServer.open { dashboardServer in
            try await dashboardServer.submit(try await dashboardServer.pay(token: nil).signed)
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let form = try await visitor.get("/dashboard/quarantine").formToken
            for reason in ["", "  \u{3000} ", String(repeating: "理", count: 167), "a\u{7}b"] {
                let fields = ["form": form, "user": "lin", "reason": reason]
                let target = "/dashboard/quarantine/1/claims"
                let refused = try await visitor.post(target, fields, own)
                #expect(refused.status == 400 && refused.read.contains("reason:"), "\(refused.read)")
                let chinese = try await visitor.post(target, fields, own.merging(["Accept-Language": "zh"]) { $1 })
                #expect(chinese.status == 400 && chinese.read.contains("reason："), "\(chinese.read)")
            }
            #expect(try await visitor.get("/dashboard/transactions/1").read.contains("Quarantined"))
        }
    }
}
