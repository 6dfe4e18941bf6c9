import Foundation
import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillPages

@testable import TillEmulator

@Suite("The emulated store's page")
struct EmulatorPageTests {
    private static let pages: [(path: String, query: [(name: String, value: String)])] = [
        ("/emulator", []), ("/emulator", [("after", "reader-1"), ("product", "a<b>\"c")]),
        ("/emulator/page/account", [("name", FullStore.hostile)]), ("/emulator/page/account", [("name", "lin")]),
        ("/emulator/page/account", [("name", "nobody")]), ("/emulator/page/products", []),
        ("/emulator/page/notifications", []),
    ]

    @Test("Text from outside stays text on every page, in both languages")
    func hostile() async throws {
        let store = try await FullStore.open()
        for (path, query) in Self.pages {
            for language in ["en", "zh"] {
                let page = await store.world.see(path, query, language)
                #expect(page.status == (query.first?.value == "nobody" ? 404 : 200), "\(path)")
                for markup in ["<script>hacked", "<img", "<b>", "<s>", "<u>", "<i>", "\u{202E}"] {
                    #expect(!page.text.contains(markup), "\(path) \(language): \(markup)")
                }
                #expect(!page.text.contains(" style="))
            }
        }
        let account = await store.world.see("/emulator/page/account", [("name", FullStore.hostile)])
        #expect(account.text.contains("&lt;script&gt;hacked=1&lt;/script&gt;"))
        #expect(account.text.contains("⟨U+202E⟩evil"))
        await store.world.remove()
    }

    /// Words that keep the spelling of Apple, of standards or of the project.
    private static let proper: Set<String> = [
        "Till", "App", "Store", "Apple", "UTC", "English", "appAccountToken", "group", "ID",
    ]

    @Test("The Chinese pages contain no English except proper names and text from outside")
    func chinese() async throws {
        let store = try await FullStore.open()
        let entity = try Regex("&[a-z]+;|&#39;")
        for (path, query) in Self.pages where query.first?.value != FullStore.hostile {
            let page = await store.world.see(path, query, "zh")
            #expect(page.text.contains("<html lang=\"zh-Hans\">"))
            var own = page.text
            // Codes, external names, products in the form and addresses are data.
            for part in ["code", "bdi", "option value=\"[^\"]*\"( selected)?", "time"] {
                let name = part.hasPrefix("option") ? "option" : part
                own = own.replacing(
                    try Regex("<\(part)( [^>]*)?>[^<]*(<span[^>]*>[^<]*</span>[^<]*)*</\(name)>"), with: " ")
            }
            own = own.replacing(try Regex("<head>.*?</head>").dotMatchesNewlines(), with: " ")
            let labels = page.text.matches(of: try Regex("(aria-label|data-on|data-paused|data-lost)=\"([^\"]*)\"")).map
            {
                String($0.output[2].substring ?? "")
            }
            own = own.replacing(try Regex("<[^>]*>"), with: " ")
            let words = (own + " " + labels.filter { !$0.contains(".") }.joined(separator: " ")).replacing(
                entity, with: " "
            )
            .matches(of: try Regex("[A-Za-z]{2,}")).map { String($0.output[0].substring ?? "") }
            let english = Set(words).subtracting(Self.proper).subtracting([
                "CNY", "JPY", "USD", "lin", "nobody", "basic", "plus",
            ])
            #expect(english.isEmpty, "\(path): \(english.sorted())")
        }
        await store.world.remove()
    }

    @Test("An account's page shows its transactions newest first, each state in words, and draws its subscriptions")
    func account() async throws {
        let store = try await FullStore.open()
        let page = await store.world.see("/emulator/page/account", [("name", "lin")])
        let numbers = page.text.matches(of: try Regex("id=\"transaction-([0-9]+)\"")).compactMap {
            Int64($0.output[1].substring ?? "")
        }
        #expect(numbers.count == EmulatorPage.pageSize)
        #expect(numbers == numbers.sorted(by: >))
        let more = try #require(page.next())
        let rest = await store.world.see("/emulator/page/account", more)
        for text in [
            "Paid", "approval (Ask to Buy)", "Interrupted", "Declined", "Refunded", "in the queue", "finished",
            "33.5",
            "3f2c91ab-0000-4000-8000-000000000001", "×",
        ] {
            #expect(page.text.contains(text) || rest.text.contains(text), "\(text)")
        }
        for text in [
            "Active", "Grace period", "Billing retry", "Expired", "Revoked", "Subscribed", "Renewed", "Upgraded to",
            "Renewal cancelled", "Charge failed: grace period", "introductory offer", "free trial", "Price increase",
            "Billing retry until", "2 charges left", "SOMETHING_&lt;NEW&gt;", "Ended by an upgrade", "Refunded period",
        ] {
            #expect(page.text.contains(text), "\(text)")
        }
        #expect(page.text.components(separatedBy: "<svg").count == 6)
        #expect(page.text.contains("role=\"img\" aria-label=\"5 spans from 2025-11-21 to 2026-03-11. Now: Active.\""))
        let place = SubscriptionDrawing.Scale(
            start: Instant(milliseconds: .min), end: Instant(milliseconds: .max))
        #expect(place.place(Instant(milliseconds: .max)) == 997 && place.place(Instant(milliseconds: .min)) == 0)
        await store.world.remove()
    }

    @Test("Lists continue over pages without repetitions or gaps: accounts, transactions, products, notifications")
    func paging() async throws {
        let store = try await FullStore.open()
        func walk(
            _ path: String, _ query: [(name: String, value: String)], _ mark: String
        ) async throws -> [String] {
            var (query, seen) = (query, [String]())
            for _ in 0..<12 {
                let page = await store.world.see(path, query)
                #expect(page.status == 200)
                let found = page.text.matches(of: try Regex(mark)).map { String($0.output[1].substring ?? "") }
                #expect(found.count <= EmulatorPage.pageSize)
                seen += found
                guard let next = page.next(path == "/emulator" ? "after" : nil) else { break }
                query = next
            }
            return seen
        }
        let accounts = try await walk(
            "/emulator", [], "<td class=\"name\" role=\"cell\"><a href=\"/emulator/page/account\\?name=([^\"]+)\"")
        #expect(accounts.count == 34 && Set(accounts).count == 34)
        let sales = try await walk("/emulator/page/account", [("name", "wei")], "id=\"transaction-([0-9]+)\"")
        #expect(sales.count == 25 && Set(sales).count == 25)
        let products = try await walk("/emulator/page/products", [], "href=\"/emulator\\?product=([^\"]+)\"")
        let samples = StoreProduct.sampleCatalog(bundleID: FullStore.bundleID).count
        #expect(products.count == samples + 1 + ProductState.allCases.count)
        #expect(Set(products).count == products.count)
        let notified = try await walk("/emulator/page/notifications", [], "id=\"notification-([0-9]+)\"")
        #expect(notified.count > 80 && Set(notified).count == notified.count)
        await store.world.remove()
    }

    @Test("The notifications page shows the attempts made and the waiting notifications")
    func notifications() async throws {
        var configuration = EmulatorConfiguration()
        configuration.notificationRetries = [3_600_000]
        let world = try await EmulatedWorld(configuration)
        try await world.emulator.store.setNotificationURL("http://127.0.0.1:9/here")
        _ = try await world.buy()
        world.answerNotifications { count in count == 1 ? 500 : 200 }
        var page = await world.see("/emulator/page/notifications")
        for text in ["Bought", "ONE_TIME_CHARGE", "Waiting: 1.", "none yet", "http://127.0.0.1:9/here"] {
            #expect(page.text.contains(text), "\(text)")
        }
        await world.emulator.sendDueNotifications()
        page = await world.see("/emulator/page/notifications")
        #expect(page.text.contains("Next attempt") && !page.text.contains("none yet"))
        world.advance(seconds: 3_601)
        await world.emulator.sendDueNotifications()
        page = await world.see("/emulator/page/notifications")
        #expect(page.text.contains("Delivered") && page.text.contains("Waiting: 0."))
        await world.remove()
    }

    @Test("The language is the browser's, or the chosen one, which is kept")
    func language() async throws {
        let world = try await EmulatedWorld()
        #expect(await world.see("/emulator", [], "zh-CN,zh;q=0.9").text.contains("模拟 App Store"))
        #expect(await world.see("/emulator", [], "en").text.contains("Emulated App Store"))
        let chosen = await world.see("/emulator", [("lang", "zh")], "en")
        #expect(chosen.text.contains("模拟 App Store"))
        let cookie = try #require(chosen.cookies["till_emulator_language"])
        #expect(cookie == "zh")
        let stored = await world.see("/emulator", [], "en", cookies: ["till_emulator_language": cookie])
        #expect(stored.text.contains("模拟 App Store"))
        #expect(await world.see("/emulator", [("lang", "tlh")], "en").text.contains("Emulated App Store"))
        await world.remove()
    }

    @Test("Pages are served under this machine's names only, with headers that restrict the browser")
    func protection() async throws {
        let world = try await EmulatedWorld()
        for host in ["evil.example", "evil.example:9000", "127.0.0.1.evil.example", "", "localhost.evil.example"] {
            #expect(await world.see("/emulator", host: host).status == 421, "\(host)")
        }
        for host in ["127.0.0.1", "127.0.0.1:9000", "LOCALHOST:1", "[::1]:9000", "[::1]"] {
            #expect(await world.see("/emulator", host: host).status == 200, "\(host)")
        }
        let page = await world.see("/emulator")
        let policy = page.headers["Content-Security-Policy"] ?? ""
        #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
        #expect(!policy.contains("unsafe"))
        #expect(page.headers["Cache-Control"] == "no-store")
        for asset in ["style.css", "live.js"] {
            let file = await world.see("/emulator/page/\(asset)")
            #expect(file.status == 200 && file.text.count > 1_000)
            #expect(file.headers["X-Content-Type-Options"] == "nosniff")
        }
        await world.remove()
    }
}

/// A page as a browser receives it.
struct SeenPage {
    let status: Int
    let headers: HTTPHeaders
    let text: String

    init(_ response: HTTPResponse) {
        status = response.status
        headers = response.headers
        text = String(decoding: response.body, as: UTF8.self)
    }

    /// The link to the next page; with two lists on a page, the link that names this item.
    func next(_ item: String? = nil) -> [(name: String, value: String)]? {
        for link in text.components(separatedBy: "rel=\"next\" href=\"").dropFirst() {
            let target = link.prefix { $0 != "\"" }.replacing("&amp;", with: "&")
            let query = target.split(separator: "?").last.flatMap { try? PercentEncoding.items($0.utf8) }
            guard let query, item == nil || query.contains(where: { $0.name == item }) else { continue }
            return query
        }
        return nil
    }

    var cookies: [String: String] {
        var cookies: [String: String] = [:]
        for field in headers.fields where field.name == "Set-Cookie" {
            let pair = field.value.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            cookies[String(pair[0])] = pair.count == 2 ? String(pair[1]) : ""
        }
        return cookies
    }
}

extension EmulatedWorld {
    func see(
        _ path: String, _ query: [(name: String, value: String)] = [], _ language: String = "en",
        host: String = "127.0.0.1:9000", cookies: [String: String] = [:]
    ) async -> SeenPage {
        var headers = HTTPHeaders([("Host", host), ("Accept-Language", language)])
        if !cookies.isEmpty {
            headers.add("Cookie", cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; "))
        }
        return SeenPage(
            await emulator.respond(to: HTTPRequest(method: .get, path: path, query: query, headers: headers)))
    }

    /// Sends a form as the page does.
    func submit(
        _ action: String, _ form: [String: String], _ language: String = "en", host: String = "127.0.0.1:9000",
        origin: String? = "http://127.0.0.1:9000", site: String? = "same-origin"
    ) async -> SeenPage {
        var headers = HTTPHeaders([("Host", host), ("Accept-Language", language)])
        if let origin { headers.add("Origin", origin) }
        if let site { headers.add("Sec-Fetch-Site", site) }
        let body = form.map { name, value in
            "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        }.joined(separator: "&")
        return SeenPage(
            await emulator.respond(
                to: HTTPRequest(
                    method: .post, path: "/emulator/actions/\(action)", headers: headers, body: Array(body.utf8))))
    }
}
