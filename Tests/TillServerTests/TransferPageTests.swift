import Testing
import TillBilling
import TillPages

@testable import TillServer

@Suite("Transfers on the dashboard") struct TransferPageTests {
    @Test("An order's page shows that its grant was moved: when, to whom, why and by whom (U9, P12)")
    func timeline() async throws {
        try await DashboardServer.open { dashboardServer in
            let (order, _) = try await dashboardServer.sell(to: "guest-7")
            dashboardServer.time.advance(seconds: 5)
            let merged = try await dashboardServer.call(
                .post, "/v1/users/lin/guests", ["guestId": "guest-7", "reason": "<first> sign-in"])
            dashboardServer.time.advance(seconds: 5)
            _ = try await dashboardServer.call(
                .post, "/v1/transfers/\(merged["id"]?.string ?? "")/reversal",
                ["reason": "the wrong Lin", "operator": "anna"])
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let page = try await visitor.get("/dashboard/orders/\(order)")
            #expect(page.status == 200)
            for text in [
                "Moved to another user", "guest-7 → lin", "A guest signed in to an account. <first> sign-in",
                "lin → guest-7", "the wrong Lin", "anna", "key:backend", "Moved",
            ] {
                #expect(page.read.contains(text), "\(text)")
            }
            #expect(!page.text.contains("<first>"))
            #expect(!page.read.contains("Current owner"))
            _ = try await dashboardServer.call(.post, "/v1/users/wei/guests", ["guestId": "guest-7"])
            let chinese = try await visitor.get("/dashboard/orders/\(order)", ["Accept-Language": "zh"])
            for text in ["转移给其他用户", "游客登录了账号。", "当前归属客户"] { #expect(chinese.read.contains(text), "\(text)") }
        }
    }
}
