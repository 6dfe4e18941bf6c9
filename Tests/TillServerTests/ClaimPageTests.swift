import Testing
import TillBilling
import TillHTTP

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
            #expect(missing.status == 409)
            let given = try await visitor.post(target, form, own)
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
}
