import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger

/// Purchases in the emulated store, and the proceeds that the server computes for them. The shop opens on 2026-09-21,
/// in the last month of fiscal year 2026; ten days later it is 2027.
@Suite("The proceeds that Apple owes, and Apple's reports", .timeLimit(.minutes(1))) struct FinanceJourneys {
    private static let september = "/v1/finance/report?fiscalYear=2026&period=12"
    private static let october = "/v1/finance/report?fiscalYear=2027&period=1"

    private struct Purchase {
        let id: String
        let signed: String
    }

    private static func buy(
        _ product: String, in storefront: String, quantity: Int64 = 1, at shop: Shop, submitting: Bool = true
    ) async throws -> Purchase {
        let paid = try await shop.ask(
            .post, "/emulator/purchases",
            [
                "bundleId": .string(Shop.bundleID), "productId": .string(CloudShop.prefix + product),
                "quantity": .int(quantity), "storefront": .string(storefront), "account": .string("\(product)-buyer"),
                "receipt": false,
            ])
        #expect(paid.status == 200, "\(paid.body)")
        let purchase = Purchase(id: paid["transactionId"].text, signed: paid["signedTransaction"].text)
        if submitting { try await submit(purchase.signed, at: shop) }
        return purchase
    }

    /// With or without an owner: the money was paid in both cases.
    private static func submit(_ signed: String, user: String? = "lin", at shop: Shop) async throws {
        let reply = try await shop.submit(signed, as: .backend, userID: user)
        #expect([200, 202].contains(reply.status), "\(reply.body)")
    }

    private static func refund(_ purchase: Purchase, at shop: Shop, submitting: Bool = true) async throws -> String {
        let reply = try await shop.ask(.post, "/emulator/transactions/\(purchase.id)/refund", [:])
        let signed = reply["signedTransaction"].text
        #expect(reply.status == 200 && !signed.isEmpty, "\(reply.body)")
        if submitting { try await submit(signed, at: shop) }
        return signed
    }

    /// Four products in two storefronts: USD 8.97 of one, 6.99 and 9.99 of others, and CNY 17.94.
    private static func sell(
        at shop: Shop, submitting: Bool = true
    ) async throws -> (all: [Purchase], chinese: Purchase) {
        let chinese = try await buy("basic_monthly", in: "CHN", at: shop, submitting: submitting)
        var all = [chinese]
        all.append(try await buy("basic_monthly", in: "USA", at: shop, submitting: submitting))
        all.append(try await buy("basic_monthly", in: "USA", quantity: 2, at: shop, submitting: submitting))
        all.append(try await buy("premium_monthly_auto", in: "USA", at: shop, submitting: submitting))
        all.append(try await buy("pro", in: "USA", at: shop, submitting: false))
        if submitting { try await submit(all[4].signed, user: nil, at: shop) }
        return (all, chinese)
    }

    /// Units, gross, tax, commission, proceeds; then the same of refunds; then the net proceeds.
    private static func lines(_ reply: Reply) -> [String] {
        reply["periods"].list.flatMap { period in
            period.at("rows").list.map { row in
                let sums = ["sales", "refunds"].map { side in
                    ["gross", "tax", "commission", "proceeds"].map { part in
                        "\(row.at(side).at(part).at("amount").int ?? -1)"
                    }.joined(separator: "/")
                }
                let product = row.at("productId").text.replacing(CloudShop.prefix, with: "")
                return "FY\(period.at("fiscalYear").int ?? 0).\(period.at("period").int ?? 0) \(product) "
                    + "\(row.at("storefront").text) \(row.at("currency").text) \(row.at("unitsSold").int ?? -1): "
                    + "\(sums[0]) \(row.at("unitsRefunded").int ?? -1): \(sums[1]) = "
                    + "\(row.at("netProceeds").at("amount").int ?? 0)"
            }
        }
    }

    /// By hand: China's tax divisor is 1.0203 and its rate 75 % since 2026-03-15, so 17.94 is 17.58 without tax, of
    /// which 13.19 is the developer's. Classic prices in dollars are computed on whole dollars: 3.00, 7.00, 10.00 at 70
    /// %.
    private static let sold = [
        "FY2026.12 basic_monthly CHN CNY 1: 1794/36/439/1319 0: 0/0/0/0 = 1319",
        "FY2026.12 basic_monthly USA USD 3: 897/0/267/630 0: 0/0/0/0 = 630",
        "FY2026.12 premium_monthly_auto USA USD 1: 699/0/209/490 0: 0/0/0/0 = 490",
        "FY2026.12 pro USA USD 1: 999/0/299/700 0: 0/0/0/0 = 700",
    ]
    private static let refunded = ["FY2027.1 basic_monthly CHN CNY 0: 0/0/0/0 1: 1794/36/439/1319 = -1319"]

    @Test("Products and storefronts match a calculation by hand, with the day and amount of payment (C3)")
    func report() async throws {
        try await CloudShop.open { shop in
            _ = try await Self.sell(at: shop)
            let reply = try await shop.send(.get, Self.september)
            #expect(reply.status == 200 && reply["environment"].text == "sandbox")
            #expect(Self.lines(reply) == Self.sold)
            let period = try #require(reply["periods"].list.first)
            #expect(period.at("start").text == "2026-08-30" && period.at("end").text == "2026-09-26")
            #expect(period.at("paymentDate").text == "2026-10-29" && period.at("isWhole").bool == true)
            let totals = period.at("totals").list.map { $0.at("expectedPayment").at("amount").int }
            #expect(totals == [1_319, 1_820])
            // By days, and as text.
            #expect(
                Self.lines(try await shop.send(.get, "/v1/finance/report?from=2026-09-21&to=2026-09-21")) == Self.sold)
            #expect(
                try await shop.send(.get, "/v1/finance/report?from=2026-09-22&to=2026-10-21")["periods"].list.isEmpty)
            var asked = HTTPRequest(method: .get, path: "/v1/finance/report", query: [("fiscalYear", "2026")])
            asked.headers = HTTPHeaders([("Authorization", "Bearer \(Shop.secretKey)"), ("Accept", "text/csv")])
            let csv = try await shop.deliver(asked)
            #expect(csv.headers["Content-Type"]?.hasPrefix("text/csv") == true)
            let rows = String(decoding: csv.body, as: UTF8.self).split(separator: "\r\n")
            #expect(rows.count == 5 && rows[1].contains(",CHN,CNY,1,0,17.94,0.36,4.39,13.19,"), "\(rows)")
        }
    }

    @Test("A refund lowers the period in which it happens, at the rates of its sale; a reversed one does not (C3)")
    func refundLater() async throws {
        try await CloudShop.open { shop in
            let (_, chinese) = try await Self.sell(at: shop)
            shop.time.advance(seconds: 10 * 86_400)
            _ = try await Self.refund(chinese, at: shop)
            #expect(Self.lines(try await shop.send(.get, Self.september)) == Self.sold)
            #expect(Self.lines(try await shop.send(.get, Self.october)) == Self.refunded)
            let period = try #require(try await shop.send(.get, Self.october)["periods"].list.first)
            #expect(period.at("paymentDate").text == "2026-12-03")
            shop.time.advance(seconds: 3_600)
            let reply = try await shop.ask(.post, "/emulator/transactions/\(chinese.id)/refundReversal", [:])
            try await Self.submit(reply["signedTransaction"].text, at: shop)
            #expect(Self.lines(try await shop.send(.get, Self.september)) == Self.sold)
            #expect(try await shop.send(.get, Self.october)["periods"].list.isEmpty)
        }
    }

    @Test("Backwards, twice and with the refund first, the same purchases give the same report (C3, U4)")
    func anyOrder() async throws {
        try await CloudShop.open { shop in
            let (all, chinese) = try await Self.sell(at: shop, submitting: false)
            shop.time.advance(seconds: 10 * 86_400)
            let refunded = try await Self.refund(chinese, at: shop, submitting: false)
            #expect(try await shop.send(.get, Self.september)["periods"].list.isEmpty)
            try await Self.submit(refunded, at: shop)
            for purchase in all.reversed() + all { try await Self.submit(purchase.signed, at: shop) }
            #expect(Self.lines(try await shop.send(.get, Self.september)) == Self.sold)
            #expect(Self.lines(try await shop.send(.get, Self.october)) == Self.refunded)
        }
    }

    // MARK: Apple's report

    /// Apple's report of these purchases, made from the store's signed data.
    private static func appleReport(_ signed: [String], returns: [String] = []) throws -> AppleReportText {
        var report = AppleReportText()
        for (token, isReturn) in signed.map({ ($0, false) }) + returns.map({ ($0, true) }) {
            let part = try #require(token.split(separator: ".").dropFirst().first)
            let content = try JSONValue(decoding: try #require(Base64.decode(part, .url)))
            let currency = Currency(content.at("currency").text)
            let quantity = content.at("quantity").int ?? 1
            let paid = Money(milliunits: content.at("price").int ?? 0, currency: currency)
            let day = try #require(CivilDate(iso8601: "2026-09-21"))
            let storefront = content.at("storefront").text
            let proceeds = Proceeds(
                price: Money(amount: paid.amount / quantity, currency: currency), storefront: storefront, at: day,
                type: .consumable)
            report.add(
                AppleReportText.Line(
                    product: content.at("productId").text, units: isReturn ? -quantity : quantity,
                    share: try #require(proceeds?.proceeds), country: storefront == "CHN" ? "CN" : "US",
                    price: try #require(proceeds?.gross)))
        }
        return report
    }

    private static func post(_ report: AppleReportText, _ shop: Shop, name: String = "s.txt") async throws -> Reply {
        try await post(text: report.text, shop, name: name)
    }

    private static func post(
        text: String, _ shop: Shop, name: String = "s.txt", language: String = "en"
    ) async throws -> Reply {
        try Reply(
            await shop.deliver(
                HTTPRequest(
                    method: .post, path: "/v1/finance/apple-reports", query: [("name", name)],
                    headers: HTTPHeaders([
                        ("Authorization", "Bearer \(Shop.secretKey)"), ("Accept-Language", language),
                        ("Content-Type", "text/tab-separated-values"),
                    ]), body: Array(text.utf8))))
    }

    private static let comparison = "/v1/finance/comparison?fiscalYear=2026&period=12"

    private static func differences(_ shop: Shop) async throws -> [String] {
        let reply = try await shop.send(.get, comparison)
        #expect(reply.status == 200)
        return reply["lines"].list.filter { $0.at("verdict").text != "equal" }.map { line in
            let product = line.at("productId").text.replacing(CloudShop.prefix, with: "")
            let sides = ["apple", "ledger"].map { side -> String in
                guard line.at(side) != .null else { return "-" }
                return "\(line.at(side).at("units").int ?? -1)=\(line.at(side).at("proceeds").at("amount").int ?? -1)"
            }
            return "\(line.at("verdict").text) \(product) \(line.at("country").text) \(line.at("kind").text) "
                + sides.joined(separator: " ")
        }
    }

    @Test("Apple's report of the same purchases has no difference, after any number of imports (C3)")
    func equalReport() async throws {
        try await CloudShop.open { shop in
            let (all, _) = try await Self.sell(at: shop)
            // Before the first import, every line is the ledger's alone.
            #expect(try await Self.differences(shop).count == 4)
            let report = try Self.appleReport(all.map(\.signed))
            let first = try await Self.post(report, shop)
            #expect(first.status == 201 && first["report"].at("lines").int == 5, "\(first.body)")
            #expect(first["report"].at("start").text == "2026-08-30" && first["remarks"].list.isEmpty)
            #expect(try await Self.post(report, shop, name: "again.txt").status == 200)
            let reply = try await shop.send(.get, Self.comparison)
            #expect(reply["isEqual"].bool == true && reply["differences"].int == 0, "\(reply.body)")
            #expect(reply["lines"].list.count == 4 && reply["reports"].list.count == 1)
            #expect(reply["totals"].list.map { $0.at("difference").at("amount").int } == [0, 0])
            let listed = try await shop.send(.get, "/v1/finance/apple-reports")
            #expect(listed["data"].list.map { $0.at("name").text } == ["s.txt"])
        }
    }

    @Test("Each planted difference is named, and nothing else; a later report of a country replaces the earlier one")
    func plantedDifferences() async throws {
        try await CloudShop.open { shop in
            let (all, _) = try await Self.sell(at: shop)
            var report = try Self.appleReport(all.map(\.signed))
            report.lines[0].share = Money(amount: 1_318, currency: Currency("CNY"))
            report.lines[2].units = 3
            report.lines.remove(at: 4)
            report.add(
                AppleReportText.Line(
                    product: CloudShop.prefix + "basic_annual", units: 1,
                    share: Money(amount: 2_100, currency: Currency("USD")), country: "US",
                    price: Money(amount: 2_999, currency: Currency("USD"))))
            #expect(try await Self.post(report, shop).status == 201)
            #expect(
                try await Self.differences(shop) == [
                    "onlyAtApple basic_annual US sale 1=2100 -", "proceedsDiffer basic_monthly CN sale 1=1318 1=1319",
                    "unitsDiffer basic_monthly US sale 4=840 3=630", "onlyInLedger pro US sale - 1=700",
                ])
            // Apple corrects its report for the United States only.
            var corrected = try Self.appleReport(all.map(\.signed))
            corrected.lines.removeFirst()
            #expect(try await Self.post(corrected, shop).status == 201)
            #expect(try await Self.differences(shop) == ["proceedsDiffer basic_monthly CN sale 1=1318 1=1319"])
            // A refund that the ledger does not know.
            let returned = try Self.appleReport(all.map(\.signed), returns: [all[4].signed])
            #expect(try await Self.post(returned, shop).status == 201)
            #expect(try await Self.differences(shop) == ["onlyAtApple pro US refund 1=700 -"])
        }
    }

    @Test(
        "A file that can't be read whole is refused with its line and a remedy, in both languages; none of it stays"
    )
    func badFiles() async throws {
        try await CloudShop.open { shop in
            let (all, _) = try await Self.sell(at: shop)
            let good = try Self.appleReport(all.map(\.signed)).text
            let broken = good.replacing("17.94", with: "seventeen")
            let files = [
                "": "The file is empty.", "one\ttwo\n1\t2\n": "No line has the names of the columns.",
                broken: "Line 2: seventeen is no amount.",
                String(good.dropLast(60)): "There is no value for Country Of Sale.",
                good.replacing("Country Of Sale", with: "Land"): "The column Country Of Sale is missing.",
            ]
            for (text, reason) in files {
                let reply = try await Self.post(text: text, shop)
                #expect(reply.status == 422 && reply.code == "report_unusable", "\(reply.body)")
                #expect(reason.isEmpty || reply["detail"].text.contains(reason), "\(reply.body)")
                let chinese = try await Self.post(text: text, shop, language: "zh")
                #expect(chinese["title"].text.contains("财务报告") && chinese["detail"].text != reply["detail"].text)
            }
            #expect(try await Self.post(text: broken, shop, language: "zh")["detail"].text.hasPrefix("第 2 行："))
            #expect(try await shop.send(.get, "/v1/finance/apple-reports")["data"].list.isEmpty)
            #expect(try await Self.differences(shop).count == 4)
            let huge = String(repeating: "x", count: (8 << 20) + 1)
            #expect(shop.server.router.bodyLimit(method: .post, path: "/v1/finance/apple-reports") < huge.utf8.count)
        }
    }

    @Test("Only a backend's key reads the finances, and wrong parameters are reported")
    func callers() async throws {
        try await CloudShop.open { shop in
            for path in [Self.september, Self.comparison, "/v1/finance/calendar", "/v1/finance/apple-reports"] {
                #expect(try await shop.send(.get, path, as: .user("lin")).status == 403)
                #expect(try await shop.send(.get, path, as: .anonymous).status == 401)
            }
            for (query, detail) in [
                ("fiscalYear=1999", "fiscalYear: 2008 to 2100"), ("fiscalYear=2026&period=13", "period: 1 to 12"),
                ("period=1", "fiscalYear: required"), ("from=2026-01-01", "to: must be a day"),
                ("from=2026-01-02&to=2026-01-01", "to: must not be before from"),
                ("from=2026-01-01&to=2026-01-02&fiscalYear=2026", "not allowed beside"),
                ("from=2000-01-01&to=2026-01-01", "at most ten years"), ("environment=xcode", "environment:"),
            ] {
                let reply = try await shop.send(.get, "/v1/finance/report?\(query)")
                #expect(reply.status == 400 && reply["detail"].text.contains(detail), "\(query): \(reply.body)")
            }
        }
    }

    @Test("Calendar, tiers and proceeds are the same over HTTP as from the commands (C1, C2, C3)")
    func rules() async throws {
        try await CloudShop.open { shop in
            let calendar = try await shop.send(.get, "/v1/finance/calendar?year=2026")
            #expect(calendar["start"].text == "2025-09-28" && calendar["weeks"].int == 52)
            #expect(calendar["periods"].list.first?.at("paymentDate").text == "2025-12-04")
            #expect(calendar["periods"].list.count == 12)
            let present = try await shop.send(.get, "/v1/finance/calendar")
            #expect(present["fiscalYear"].int == 2_026)
            let tiers = try await shop.send(.get, "/v1/finance/tiers")
            #expect(tiers["tiers"].list.count == 95)
            let price = try await shop.send(.get, "/v1/finance/tiers?price=9.9&currency=CNY")
            #expect(price["standing"].text == "onNoTier" && price["tiers"].list.isEmpty)
            #expect(price["nearest"].at("below").at("prices").at("CNY").at("amount").int == 800)
            #expect(try await shop.send(.get, "/v1/finance/tiers?tier=1")["tiers"].list.first?.at("tier").text == "1")
            let proceeds = try await shop.send(
                .get, "/v1/finance/proceeds?price=6&currency=CNY&storefront=CHN&at=2019-10-03")
            #expect(proceeds["proceeds"].at("amount").int == 412 && proceeds["taxDivisor"].text == "1.0203")
            let year = try await shop.send(
                .get,
                "/v1/finance/proceeds?price=6&currency=CNY&storefront=CN&at=2019-10-03&type=auto-renewable&paidDays=365"
            )
            #expect(year["rateClass"].text == "afterOneYear" && year["rate"].text == "0.85")
            for query in [
                "price=6", "price=6&currency=CNY", "price=x&currency=CNY&storefront=CHN",
                "price=6&currency=CNY&storefront=XX", "price=6&currency=CNY&storefront=CHN&at=2026",
                "price=6&currency=CNY&storefront=CHN&paidDays=-1", "price=6&currency=CNY&storefront=CHN&type=a",
                "price=6&currency=CNY&storefront=CHN&smallBusiness=2",
            ] {
                #expect(try await shop.send(.get, "/v1/finance/proceeds?\(query)").status == 400, "\(query)")
            }
            #expect(try await shop.send(.get, "/v1/finance/tiers?tier=99").status == 400)
        }
    }

    @Test("The Small Business Program counts from its first day to its last (C2)")
    func smallBusiness() async throws {
        func proceeds(since: String?, until: String?) async throws -> Int64? {
            var found: Int64?
            let terms = DeveloperTerms(
                isSmallBusiness: true, since: since.flatMap { CivilDate(iso8601: $0) },
                until: until.flatMap { CivilDate(iso8601: $0) })
            try await Shop.open(
                change: {
                    $0.catalog = CloudShop.catalog
                    $0.developerTerms = terms
                }
            ) { shop in
                try await CloudShop.stock(shop)
                _ = try await Self.buy("pro", in: "USA", at: shop)
                let rows = try await shop.send(.get, Self.september)["periods"].list.first?.at("rows").list
                found = rows?.first?.at("sales").at("proceeds").at("amount").int
            }
            return found
        }
        #expect(try await proceeds(since: "2026-09-21", until: nil) == 850)
        #expect(try await proceeds(since: "2021-01-01", until: "2026-09-20") == 700)
    }
}
