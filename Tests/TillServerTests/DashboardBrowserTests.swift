import Foundation
import Testing
import TillBilling
import TillHTTP

@testable import TillServer

@Suite(
    "The dashboard in a real browser", .serialized, .timeLimit(.minutes(4)),
    .enabled(if: Chromium.path != nil, "chromium is not installed: apt-get install chromium"))
struct DashboardBrowserTests {
    private static let hostileUser = #"<script>hacked=1</script>"><img src=x onerror=hacked=1>"#
    private static let hostileText = hostileUser + "\u{202E}evil"

    /// Orders in different states, one of them with a hostile name, a refused proof and an unclaimed payment.
    private struct Scene {
        let paid: OrderID
        let hostile: OrderID
        let cancelled: OrderID
    }

    private static func scene(_ dashboardServer: DashboardServer) async throws -> Scene {
        let (paid, _) = try await dashboardServer.sell(to: "lin")
        dashboardServer.time.advance(seconds: 61)
        let hostile = try await dashboardServer.openOrder(
            user: hostileUser, quantity: 3, device: hostileUser, metadata: ["note": .string(hostileText)])
        _ = try await dashboardServer.forge(beside: hostile)
        dashboardServer.time.advance(seconds: 17)
        let cancelled = try await dashboardServer.openOrder(
            user: "a-rather-long-user-id-as-backends-make-them-0123456789abcdef")
        try await dashboardServer.close(cancelled, as: "cancel", reason: "SKErrorPaymentCancelled")
        let (refunded, transaction) = try await dashboardServer.sell(to: "wei")
        let refund = HTTPRequest(method: .post, path: "/emulator/transactions/\(transaction)/refund")
        dashboardServer.time.advance(seconds: 30)
        let reply = await dashboardServer.emulator.respond(to: refund)
        let signed = try #require(try Answer(reply).member("signedTransaction"))
        try await dashboardServer.submit(signed, order: refunded)
        try await dashboardServer.submit(try await dashboardServer.pay(DashboardServer.unlisted, token: nil).signed)
        _ = try await dashboardServer.server.ledger.storeAppleReport(
            Array(DashboardFinanceTests.file(units: 3, sum: "13.23").utf8), name: "S_\(hostileText).txt",
            actor: "operator:anna")
        return Scene(paid: paid, hostile: hostile, cancelled: cancelled)
    }

    /// A server on its own port, with a browser connected to it.
    private static func visit(_ look: (DashboardServer, BrowserPage, String) async throws -> Void) async throws {
        try await DashboardServer.open { dashboardServer in
            let router = dashboardServer.server.router
            let listener = try Listener(
                configuration: ListenerConfiguration(), bodyLimit: router.bodyLimit(method:path:),
                handler: router.respond(to:))
            func stop() async { await listener.stop(grace: 1) }
            do {
                try await Chromium.open { page in
                    try await look(dashboardServer, page, "http://127.0.0.1:\(listener.port)/dashboard")
                }
            } catch {
                await stop()
                throw error
            }
            await stop()
        }
    }

    private static func logIn(_ page: BrowserPage, _ address: String) async throws {
        try await page.open(address)
        try await page.until("document.activeElement.id === 'token'", "the token can be typed at once")
        try await page.type(DashboardServer.operatorToken)
        try await page.press("Enter", code: 13, text: "\r")
        try await page.until("document.querySelector('h1')?.textContent === 'Orders'", "the orders are shown")
    }

    @Test("An operator logs in, sees new orders without a reload, filters the list, opens an order and logs out (U9)")
    func visit() async throws {
        try await Self.visit { dashboardServer, page, address in
            let scene = try await Self.scene(dashboardServer)
            try await page.open(address)
            try await page.type("a wrong token")
            try await page.press("Enter", code: 13, text: "\r")
            try await page.until("document.querySelector('[role=alert]')", "the wrong token is refused")
            let refused = page.takeErrors()
            #expect(refused.count == 1 && refused[0].contains("401"), "only the refusal itself: \(refused)")

            try await Self.logIn(page, address)
            #expect(try await page.value("document.querySelectorAll('table.orders tbody tr').length") == 4)
            let user = try await page.text("document.querySelector('#row-\(scene.hostile) .user').textContent")
            #expect(user.hasPrefix("<script>hacked=1</script>\"><img src=x"))
            #expect(try await page.value("typeof hacked") == "undefined")
            #expect(try await page.value("document.querySelectorAll('main script, main img').length") == 0)

            // A new order, and a new state of an older one, appear without a reload.
            _ = try await page.value("marker = 1")
            let fresh = try await dashboardServer.openOrder(user: "zhang")
            try await page.until("document.getElementById('row-\(fresh)')", "the new order appears by itself")
            #expect(try await page.text("document.querySelector('tbody tr').id") == "row-\(fresh)")
            _ = try await dashboardServer.submit(try await dashboardServer.pay(token: fresh).signed)
            try await page.until(
                "document.querySelector('#row-\(fresh) .status').textContent === 'Completed'", "it completes by itself")
            #expect(try await page.value("marker") == 1)

            // While paused the list does not change; then it refreshes again.
            try await page.click("#live-switch")
            let later = try await dashboardServer.openOrder(user: "zhao")
            try await Task.sleep(for: .seconds(3))
            #expect(try await page.value("document.getElementById('row-\(later)') === null") == true)
            try await page.click("#live-switch")
            try await page.until("document.getElementById('row-\(later)')", "the list goes on")

            // The filter stays while the list refreshes.
            _ = try await page.value("document.getElementById('status').value = 'cancelled'")
            try await page.click(".filters button")
            try await page.until("location.search.includes('status=cancelled')", "the list is narrowed")
            let another = try await dashboardServer.openOrder(user: "qian")
            try await dashboardServer.close(another, as: "cancel", reason: "")
            try await page.until("document.getElementById('row-\(another)')", "a fitting order appears")
            #expect(try await page.value("document.querySelectorAll('table.orders tbody tr').length") == 2)

            try await page.open(address)
            try await page.click("#order-\(scene.paid)")
            try await page.until("document.querySelector('.timeline')", "the order opens")
            let read = try await page.text("document.querySelector('main').innerText")
            for text in [scene.paid.description, OwnerMatch.token.sentence.en, "key:backend", "+60"] {
                #expect(read.contains(text), "\(text)")
            }
            try await page.click("summary")
            try await page.until("document.querySelector('table.claims').checkVisibility()", "the signed content opens")
            #expect(page.takeErrors().isEmpty)

            try await page.click(".who button")
            try await page.until("document.getElementById('token')", "logged out")
            try await page.open(address)
            #expect(try await page.text("location.pathname") == "/dashboard/login")
            #expect(page.takeErrors().isEmpty)
        }
    }

    @Test("An operator grants a purchase and reverses a merge, each after seeing what it does (U1, P12)")
    func decisions() async throws {
        try await Self.visit { dashboardServer, page, address in
            try await dashboardServer.sell(to: "guest-7")
            let merged = try await dashboardServer.call(.post, "/v1/users/lin/guests", ["guestId": "guest-7"])
            try await dashboardServer.submit(try await dashboardServer.pay(token: nil).signed)
            try await Self.logIn(page, address)
            try await page.open("\(address)/quarantine")
            try await page.click("summary")
            try await page.click("input[id^='user-']")
            try await page.type("lin")
            try await page.press("Tab", code: 9)
            try await page.type("showed the bill")
            try await page.press("Enter", code: 13, text: "\r")
            try await page.until("document.getElementById('confirm')", "the page shows what the claim does")
            try await page.checkLooks("claim")
            #expect(try await page.text("document.querySelector('main').innerText").contains("showed the bill"))
            try await page.click("#confirm")
            try await page.until(
                "/\\/transactions\\/\\d+$/.test(location.pathname) && document.readyState === 'complete'",
                "it is granted")
            #expect(try await page.text("document.querySelector('main').innerText").contains("operator:anna"))

            try await page.open("\(address)/transfers")
            try await page.checkLooks("transfers")
            try await page.click("td.kind a")
            try await page.until("document.getElementById('reverse')", "the page shows what the reversal does")
            try await page.checkLooks("transfer")
            // Without a reason the browser does not send the form.
            try await page.click("#reverse")
            #expect(try await page.text("location.pathname").hasSuffix(merged["id"]?.string ?? "-"))
            try await page.click("#reason")
            try await page.type("the wrong Lin")
            try await page.press("Enter", code: 13, text: "\r")
            try await page.until("document.body.innerText.includes('A transfer was taken back.')", "it is reversed")
            try await page.checkLooks("reversal")
            let wallet = try await dashboardServer.call(.get, "/v1/users/guest-7/wallet")
            #expect(wallet["balances"]?["points"]?.int == 60)
            #expect(page.takeErrors().isEmpty)
        }
    }

    @Test("The language is switched on the page and stays switched", .slow)
    func language() async throws {
        try await Self.visit { dashboardServer, page, address in
            let scene = try await Self.scene(dashboardServer)
            try await Self.logIn(page, address)
            try await page.click(".languages a")
            try await page.until("document.documentElement.lang === 'zh-Hans'", "the page speaks Chinese")
            #expect(try await page.text("document.querySelector('h1').textContent") == "订单")
            try await page.open("\(address)/orders/\(scene.paid)")
            #expect(try await page.text("document.body.innerText").contains(OwnerMatch.token.sentence.zh))
            try await page.click(".languages a")
            try await page.until("document.documentElement.lang === 'en'", "and English again")
            #expect(try await page.text("location.pathname").hasSuffix("/orders/\(scene.paid)"))
            #expect(page.takeErrors().isEmpty)
        }
    }

    @Test("Every page fits a phone and a desktop, in light and dark, in both languages, with readable contrast", .slow)
    func looks() async throws {
        try await Self.visit { dashboardServer, page, address in
            let scene = try await Self.scene(dashboardServer)
            try await page.resize(width: 360, height: 740, isPhone: true)
            try await page.open("\(address)/login")
            try await page.checkLooks("login")
            try await page.picture("login")
            try await Self.logIn(page, address)
            let pages = [
                "list": "", "paid": "/orders/\(scene.paid)", "hostile": "/orders/\(scene.hostile)",
                "cancelled": "/orders/\(scene.cancelled)", "quarantine": "/quarantine", "refusals": "/refusals",
                "transfers": "/transfers",
                "unclaimed": "/transactions/3", "finance": "/finance", "period": "/finance?fiscalYear=2026&period=12",
                "missing": "/orders/3f2c91ab-0000-4000-8000-000000000001",
            ]
            for language in ["en", "zh"] {
                for (name, path) in pages.sorted(by: { $0.key < $1.key }) {
                    try await page.open("\(address)\(path)\(path.contains("?") ? "&" : "?")lang=\(language)")
                    _ = try await page.value("document.querySelectorAll('details').forEach((one) => one.open = true)")
                    for (width, isPhone) in [(360 as Int64, true), (1280, false)] {
                        try await page.resize(width: width, height: isPhone ? 740 : 900, isPhone: isPhone)
                        for isDark in [false, true] {
                            try await page.prefer(dark: isDark)
                            let look = "\(name)-\(language)-\(width)-\(isDark ? "dark" : "light")"
                            try await page.checkLooks(look)
                            try await page.picture(look)
                        }
                    }
                }
            }
            let errors = page.takeErrors().filter { !$0.contains("404") }
            #expect(errors.isEmpty, "\(errors)")
        }
    }

    @Test("The pages work with the keyboard alone, and in a browser that runs no scripts", .slow)
    func withoutMouseOrScript() async throws {
        try await Self.visit { dashboardServer, page, address in
            let scene = try await Self.scene(dashboardServer)
            try await Self.logIn(page, address)
            try await page.press("Tab", code: 9)
            #expect(try await page.text("document.activeElement.className") == "skip")
            #expect(try await page.value("document.activeElement.getBoundingClientRect().left >= 0") == true)
            let linkID = "order-\(scene.cancelled)"
            for _ in 0..<40 where try await page.text("document.activeElement.id") != linkID {
                try await page.press("Tab", code: 9)
            }
            // A refresh in between keeps the focus and the page.
            let fresh = try await dashboardServer.openOrder(user: "zhang")
            try await page.until("document.getElementById('row-\(fresh)')", "the list refreshes")
            #expect(try await page.text("document.activeElement.id") == linkID)
            try await page.press("Enter", code: 13, text: "\r")
            try await page.until("location.pathname.endsWith('\(scene.cancelled)')", "the order opens")

            try await page.send("Emulation.setScriptExecutionDisabled", ["value": true])
            try await page.open(address)
            #expect(try await page.value("document.querySelectorAll('table.orders tbody tr').length") == 5)
            #expect(try await page.value("document.getElementById('live').checkVisibility()") == false)
            #expect(page.takeErrors().isEmpty)
        }
    }

    @Test("The browser runs no script from injected markup, and these tests detect such errors")
    func policy() async throws {
        try await Self.visit { _, page, address in
            try await Self.logIn(page, address)
            #expect(page.takeErrors().isEmpty)
            _ = try await page.value(
                """
                document.getElementById("results").innerHTML =
                  "<img src=x onerror='hacked=1'><style>*{color:red}</style>";
                const script = document.createElement("script");
                script.textContent = "hacked = 1";
                document.body.append(script);
                """)
            try await page.until("document.querySelector('#results img').complete", "the picture has failed")
            #expect(try await page.value("typeof hacked") == "undefined")
            let errors = page.takeErrors().joined(separator: "\n")
            #expect(errors.contains("Content Security Policy"))
            let fetched = try await page.text("fetch('http://127.0.0.1:9/').then(() => 'went out', () => 'stopped')")
            #expect(fetched == "stopped")
        }
    }
}

extension Answer {
    /// A text member of a JSON body.
    func member(_ name: String) throws -> String? {
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        return object?[name] as? String
    }
}
