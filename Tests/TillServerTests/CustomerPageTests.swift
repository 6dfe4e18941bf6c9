import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger

@testable import TillServer

@Suite("Customers on the dashboard") struct CustomerPageTests {
    private let own = ["Origin": "http://\(DashboardServer.host)"]
    private static let path = "/dashboard/customer?user="

    private func withCustomer(
        hasKey: Bool = true, _ body: (DashboardServer, DashboardBrowser) async throws -> Void
    ) async throws {
        let key = try #require(ErasureKey("an erasure key of at least thirty-two bytes"))
        try await DashboardServer.open(
            change: { $0.erasure = hasKey ? ErasureTerms(key: key) { _ in } : nil }
        ) { dashboardServer in
            try await dashboardServer.sell(to: "wei")
            try await body(dashboardServer, try await DashboardBrowser.loggedIn(dashboardServer))
        }
    }

    @Test("An operator exports a customer as a file, and erases the customer after typing the user id (R6)")
    func erasure() async throws {
        try await withCustomer { dashboardServer, visitor in
            #expect(try await visitor.get("/dashboard?user=wei").text.contains("href=\"/dashboard/customer?user=wei\""))
            let page = try await visitor.get(Self.path + "wei")
            #expect(page.status == 200)
            for text in ["wei", "60 points", "Export as a file", "Erase this customer", "points=60"] {
                #expect(page.read.contains(text), "\(text)")
            }
            let chinese = try await visitor.get(Self.path + "wei", ["Accept-Language": "zh"])
            for text in ["导出为文件", "抹除此客户"] { #expect(chinese.read.contains(text), "\(text)") }

            let form = ["form": try page.formToken, "user": "wei"]
            let file = try await visitor.post("/dashboard/customer/export", form, own)
            #expect(file.status == 200 && file.headers["Content-Disposition"]?.contains("till-export.json") == true)
            let document = try JSONValue(decoding: file.text)
            #expect(document["userId"]?.string == "wei" && document["orders"]?.array?.count == 1)
            #expect(document["notIncluded"]?.array?.count == 4)

            // Another site, another session, a wrong id and other points erase nothing.
            let erase = form.merging(["typed": "wei", "forfeit": "points=60"]) { $1 }
            let target = "/dashboard/customer/erasure"
            let foreign = try await visitor.post(target, erase, ["Origin": "https://evil.example"])
            #expect(foreign.status == 403)
            #expect(try await visitor.post(target, erase.merging(["form": "x"]) { $1 }, own).status == 403)
            for change in [["typed": "Wei"], ["typed": ""], ["forfeit": "points=59"], ["forfeit": ""]] {
                let refused = try await visitor.post(target, erase.merging(change) { $1 }, own)
                #expect(refused.status == 409, "\(change)")
            }
            #expect(try await visitor.post(target, erase.merging(["forfeit": "many"]) { $1 }, own).status == 400)
            #expect(try await visitor.get(Self.path + "wei").status == 200)

            let done = try await visitor.post(target, erase, own)
            #expect(done.status == 303, "\(done.read)")
            let location = try #require(done.headers["Location"])
            let shown = try await visitor.get(location)
            for text in ["erased:", "Erased (UTC)", "operator:anna", "60 points"] {
                #expect(shown.read.contains(text), "\(text)")
            }
            #expect(!shown.read.contains("Erase this customer") && !shown.read.contains("Export as a file"))
            #expect(try await visitor.get(Self.path + "wei").status == 404)
            #expect(!(try await visitor.get("/dashboard").read.contains("wei")))
        }
    }

    @Test("Without a key the page says what is missing, and a visitor without a session sees nothing (R6)")
    func noKey() async throws {
        try await withCustomer(hasKey: false) { _, visitor in
            let page = try await visitor.get(Self.path + "wei")
            #expect(page.read.contains("no key for erasures") && !page.text.contains("id=\"erase\""))
            let form = ["form": try page.formToken, "user": "wei", "typed": "wei", "forfeit": "points=60"]
            #expect(try await visitor.post("/dashboard/customer/erasure", form, own).status == 501)
        }
        try await DashboardServer.open { dashboardServer in
            try await dashboardServer.sell(to: "wei")
            let stranger = DashboardBrowser(dashboardServer)
            #expect(try await stranger.get(Self.path + "wei").status == 303)
            for path in ["/dashboard/customer/export", "/dashboard/customer/erasure"] {
                let refused = try await stranger.post(path, ["user": "wei", "typed": "wei"], own)
                #expect(refused.status == 303, "\(path)")
            }
        }
    }
}
