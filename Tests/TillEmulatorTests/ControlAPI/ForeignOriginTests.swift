import Testing
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("The control API and requests of foreign web pages")
struct ForeignOriginTests {
    private typealias Headers = [(name: String, value: String)]

    private static let own = "http://127.0.0.1:9000"
    private static let purchase: JSONValue = [
        "bundleId": "com.example.learnpoints", "productId": "com.example.learnpoints.points60",
    ]

    private func accounts(_ world: EmulatedWorld) async -> Int {
        await world.ask(.get, "/emulator/accounts").json["data"]?.array?.count ?? -1
    }

    @Test("A browser's request for a foreign page is refused in both languages, and has no effect")
    func foreign() async throws {
        let world = try await EmulatedWorld()
        let evil = "http://evil.example"
        for headers in [
            [("Host", "127.0.0.1:9000"), ("Origin", evil)],
            [("Host", "127.0.0.1:9000"), ("Origin", "null"), ("Content-Type", "text/plain")],
            [("Host", "127.0.0.1:9000"), ("Sec-Fetch-Site", "cross-site")],
            [("Host", "127.0.0.1:9000"), ("Sec-Fetch-Site", "same-site"), ("Origin", Self.own)],
            [("Host", "127.0.0.1:9000"), ("Origin", "http://127.0.0.1:9001")],
            [("Host", "localhost:9000"), ("Origin", Self.own)], [("Origin", Self.own)],
            // Under a foreign name that resolves to this machine.
            [("Host", "evil.example:9000"), ("Origin", "http://evil.example:9000")],
            [("Host", "evil.example:9000"), ("Sec-Fetch-Site", "same-origin")],
            [("Host", "evil.example:9000"), ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64)")],
        ] as [Headers] {
            for (language, word) in [("en", "browser"), ("zh", "浏览器")] {
                let headers = headers + [("Accept-Language", language)]
                let bought = await world.ask(.post, "/emulator/purchases", Self.purchase, headers: headers)
                #expect(bought.status == 403 && bought.json["code"] == "foreign_origin", "\(headers)")
                #expect(bought.json["title"]?.string?.contains(word) == true)
                for path in ["/emulator/api-key", "/emulator/state", "/emulator/transactions"] {
                    let read = await world.ask(.get, path, headers: headers)
                    #expect(read.json["code"] == "foreign_origin", "\(path) \(headers)")
                }
            }
        }
        #expect(await accounts(world) == 0)
        await world.remove()
    }

    @Test("A page under a foreign name that resolves to this machine reads nothing, whatever its User-Agent")
    func rebound() async throws {
        let world = try await EmulatedWorld()
        let routes = world.emulator.described.filter { !$0.isPage && $0.pattern != OpenAPI.path }
        for host in ["evil.example:9000", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil."] {
            for headers in [[("Host", host)], [("Host", host), ("User-Agent", "curl/8.5.0")]] as [Headers] {
                for route in routes {
                    let path = route.pattern.replacing("{id}", with: "1")
                    let answer = await world.ask(route.method, path, headers: headers)
                    #expect(answer.status == 421 && answer.json["code"] == "foreign_host", "\(route.pattern) \(host)")
                }
            }
        }
        let chinese = await world.ask(
            .get, "/emulator/state", headers: [("Host", "evil.example"), ("Accept-Language", "zh")])
        #expect(chinese.json["title"]?.string?.contains("127.0.0.1") == true)
        #expect(await accounts(world) == 0)
        await world.remove()
    }

    @Test("Scripts are served under names of machines and services, and browsers for the store's own pages")
    func welcome() async throws {
        let world = try await EmulatedWorld()
        let welcome: [Headers] = [
            [], [("Host", "127.0.0.1:9000")], [("Host", "store:8788"), ("User-Agent", "curl/8.5.0")],
            [("Host", "127.0.0.1:9000"), ("Origin", Self.own), ("Sec-Fetch-Site", "same-origin")],
            [("Host", "127.0.0.1:9000"), ("Sec-Fetch-Site", "none"), ("User-Agent", "Mozilla/5.0")],
            [("Host", "[::1]:9000"), ("Origin", "http://[::1]:9000")],
            [("Host", "10.0.2.2:9000")], [("Host", "store.localhost:9000")], [("Host", "[fd00::7]:9000")],
        ]
        for (index, headers) in welcome.enumerated() {
            let body = Self.purchase.with(["account": .string("reader-\(index)")])
            #expect(await world.ask(.post, "/emulator/purchases", body, headers: headers).status == 200, "\(headers)")
            #expect(await world.ask(.get, "/emulator/state", headers: headers).status == 200, "\(headers)")
        }
        #expect(await accounts(world) == 9)
        await world.remove()
    }

    @Test("Every route of the control API except the pages is protected")
    func everywhere() async throws {
        let world = try await EmulatedWorld()
        let routes = world.emulator.described.filter { !$0.isPage && $0.pattern != OpenAPI.path }
        for route in routes {
            let path = route.pattern.replacing("{id}", with: "1")
            let answer = await world.ask(route.method, path, headers: [("Origin", "http://evil.example")])
            #expect(answer.json["code"] == "foreign_origin", "\(route.method) \(route.pattern)")
        }
        #expect(routes.count > 40)
        await world.remove()
    }
}
