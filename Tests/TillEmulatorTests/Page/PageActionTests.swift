import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("The forms of the emulated store's page")
struct PageActionTests {
    private static let purchase = [
        "bundleId": "com.example.learnpoints", "productId": "com.example.learnpoints.points60", "quantity": "2",
        "account": "lin", "outcome": "purchased", "appAccountToken": "3f2c91ab-0000-4000-8000-000000000001",
        "to": "/emulator/page/account?name=lin",
    ]

    private func transactions(_ world: EmulatedWorld, _ account: String = "lin") async -> [JSONValue] {
        await world.ask(.get, "/emulator/transactions", query: [("account", account)]).json["data"]?.array ?? []
    }

    @Test("A form makes its call of the control API, returns to its page, and shows the result there once")
    func buying() async throws {
        let world = try await EmulatedWorld()
        let done = await world.submit("buy", Self.purchase)
        #expect(done.status == 303)
        #expect(done.headers["Location"] == "/emulator/page/account?name=lin")
        let bought = try #require(await transactions(world).first)
        #expect(bought["quantity"] == 2)
        #expect(bought["appAccountToken"] == "3f2c91ab-0000-4000-8000-000000000001")
        let page = await world.see("/emulator/page/account", [("name", "lin")], cookies: done.cookies)
        let id = bought["transactionId"]?.string ?? "?"
        #expect(page.text.contains("role=\"status\"><bdi>Bought: transaction \(id).</bdi>"))
        #expect(page.cookies["till_emulator_said"] == "")
        #expect(!(await world.see("/emulator/page/account", [("name", "lin")])).text.contains("Bought: transaction"))

        let refunded = await world.submit("refund", ["id": id, "to": "/emulator"], "zh")
        #expect(refunded.status == 303 && refunded.headers["Location"] == "/emulator")
        let notified = await world.see("/emulator", [], "zh", cookies: refunded.cookies)
        #expect(notified.text.contains("交易 \(id) 已退款。"))
        #expect(await transactions(world).first?["revocationDate"]?.string != nil)
        await world.remove()
    }

    @Test("Forms approve and decline waiting purchases, empty queues and set addresses")
    func others() async throws {
        let world = try await EmulatedWorld()
        func buy(_ outcome: String) async throws -> String {
            try await world.buy("points60", ["outcome": .string(outcome), "account": "lin"])["transactionId"]?.string
                ?? ""
        }
        for (outcome, action, state) in [
            ("deferred", "approve", "purchased"), ("deferred", "decline", "declined"),
            ("interrupted", "approve", "purchased"),
        ] {
            let id = try await buy(outcome)
            #expect(await world.submit(action, ["id": id]).status == 303)
            #expect(await world.ask(.get, "/emulator/transactions/\(id)").json["state"] == .string(state))
        }
        let id = try await buy("purchased")
        #expect(await world.submit("finish", ["id": id]).status == 303)
        #expect(await world.ask(.get, "/emulator/transactions/\(id)").json["finished"] == true)
        _ = await world.submit("notify", ["url": "http://127.0.0.1:9/"])
        let url = try await world.emulator.store.ask { try SettingTable.value(.notificationURL, $0) }
        #expect(url == "http://127.0.0.1:9/")
        _ = await world.submit("notify", ["url": ""])
        #expect(try await world.emulator.store.ask { try SettingTable.value(.notificationURL, $0) } == nil)
        await world.remove()
    }

    @Test("Forms change clock, grace period, account and refunds; a month is the one that starts now")
    func moving() async throws {
        let world = try await EmulatedWorld()
        for (span, date) in [
            ("month", "2026-04-01"), ("month", "2026-05-01"), ("1w", "2026-05-08"), ("year", "2027-05-08"),
        ] {
            #expect(await world.submit("advance", ["advance": span]).status == 303)
            let now = await world.ask(.get, "/emulator/clock").json["now"]?.string ?? ""
            #expect(now.hasPrefix(date), "\(span)")
        }
        _ = await world.submit("clock", ["stopped": "true"])
        _ = await world.submit("clock", ["pace": "everyMinute"])
        let clock = await world.ask(.get, "/emulator/clock").json
        #expect(clock["stopped"] == true && clock["pace"] == "everyMinute")
        for (days, set) in [("16", JSONValue.int(16)), ("", .null)] {
            _ = await world.submit("grace", ["days": days])
            #expect(await world.ask(.get, "/emulator/subscriptions/grace").json["days"] == set)
        }
        let id = try await world.buy("points60", ["account": "lin"])["transactionId"]?.string ?? ""
        for action in ["refund", "refundReversal", "consumptionRequest"] {
            let done = await world.submit(action, ["id": id])
            let page = await world.see("/emulator", cookies: done.cookies)
            #expect(page.text.contains("role=\"status\""), "\(action)")
        }
        #expect(await world.ask(.get, "/emulator/transactions/\(id)/consumptionRequest").json["reason"] == "OTHER")
        for switched in ["asksToBuy", "mayPay", "paymentMethodWorks"] {
            _ = await world.submit("account", ["id": "lin", switched: "\(switched == "asksToBuy")"])
        }
        let account = await world.ask(.get, "/emulator/accounts/lin").json
        #expect(account["asksToBuy"] == true && account["mayPay"] == false && account["paymentMethodWorks"] == false)
        // An id with a slash has no path, and does not reach another account.
        _ = await world.submit("account", ["id": "li/n", "asksToBuy": "true"])
        #expect(await world.ask(.get, "/emulator/accounts").json["data"]?.array?.count == 1)
        await world.remove()
    }

    @Test("Pages show that faults are injected, as long as they are")
    func faults() async throws {
        let world = try await EmulatedWorld()
        let sentence = "Faults are configured"
        #expect(!(await world.see("/emulator")).text.contains(sentence))
        _ = await world.ask(.put, "/emulator/faults", ["drop": 0.5])
        let page = await world.see("/emulator/page/products")
        #expect(page.text.contains(sentence) && page.text.contains("href=\"/emulator/faults\""))
        _ = await world.ask(.delete, "/emulator/faults")
        #expect(!(await world.see("/emulator")).text.contains(sentence))
        await world.remove()
    }

    @Test("A refusal is shown in the page's language, and nothing is changed")
    func refusals() async throws {
        let world = try await EmulatedWorld()
        for (change, english, chinese) in [
            (["quantity": "eleven"], "whole number", "整数"), (["quantity": "11"], "whole number", "整数"),
            (["productId": "gold"], "does not sell gold", "商店没有商品 gold"), (["appAccountToken": "x"], "UUID", "UUID"),
            (["outcome": "maybe"], "one of", "以下之一"),
        ] {
            for (language, sentence) in [("en", english), ("zh", chinese)] {
                let answer = await world.submit("buy", Self.purchase.merging(change) { $1 }, language)
                #expect(answer.status == 303)
                let page = await world.see("/emulator", [], language, cookies: answer.cookies)
                #expect(page.text.contains("role=\"alert\""), "\(change)")
                #expect(page.text.contains(sentence), "\(change) \(language)")
            }
        }
        #expect(await transactions(world).isEmpty)
        for id in ["", "0", "x", "1/refund/../2", "{id}"] {
            let answer = await world.submit("refund", ["id": id])
            let page = await world.see("/emulator", cookies: answer.cookies)
            #expect(page.text.contains("role=\"alert\""), "\(id)")
        }
        #expect(await world.submit("explode", [:]).status == 404)
        await world.remove()
    }

    @Test("A form of a foreign page is refused, whatever it claims; so is one under a foreign host name")
    func foreign() async throws {
        let world = try await EmulatedWorld()
        let own = "http://127.0.0.1:9000"
        for (origin, site) in [
            ("http://evil.example", "cross-site"), ("http://evil.example", nil), ("null", nil), (nil, "cross-site"),
            ("http://127.0.0.1:9001", "same-site"), ("http://127.0.0.1:9001", nil), (own, "cross-site"),
            (own, "same-site"), (nil, nil), ("http://localhost:9000", nil),
        ] as [(String?, String?)] {
            let answer = await world.submit("buy", Self.purchase, origin: origin, site: site)
            #expect(answer.status == 403, "\(origin ?? "-") \(site ?? "-")")
        }
        let rebound = await world.submit(
            "buy", Self.purchase, host: "evil.example:9000", origin: "http://evil.example:9000")
        #expect(rebound.status == 421)
        #expect(await transactions(world).isEmpty)
        for (origin, site) in [(own, "same-origin"), (own, nil), (nil, "same-origin")] as [(String?, String?)] {
            #expect(await world.submit("buy", Self.purchase, origin: origin, site: site).status == 303)
        }
        #expect(await transactions(world).count == 3)
        await world.remove()
    }

    @Test(
        "A form returns to pages of the store only",
        arguments: [
            "https://evil.example/", "//evil.example", "/dashboard", "/emulatorx", "/emulator/../x",
            "javascript:alert(1)",
            "/emulator\r\nSet-Cookie: a=b", "",
        ])
    func back(_ wanted: String) async throws {
        let world = try await EmulatedWorld()
        let answer = await world.submit("buy", Self.purchase.merging(["to": wanted]) { $1 })
        #expect(answer.status == 303)
        #expect(answer.headers["Location"] == "/emulator")
        await world.remove()
    }

    @Test("A forged or oversized message is not shown")
    func messages() async throws {
        let world = try await EmulatedWorld()
        for cookie in ["", "good", "good.", "evil.aGk", "good.%%%", "bad." + String(repeating: "A", count: 4_000)] {
            let page = await world.see("/emulator", cookies: ["till_emulator_said": cookie])
            #expect(page.status == 200)
            #expect(!page.text.contains("role=\"alert\""), "\(cookie.prefix(20))")
        }
        let long = PageMessage(isGood: false, String(repeating: "学", count: 2_000))
        #expect(long.cookie.utf8.count <= 2_000)
        #expect(PageMessage(cookie: long.cookie)?.isGood == false)
        await world.remove()
    }

    @Test("Every button's form leads to a route of the control API, and buttons without a route are hidden")
    func served() async throws {
        let world = try await EmulatedWorld()
        let visit = PageVisit(
            request: HTTPRequest(method: .get, path: "/emulator"), localize: .init(language: .english), message: nil,
            control: world.emulator.router)
        for action in PageAction.allCases { #expect(visit.serves(action), "\(action)") }
        let nothing = PageVisit(
            request: HTTPRequest(method: .get, path: "/emulator"), localize: .init(language: .english), message: nil,
            control: Router { _, status, _ in HTTPResponse(status: status) })
        #expect(!nothing.serves(.buy))
        await world.remove()
    }
}
