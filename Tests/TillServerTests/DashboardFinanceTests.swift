import Foundation
import Testing
import TillBilling
import TillHTTP
import TillLedger

@testable import TillDashboard
@testable import TillServer

@Suite("The dashboard's finance page") struct DashboardFinanceTests {
    /// Two sales, one of them refunded in the first month of the next fiscal year; the office opens on 2026-09-21.
    private static func sell(_ dashboardServer: DashboardServer) async throws {
        let (_, first) = try await dashboardServer.sell(to: "lin")
        _ = try await dashboardServer.sell(to: "wei")
        dashboardServer.time.advance(seconds: 10 * 86_400)
        let refund = HTTPRequest(method: .post, path: "/emulator/transactions/\(first)/refund")
        let signed = try #require(
            try Answer(await dashboardServer.emulator.respond(to: refund)).member("signedTransaction"))
        try await dashboardServer.submit(signed)
    }

    private static let september = "/dashboard/finance?fiscalYear=2026&period=12"

    /// Apple's report of the two sales, with proceeds of 4.41 each: 6.00 ÷ 1.0203 × 75 %.
    static func file(units: Int = 2, share: String = "4.41", sum: String = "8.82") -> String {
        """
        Start Date\tEnd Date\tVendor Identifier\tQuantity\tPartner Share\tExtended Partner Share\t\
        Partner Share Currency\tSales or Return\tCountry Of Sale\tCustomer Price\tCustomer Currency
        08/30/2026\t09/26/2026\t\(DashboardServer.points60)\t\(units)\t\(share)\t\(sum)\tCNY\tS\tCN\t6.00\tCNY
        Total_Rows\t1
        Total_Amount\t\(sum)
        Total_Units\t\(units)

        """
    }

    @Test("Charts and tables show units, gross, tax, commission, proceeds, refunds and payment in both languages (C3)")
    func figures() async throws {
        try await DashboardServer.open { dashboardServer in
            try await Self.sell(dashboardServer)
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let page = try await visitor.get(Self.september)
            #expect(page.status == 200)
            // 12.00 is 11.76 without tax, of which 8.82 is proceeds.
            for text in ["12.00", "0.24", "2.94", "8.82", "2026-10-29", "2026-08-30 – 2026-09-26", "60 points", "CHN"] {
                #expect(page.read.contains(text), "\(text)")
            }
            for text in ["Finance", "By fiscal period", "Expected payment", "− Commission", "Sep, period 12"] {
                #expect(page.read.contains(text), "\(text)")
            }
            let label = """
                60 points: gross 12.00, tax 0.24, commission 2.94, proceeds 8.82, refunded 0.00
                """
            #expect(page.text.contains("role=\"img\" aria-label=\"\(label)\""))
            #expect(page.text.contains("<rect class=\"good\" x=\"0\" y=\"0\" width=\"735\" height=\"16\">"))
            #expect(page.text.contains("href=\"/dashboard/finance\" aria-current=\"page\""))
            #expect(!page.text.contains("<script"))

            let chinese = try await visitor.get(Self.september, ["Accept-Language": "zh"])
            for text in ["财务", "按财务月", "预计回款", "− 佣金", "第 12 期（9 月）", "60 学点", "8.82"] {
                #expect(chinese.read.contains(text), "\(text)")
            }
            #expect(!chinese.read.contains("Commission"))

            let later = try await visitor.get("/dashboard/finance?fiscalYear=2027&currency=CNY")
            #expect(later.read.contains("−4.41") && later.read.contains("0 − 1"))
            let empty = try await visitor.get("/dashboard/finance?fiscalYear=2020&period=&currency=&environment=")
            #expect(empty.read.contains("Nothing was sold or refunded."))
            // The default fiscal year is that of the current day, 2026-10-01.
            #expect(try await visitor.get("/dashboard/finance").text.contains("<option value=\"2027\" selected>"))
            #expect(try await visitor.get("/dashboard/finance?period=99").status == 400)
            #expect(try await DashboardBrowser(dashboardServer).get("/dashboard/finance").status == 303)
        }
    }

    @Test("The page's form imports a report, shows it beside the ledger and names the differences (C3)")
    func importing() async throws {
        try await DashboardServer.open { dashboardServer in
            try await Self.sell(dashboardServer)
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            #expect(try await visitor.get(Self.september).read.contains("No report of this period was imported."))
            let sent = try await visitor.upload(Self.file(), named: "S_\"<b>.txt")
            #expect(sent.status == 303 && sent.headers["Location"] == Self.september)
            let page = try await visitor.get(Self.september)
            for text in ["No difference", "1 of 1 lines are equal.", "operator:anna", "S_%22<b>.txt"] {
                #expect(page.read.contains(text), "\(text)")
            }
            #expect(!page.text.contains("<b>"))

            #expect(try await visitor.upload(Self.file(units: 3, sum: "13.23"), named: "b.txt").status == 303)
            let differing = try await visitor.get(Self.september)
            for text in ["1 differ", "units differ", "0 of 1 lines are equal.", "13.23", "4.41", "b.txt"] {
                #expect(differing.read.contains(text), "\(text)")
            }
            let chinese = try await visitor.get(Self.september, ["Accept-Language": "zh"])
            #expect(chinese.read.contains("1 行不同") && chinese.read.contains("数量不同"))
        }
    }

    @Test("A bad file is refused with the fault and the remedy of each line, and none of it is stored (C3)")
    func badFile() async throws {
        try await DashboardServer.open { dashboardServer in
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let page = try await visitor.upload(Self.file(share: "<i>four</i>"), named: "bad.txt")
            #expect(page.status == 422)
            for text in ["Not imported", "bad.txt", "<i>four</i> is no amount.", "Use the file as Apple made it"] {
                #expect(page.read.contains(text), "\(text)")
            }
            #expect(!page.text.contains("<i>"))
            let chinese = try await visitor.upload(
                Self.file(share: "four"), named: "bad.txt", ["Accept-Language": "zh"])
            #expect(chinese.read.contains("未导入") && chinese.read.contains("“four”不是金额。"))
            let stored = try await dashboardServer.ledger.read { try AppleReportTable($0).list(before: .max, limit: 9) }
            #expect(stored.isEmpty)
        }
    }

    @Test("A report is not imported from another site, from a visitor who isn't logged in, or without a form")
    func forged() async throws {
        try await DashboardServer.open { dashboardServer in
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let abroad = try await visitor.upload(Self.file(), named: "a", ["Origin": "https://evil.example"])
            #expect(abroad.status == 403)
            #expect(try await visitor.upload(Self.file(), named: "a", token: "guessed").status == 403)
            #expect(try await visitor.upload(Self.file(), named: "a", token: .some(nil)).status == 403)
            #expect(
                try await DashboardBrowser(dashboardServer).upload(Self.file(), named: "a", token: "x").status == 303)
            for (type, body) in [
                ("text/plain", "x"), ("multipart/form-data", "x"), ("multipart/form-data; boundary=b", "--c\r\n"),
                ("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"form\"\r\n\r\nx"),
                ("multipart/form-data; boundary=b", "--b\r\n\r\n\r\n--b--"),
                ("multipart/form-data; boundary=b", "--b\r\n--b--"),
                ("multipart/form-data; boundary=b", "--b\r\n"), ("multipart/form-data; boundary=b", "--b\r"),
                ("multipart/form-data; boundary=b", "--b"),
                ("multipart/form-data; boundary=\(String(repeating: "b", count: 71))", "--b"),
                (
                    "multipart/form-data; boundary=b",
                    String(repeating: "--b\r\nContent-Disposition: x; name=a\r\n\r\n\r\n", count: 20) + "--b--"
                ),
            ] {
                #expect(try await visitor.send(body, type: type).status == 400, "\(type) \(body.prefix(60))")
            }
            let stored = try await dashboardServer.ledger.read { try AppleReportTable($0).list(before: .max, limit: 9) }
            #expect(stored.isEmpty)
        }
    }

    @Test("Reports are made one at a time, so that orders don't wait for a queue of them")
    func oneAtATime() async throws {
        let limiter = ReportLimiter()
        let answer = try await limiter.withLimit { () async throws -> String in
            do {
                return try await limiter.withLimit { "both" }
            } catch let refused as RefusalError {
                return refused.refusal.rawValue
            }
        }
        #expect(answer == "too_many_requests")
        #expect(try await limiter.withLimit { 1 } == 1)
    }

    @Test(
        "Amounts are written with thousands separators",
        arguments: [
            (0, "USD", "0.00"), (5, "USD", "0.05"), (-5, "USD", "−0.05"), (99_999, "CNY", "999.99"),
            (100_000, "CNY", "1,000.00"), (123_456_789_012, "CNY", "1,234,567,890.12"),
            (-1_234_567, "JPY", "−1,234,567"),
            (1_234_567, "KWD", "1,234.567"), (.min, "JPY", "−9,223,372,036,854,775,808"),
        ] as [(Int64, String, String)])
    func grouped(_ amount: Int64, _ currency: String, _ text: String) {
        #expect(Grouped.text(amount, Currency(currency)) == text)
    }
}

extension DashboardBrowser {
    /// Uploads a file as the page's form does, with the page's own token unless the call gives another.
    func upload(
        _ text: String, named name: String, _ extra: [String: String] = [:], token: String?? = .none
    ) async throws -> Answer {
        let own = token == nil ? try await get("/dashboard/finance").formToken : token ?? nil
        let field = own.map { "--b\r\nContent-Disposition: form-data; name=\"form\"\r\n\r\n\($0)\r\n" } ?? ""
        let fileName = name.replacingOccurrences(of: "\"", with: "%22")
        return try await send(
            field + "--b\r\nContent-Disposition: form-data; name=\"report\"; filename=\"\(fileName)\"\r\n"
                + "Content-Type: text/plain\r\n\r\n\(text)\r\n--b--\r\n",
            type: "multipart/form-data; boundary=b", extra)
    }

    func send(_ body: String, type: String, _ extra: [String: String] = [:]) async throws -> Answer {
        var request = HTTPRequest(method: .post, path: "/dashboard/finance/apple-reports")
        let fields = ["Content-Type": type, "Origin": "http://\(DashboardServer.host)"]
        for (name, value) in headers.merging(fields, uniquingKeysWith: { $1 }).merging(extra, uniquingKeysWith: { $1 })
        {
            request.headers.add(name, value)
        }
        if !cookies.isEmpty {
            request.headers.add("Cookie", cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; "))
        }
        request.body = Array(body.utf8)
        return Answer(await dashboardServer.server.respond(to: request))
    }
}
