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
    /// A store on a port of its own, and a browser in front of it.
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

    @Test("Somebody buys, sees the purchase appear, refunds it, and lets time pass, by clicking alone")
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

            _ = try await page.value("document.getElementById('productId').selectedIndex = 5")
            try await page.click("#buy")
            try await page.until("document.querySelector('.drawing rect.good')", "the subscription is drawn")
            if try await page.value("document.querySelector('.clock form') !== null") == true {
                let before = try await page.text("document.querySelector('.clock time').dateTime")
                try await page.click(".clock button[value='1d']")
                try await page.until(
                    "document.querySelector('.said, .complaint') && "
                        + "document.querySelector('.clock time').dateTime !== '\(before)'", "a day has passed")
            }
            #expect(page.takeErrors().isEmpty)
        }
    }

    @Test("What others do appears by itself, and without scripts everything still works")
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

    @Test("Every page fits a phone and a desktop, in light and dark, in both languages, with readable contrast")
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
