import Foundation
import Testing
import TillAppStore
import TillBilling
import TillHTTP

@testable import TillEmulator

@Suite(
    "The emulated store's page in a real browser", .serialized, .timeLimit(.minutes(4)),
    .enabled(if: Chromium.path != nil, "chromium is not installed: apt-get install chromium"))
struct EmulatorPageBrowserTests {
    /// A store on its own port, opened in a browser.
    private static func visit(
        _ world: EmulatedWorld, _ look: (BrowserPage, String) async throws -> Void
    ) async throws {
        let router = world.emulator.router
        let listener = try Listener(
            configuration: ListenerConfiguration(), bodyLimit: router.bodyLimit(method:path:),
            handler: router.respond(to:))
        func stop() async {
            await listener.stop(grace: 1)
            await world.remove()
        }
        do {
            try await Chromium.open { page in try await look(page, "http://127.0.0.1:\(listener.port)/emulator") }
        } catch {
            await stop()
            throw error
        }
        await stop()
    }

    @Test("By clicks alone a purchase is made, appears, is refunded, and time passes")
    func clicking() async throws {
        try await Self.visit(try await EmulatedWorld()) { page, address in
            try await page.open(address)
            try await page.click("#buy")
            try await page.until("document.querySelector('.said')", "the purchase is confirmed")
            #expect(try await page.text("document.querySelector('.said').textContent").hasPrefix("Bought: transaction"))
            #expect(try await page.value("document.querySelectorAll('table.sales tbody tr').length") == 1)
            try await page.click("table.accounts a")
            try await page.until("document.querySelector('h1')?.textContent === 'default'", "the account opens")
            try await page.click("[data-action=refund]")
            try await page.until("document.querySelector('.pill.back')", "the refund is shown")
            #expect(try await page.text("location.pathname + location.search").hasSuffix("page/account?name=default"))

            _ = try await page.value("document.getElementById('quantity').value = '3'")
            _ = try await page.value("document.getElementById('outcome').value = 'deferred'")
            try await page.click("#buy")
            try await page.until("document.querySelector('[data-action=approve]')", "it waits for a parent")
            try await page.click("[data-action=approve]")
            try await page.until("document.querySelectorAll('.pill.good').length >= 2", "it is paid")

            _ = try await page.value(
                "document.getElementById('productId').value = 'com.example.learnpoints.member.monthly'")
            try await page.click("#buy")
            try await page.until("document.querySelector('.drawing rect.good')", "the subscription is drawn")
            if try await page.value("document.querySelector('.clock form') !== null") == true {
                let before = try await page.text("document.querySelector('.clock time').dateTime")
                try await page.click(".clock button[value='1d']")
                try await page.until(
                    "document.querySelector('.said, .error') && "
                        + "document.querySelector('.clock time').dateTime !== '\(before)'", "a day has passed")
            }
            #expect(page.takeErrors().isEmpty)
        }
    }

    @Test("By clicks alone a product is created, completed, submitted, approved and bought (L1)")
    func newProduct() async throws {
        var configuration = EmulatorConfiguration()
        configuration.products = []
        try await Self.visit(try await EmulatedWorld(configuration)) { page, address in
            func stands(_ state: String) -> String { "document.getElementById('state')?.textContent === '\(state)'" }
            try await page.open("\(address)/page/products")
            try await page.checkLooks("new product")
            try await page.click("#name")
            try await page.type("100 points")
            try await page.click("#productId")
            try await page.type("com.example.points100")
            try await page.click("#create-product")
            try await page.until("document.querySelector('table.catalogue a')", "the product is listed")
            try await page.click("table.catalogue a")
            try await page.until(stands("Missing metadata"), "its page says what is missing")
            try await page.checkLooks("product")
            _ = try await page.value("document.getElementById('reviewScreenshot').value = 'true'")
            try await page.click("#displayName")
            try await page.type("100 学点")
            try await page.click("#description")
            try await page.type("学点")
            try await page.click("#save-product")
            try await page.until(stands("Ready to submit"), "it is complete")
            for (action, state) in [
                ("submitProduct", "Waiting for review"), ("startReview", "In review"),
                ("approveProduct", "Pending binary approval"), ("approveProduct", "Approved"),
            ] {
                try await page.click("[data-action=\(action)]")
                try await page.until(stands(state), state)
            }
            try await page.open("\(address)/page/products")
            try await page.click("td.does a")
            try await page.until("document.getElementById('buy')", "the payment sheet opens")
            try await page.click("#buy")
            try await page.until("document.querySelector('.said')", "it is bought")
            #expect(page.takeErrors().isEmpty)
        }
    }

    @Test(
        "By clicks alone a subscription is renewed, fails, is in grace, recovers, changes plan and is cancelled",
        .slow)
    func life() async throws {
        let world = try await EmulatedWorld()
        try await Self.visit(world) { page, address in
            func press(_ selector: String, _ expression: String, _ what: String) async throws {
                try await page.click(selector)
                try await page.until(expression, what)
            }
            func said(_ text: String) -> String {
                "document.querySelector('.said')?.textContent.startsWith('\(text)')"
            }
            func stands(_ state: String) -> String {
                "document.querySelector('h3.name + .pill')?.textContent === '\(state)'"
            }
            let periods =
                "[...document.querySelectorAll('.drawing title')]"
                + ".filter((one) => one.textContent.startsWith('Paid period')).length"
            try await page.open("\(address)/page/notifications")
            _ = try await page.value("document.getElementById('url').value = 'http://127.0.0.1:9/hook'")
            try await press("main form .primary", said("The receiver URL was set"), "a server is told of everything")
            try await page.open(address)
            _ = try await page.value("document.getElementById('days').value = '16'")
            try await press("#set-grace", said("The billing grace period was set"), "there is a grace period")
            _ = try await page.value(
                "document.getElementById('productId').value = 'com.example.learnpoints.member.monthly'")
            try await press("#buy", said("Bought"), "somebody subscribes")
            try await page.open("\(address)/page/account?name=default")
            #expect(try await page.value(periods) == 1)
            try await press(".clock button[value=month]", "\(periods) === 2", "the next period is drawn")
            try await press("[data-action=billingFailure]", said("Charges for"), "charges fail from now on")
            try await press(".clock button[value=month]", stands("Grace period"), "the service goes on for a while")
            try await page.picture("emulator-life-grace")
            try await press("[data-action=recover]", stands("Active"), "the charge goes through after all")
            #expect(try await page.value(periods) == 3)
            try await press(
                ".plan button", "document.querySelector('h3.name')?.textContent.endsWith('yearly')", "a higher plan")
            try await press("[data-action=cancel]", "document.querySelector('[data-action=resume]')", "it will end")
            try await page.open("\(address)/page/notifications")
            let shown = try await page.text("document.querySelector('table.told').textContent")
            for type in ["DID_RENEW", "GRACE_PERIOD", "BILLING_RECOVERY", "UPGRADE", "AUTO_RENEW_DISABLED"] {
                #expect(shown.contains(type), "\(type)")
            }
            try await page.open("\(address)/page/account?name=default")
            try await press(".clock button[value=year]", stands("Expired"), "it has ended")
            #expect(world.notifications.count == 7)
            #expect(page.takeErrors().isEmpty)
        }
    }

    @Test("A year of renewals of several subscriptions is readable, on a phone and on a desktop", .slow)
    func year() async throws {
        let world = try await EmulatedWorld()
        try await world.subscribeForAYear()
        try await Self.visit(world) { page, address in
            for language in ["en", "zh"] {
                try await page.open("\(address)/page/account?name=lin&lang=\(language)")
                for (width, isPhone) in [(360 as Int64, true), (1280, false)] {
                    try await page.resize(width: width, height: isPhone ? 740 : 900, isPhone: isPhone)
                    for isDark in [false, true] {
                        try await page.prefer(dark: isDark)
                        let look = "emulator-year-\(language)-\(width)-\(isDark ? "dark" : "light")"
                        try await page.checkLooks(look)
                        try await page.picture(look)
                    }
                }
            }
            #expect(try await page.value("document.querySelectorAll('.drawing').length") == 3)
            // Twelve months are visibly separate.
            let gaps =
                try await page.value(
                    """
                    (() => {
                      const bars = [...document.querySelectorAll('.drawing')[2].querySelectorAll('rect.good')]
                        .map((bar) => bar.getBoundingClientRect()).filter((box) => box.height > 20);
                      return [bars.length, ...bars.slice(1).map((box, i) => box.left - bars[i].right)];
                    })()
                    """
                ).array ?? []
            #expect((gaps.first?.int ?? 0) >= 12, "\(gaps)")
            #expect(gaps.dropFirst().allSatisfy { ($0.number ?? 0) > 0.5 }, "\(gaps)")
        }
    }

    @Test("Changes from elsewhere appear without a reload, and without scripts everything still works")
    func live() async throws {
        let world = try await EmulatedWorld()
        try await Self.visit(world) { page, address in
            try await page.open(address)
            #expect(try await page.text("document.getElementById('live-state').textContent") == "Live")
            _ = try await page.value("marker = 1; document.getElementById('account').value = 'half-typed'")
            let bought = try await world.buy("points60", ["account": "lin"])["transactionId"]?.string ?? ""
            try await page.until("document.getElementById('transaction-\(bought)')", "the sale appears by itself")
            #expect(try await page.text("marker + document.getElementById('account').value") == "1half-typed")
            try await page.send("Emulation.setScriptExecutionDisabled", ["value": true])
            try await page.open(address)
            #expect(try await page.value("document.getElementById('live').checkVisibility()") == false)
            try await page.click("#buy")
            try await page.until("document.querySelector('.said')", "a purchase needs no script")
            #expect(page.takeErrors().isEmpty)
        }
    }

    @Test("Every page fits a phone and a desktop, in light and dark, in both languages, with readable contrast", .slow)
    func looks() async throws {
        let store = try await FullStore.open()
        try await Self.visit(store.world) { page, address in
            let hostile = FullStore.hostile.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            let pages = [
                "store": "", "account": "/page/account?name=lin", "hostile": "/page/account?name=\(hostile)",
                "products": "/page/products", "notifications": "/page/notifications",
                "missing": "/page/account?name=nobody",
            ]
            for language in ["en", "zh"] {
                for (name, path) in pages.sorted(by: { $0.key < $1.key }) {
                    try await page.open("\(address)\(path)\(path.contains("?") ? "&" : "?")lang=\(language)")
                    _ = try await page.value("document.querySelectorAll('details').forEach((one) => one.open = true)")
                    for (width, isPhone) in [(360 as Int64, true), (1280, false)] {
                        try await page.resize(width: width, height: isPhone ? 740 : 900, isPhone: isPhone)
                        for isDark in [false, true] {
                            try await page.prefer(dark: isDark)
                            let look = "emulator-\(name)-\(language)-\(width)-\(isDark ? "dark" : "light")"
                            try await page.checkLooks(look)
                            try await page.picture(look)
                        }
                    }
                    #expect(try await page.value("typeof hacked") == "undefined")
                    #expect(try await page.value("document.querySelectorAll('main script, main img').length") == 0)
                }
            }
            let errors = page.takeErrors().filter { !$0.contains("404") }
            #expect(errors.isEmpty, "\(errors)")
        }
    }
}
