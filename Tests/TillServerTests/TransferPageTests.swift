import Testing
import TillBilling
import TillHTTP
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

    private let own = ["Origin": "http://\(DashboardServer.host)"]

    /// A guest with one purchase, merged into an account; returns the transfer's id.
    private func merge(_ dashboardServer: DashboardServer) async throws -> String {
        try await dashboardServer.sell(to: "guest-7")
        dashboardServer.time.advance(seconds: 5)
        let merged = try await dashboardServer.call(
            .post, "/v1/users/lin/guests", ["guestId": "guest-7", "reason": "<first> sign-in"])
        return try #require(merged["id"]?.string)
    }

    private func points(of user: String, _ dashboardServer: DashboardServer) async throws -> Int64 {
        try await dashboardServer.call(.get, "/v1/users/\(user)/wallet")["balances"]?["points"]?.int ?? 0
    }

    @Test("An operator finds a merge, sees what a reversal moves back, and reverses it with a reason (P12, U9)")
    func reversal() async throws {
        try await DashboardServer.open { dashboardServer in
            let id = try await merge(dashboardServer)
            try await dashboardServer.sell(to: "lin")
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            for path in ["/dashboard/transfers", "/dashboard/transfers?user=guest-7"] {
                let list = try await visitor.get(path)
                #expect(list.text.contains("href=\"/dashboard/transfers/\(id)\""), "\(path)")
                for text in ["Guest merged", "guest-7", "lin", "<first> sign-in"] { #expect(list.read.contains(text)) }
            }
            #expect(try await visitor.get("/dashboard/transfers?user=eve").read.contains("No transfer matches."))
            let target = "/dashboard/transfers/\(id)"
            let page = try await visitor.get(target)
            #expect(page.status == 200)
            for text in ["A guest signed in to an account.", "60 points", "Reverse this transfer"] {
                #expect(page.read.contains(text), "\(text)")
            }
            #expect(!page.text.contains("<first>"))
            let form = ["form": try page.formToken, "reason": "the <wrong> Lin"]
            let made = try await visitor.post("\(target)/reversal", form, own)
            #expect(made.status == 303, "\(made.read)")
            let location = try #require(made.headers["Location"])
            #expect(location.hasPrefix("/dashboard/transfers/") && location != target)
            let shown = try await visitor.get(location)
            for text in ["A transfer was taken back.", "the <wrong> Lin", "operator:anna", "anna", id] {
                #expect(shown.read.contains(text), "\(text)")
            }
            #expect(!shown.text.contains("<wrong>") && !shown.text.contains("name=\"reason\""))
            #expect(try await visitor.get(target).read.contains("It was reversed"))
            #expect(try await visitor.get("/dashboard/transfers").read.contains("Reversed"))
            #expect(try await points(of: "guest-7", dashboardServer) == 60)
            #expect(try await points(of: "lin", dashboardServer) == 60)
            let chinese = try await visitor.get("/dashboard/transfers", ["Accept-Language": "zh"])
            for text in ["转移", "游客并入账号", "已撤销"] { #expect(chinese.read.contains(text), "\(text)") }
        }
    }

    @Test("A reversal that is posted twice moves once, even after the guest signed in again (P12)")
    func twice() async throws {
        try await DashboardServer.open { dashboardServer in
            let id = try await merge(dashboardServer)
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let target = "/dashboard/transfers/\(id)"
            let form = ["form": try await visitor.get(target).formToken, "reason": "r"]
            let first = try await visitor.post("\(target)/reversal", form, own)
            let again = try await visitor.post(
                "\(target)/reversal", form.merging(["reason": "another"]) { $1 }, own)
            #expect(first.status == 303 && again.status == 303)
            #expect(first.headers["Location"] == again.headers["Location"])
            _ = try await dashboardServer.call(.post, "/v1/users/wei/guests", ["guestId": "guest-7"])
            #expect(try await points(of: "wei", dashboardServer) == 60)
            let late = try await visitor.post("\(target)/reversal", form, own)
            #expect(late.headers["Location"] == first.headers["Location"])
            #expect(try await points(of: "wei", dashboardServer) == 60)
            #expect(try await points(of: "guest-7", dashboardServer) == 0)
            // Both at the same time.
            let second = try await dashboardServer.call(.get, "/v1/users/wei/transfers")
            let other = "/dashboard/transfers/\(second["data"]?.array?.first?["id"]?.string ?? "")"
            let (server, cookies) = (dashboardServer.server, visitor.cookies)
            let token = try await visitor.get(other).formToken
            let locations = await withTaskGroup(of: String?.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        var request = HTTPRequest(method: .post, path: "\(other)/reversal")
                        request.headers.add("Host", DashboardServer.host)
                        request.headers.add(
                            "Cookie", cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; "))
                        request.body = Array("form=\(token)&reason=r".utf8)
                        return await server.respond(to: request).headers["Location"]
                    }
                }
                return await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(locations.count == 1 && locations.first??.hasPrefix("/dashboard/transfers/") == true)
            #expect(try await points(of: "guest-7", dashboardServer) == 60)
            #expect(try await points(of: "wei", dashboardServer) == 0)
        }
    }

    @Test("Forms of other sites, of other sessions and without a reason reverse nothing (P12)")
    func refusals() async throws {
        try await DashboardServer.open { dashboardServer in
            let id = try await merge(dashboardServer)
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let target = "/dashboard/transfers/\(id)"
            let reversal = "\(target)/reversal"
            let form = ["form": try await visitor.get(target).formToken, "reason": "r"]
            #expect(try await visitor.post(reversal, form, ["Origin": "http://evil.example"]).status == 403)
            #expect(try await visitor.post(reversal, form, ["Sec-Fetch-Site": "cross-site"]).status == 403)
            #expect(try await visitor.post(reversal, ["reason": "r"], own).status == 403)
            let other = try await DashboardBrowser.loggedIn(dashboardServer)
            #expect(try await other.post(reversal, form, own).status == 403)
            let stranger = try await DashboardBrowser(dashboardServer).post(reversal, form, own)
            #expect(stranger.headers["Location"] == "/dashboard/login")
            let script = try await DashboardBrowser(dashboardServer).post(
                reversal, form, ["Authorization": "Bearer \(DashboardServer.operatorToken)"])
            #expect(script.headers["Location"] == "/dashboard/login")
            for reason in ["", "   ", String(repeating: "a", count: 501)] {
                let fields = form.merging(["reason": reason]) { $1 }
                let refused = try await visitor.post(reversal, fields, own)
                #expect(refused.status == 400 && refused.read.contains("reason:"))
                let chinese = try await visitor.post(reversal, fields, own.merging(["Accept-Language": "zh"]) { $1 })
                #expect(chinese.status == 400 && chinese.read.contains("reason："))
            }
            #expect(try await points(of: "lin", dashboardServer) == 60)
            for unknown in ["x", "3f2c91ab-0000-4000-8000-000000000001"] {
                #expect(try await visitor.get("/dashboard/transfers/\(unknown)").status == 404)
                #expect(try await visitor.post("/dashboard/transfers/\(unknown)/reversal", form, own).status == 404)
            }
        }
    }

    @Test("A reversal, and a merge whose time is over, have no form and are refused with the reason (P12)")
    func tooLate() async throws {
        try await DashboardServer.open { dashboardServer in
            let id = try await merge(dashboardServer)
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let form = ["form": try await visitor.get("/dashboard/transfers/\(id)").formToken, "reason": "r"]
            let made = try await visitor.post("/dashboard/transfers/\(id)/reversal", form, own)
            let reversal = try #require(made.headers["Location"])
            let back = try await visitor.post("\(reversal)/reversal", form, own)
            #expect(back.status == 409 && back.read.contains("can't be reversed"))
            let merged = try await dashboardServer.call(.post, "/v1/users/wei/guests", ["guestId": "guest-7"])
            dashboardServer.time.advance(seconds: 31 * 86_400)
            let later = try await DashboardBrowser.loggedIn(dashboardServer)
            let target = "/dashboard/transfers/\(merged["id"]?.string ?? "")"
            let page = try await later.get(target)
            #expect(page.read.contains("could be taken back is over") && !page.text.contains("name=\"reason\""))
            let late = try await later.post(
                "\(target)/reversal", ["form": try page.formToken, "reason": "r"], own)
            #expect(late.status == 409 && late.read.contains("could be taken back is over"))
            let chinese = try await later.get(target, ["Accept-Language": "zh"])
            #expect(chinese.read.contains("已超过可撤销该合并的期限"))
        }
    }
}
