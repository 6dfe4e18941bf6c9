import Testing
import TillBilling
import TillCrypto
import TillHTTP

@testable import TillServer

@Suite("The dashboard's login") struct DashboardLoginTests {
    private static let pages = [
        "/dashboard", "/dashboard/quarantine", "/dashboard/refusals", "/dashboard/transactions/1",
        "/dashboard/orders/3f2c91ab-0000-4000-8000-000000000001",
    ]

    @Test("A visitor who isn't logged in is redirected to the login, and then to the requested page", arguments: pages)
    func shownTheWay(_ page: String) async throws {
        try await DashboardServer.open { dashboardServer in
            let visitor = DashboardBrowser(dashboardServer)
            let turnedAway = try await visitor.get(page)
            #expect(turnedAway.status == 303)
            let location = try #require(turnedAway.headers["Location"])
            #expect(location.hasPrefix("/dashboard/login"))
            #expect(turnedAway.text.isEmpty)
            let form = try await visitor.get(location)
            #expect(form.status == 200)
            let answer = try await visitor.logIn(to: page)
            #expect(answer.status == 303)
            #expect(answer.headers["Location"] == page)
        }
    }

    @Test("Scripts and other sites can't read or send the session's cookie, which is Secure behind an https proxy")
    func cookie() async throws {
        try await DashboardServer.open { dashboardServer in
            let visitor = DashboardBrowser(dashboardServer)
            let session = try #require(try await visitor.logIn().cookies.first { $0.name == "till_session" })
            #expect(session.value.utf8.count == 43 || dashboardServer.ledger.isShared)
            #expect(session.attributes.contains("HttpOnly"))
            #expect(session.attributes.contains("SameSite=Strict"))
            #expect(session.attributes.contains("Path=/dashboard"))
            #expect(session.attributes.contains("Max-Age=43200"))
            #expect(!session.attributes.contains("Secure"))
            let encrypted = DashboardBrowser(dashboardServer)
            encrypted.headers["X-Forwarded-Proto"] = "https"
            #expect(try await encrypted.logIn().cookies.allSatisfy { $0.attributes.contains("Secure") })
        }
    }

    @Test("A wrong token opens no session, and the right one opens a new session each time")
    func tokens() async throws {
        try await DashboardServer.open { dashboardServer in
            let visitor = DashboardBrowser(dashboardServer)
            let wrong = try await visitor.logIn("op_wrong")
            #expect(wrong.status == 401)
            #expect(wrong.text.contains("role=\"alert\""))
            #expect(visitor.cookies["till_session"] == nil)
            #expect(try await visitor.get("/dashboard").status == 303)
            _ = try await visitor.logIn()
            let first = try #require(visitor.cookies["till_session"])
            #expect(try await visitor.get("/dashboard").status == 200)
            _ = try await visitor.logIn()
            let second = try #require(visitor.cookies["till_session"])
            #expect(first != second)
            visitor.cookies["till_session"] = first
            #expect(try await visitor.get("/dashboard").status == 303, "logging in again ends the session before")
            visitor.cookies["till_session"] = String(second.reversed())
            #expect(try await visitor.get("/dashboard").status == 303)
        }
    }

    @Test("A login form issued to no browser, or to another one, is refused even with the right token")
    func loginForgery() async throws {
        try await DashboardServer.open { dashboardServer in
            let visitor = DashboardBrowser(dashboardServer)
            let form = try await visitor.get("/dashboard/login").formToken
            let token = DashboardServer.operatorToken
            #expect(try await visitor.post("/dashboard/login", ["token": token]).status == 403)
            #expect(try await visitor.post("/dashboard/login", ["token": token, "form": "x"]).status == 403)
            #expect(
                try await DashboardBrowser(dashboardServer).post("/dashboard/login", ["token": token, "form": form])
                    .status == 403)
            let foreign = ["Origin": "https://evil.example"]
            let good = ["token": token, "form": form]
            #expect(try await visitor.post("/dashboard/login", good, foreign).status == 403)
            #expect(try await visitor.post("/dashboard/login", good, ["Origin": "null"]).status == 403)
            #expect(try await visitor.post("/dashboard/login", good, ["Sec-Fetch-Site": "cross-site"]).status == 403)
            #expect(try await visitor.post("/dashboard/login", good, ["Sec-Fetch-Site": "same-site"]).status == 403)
            #expect(try await visitor.post("/dashboard/login", good).status == 303)
        }
    }

    @Test("Too many wrong tokens name the seconds that are really left (issue 20)")
    func trueWait() async throws {
        try await DashboardServer.open { dashboardServer in
            let visitor = DashboardBrowser(dashboardServer)
            for _ in 0..<10 { #expect(try await visitor.logIn("op_wrong").status == 401) }
            dashboardServer.time.advance(seconds: 17)
            let refused = try await visitor.logIn("op_wrong")
            #expect(refused.status == 429 && refused.headers["Retry-After"] == "43")
            #expect(refused.text.contains("Try again in 43 seconds."))
            visitor.headers["Accept-Language"] = "zh"
            #expect(try await visitor.logIn("op_wrong").text.contains("请在 43 秒后重试"))
            dashboardServer.time.advance(seconds: 43)
            #expect(try await visitor.logIn("op_wrong").status == 401)
        }
    }

    @Test("Behind a proxy that replaces the Host header, the login says so and what to set (issue 20)")
    func proxyHost() async throws {
        try await DashboardServer.open { dashboardServer in
            let visitor = DashboardBrowser(dashboardServer)
            let form = try await visitor.get("/dashboard/login").formToken
            let fields = ["token": DashboardServer.operatorToken, "form": form]
            let own = ["Origin": "https://till.example.com", "Sec-Fetch-Site": "same-origin"]
            let refused = try await visitor.post("/dashboard/login", fields, own)
            #expect(refused.status == 403)
            for words in ["till.example.com", "127.0.0.1:8787", "proxy_set_header Host $host;", "dashboardHosts"] {
                #expect(refused.text.contains(words), "\(words)")
            }
            // A page of another site, as the browser itself says, gets no advice to trust that site's name.
            let foreign = ["Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"]
            let forged = try await visitor.post("/dashboard/login", fields, foreign)
            #expect(forged.status == 403 && !forged.text.contains("evil.example"))
        }
        try await DashboardServer.open(hosts: ["till.example.com"]) { dashboardServer in
            let visitor = DashboardBrowser(dashboardServer)
            visitor.headers["Host"] = "till.example.com"
            let form = try await visitor.get("/dashboard/login").formToken
            let own = ["Origin": "https://till.example.com", "Sec-Fetch-Site": "same-origin"]
            let fields = ["token": DashboardServer.operatorToken, "form": form]
            #expect(try await visitor.post("/dashboard/login", fields, own).status == 303)
            visitor.headers["Host"] = "other.example.com"
            let misdirected = try await visitor.get("/dashboard/login")
            #expect(misdirected.status == 421 && misdirected.text.contains("other.example.com"))
        }
    }

    @Test("A wrong Host is named on the page with the setting that admits it, escaped, and no admitted name is told")
    func wrongHost() async throws {
        try await DashboardServer.open(hosts: ["till.example.com"]) { dashboardServer in
            let visitor = DashboardBrowser(dashboardServer)
            visitor.headers["Host"] = "<b>till</b>&upstream"
            let english = try await visitor.get("/dashboard/login").text
            #expect(english.contains("&lt;b&gt;till&lt;/b&gt;&amp;upstream"))
            for words in ["&quot;dashboardHosts&quot;", "till reload", "proxy_set_header Host $host;"] {
                #expect(english.contains(words), "\(words)")
            }
            visitor.headers["Accept-Language"] = "zh"
            let chinese = try await visitor.get("/dashboard/login").text
            #expect(chinese.contains("主机名不符") && chinese.contains("&lt;b&gt;till") && chinese.contains("till reload"))
            for page in [english, chinese] { #expect(!page.contains("<b>") && !page.contains("till.example.com")) }
        }
    }

    @Test("The login page warns before a token is typed if a proxy replaced the Host header with a loopback name")
    func proxiedAsLoopback() async throws {
        try await DashboardServer.open(hosts: ["till.example.com"]) { dashboardServer async throws in
            let visitor = DashboardBrowser(dashboardServer)
            func warns(_ host: String, _ headers: [String: String], _ words: String) async throws -> Bool {
                visitor.headers["Host"] = host
                return try await visitor.get("/dashboard/login", headers).text.contains(words)
            }
            let words = "the Host header that arrived is 127.0.0.1:8787"
            let https = ["X-Forwarded-Proto": "https"]
            #expect(try await warns("127.0.0.1:8787", https, words))
            #expect(try await warns("127.0.0.1:8787", ["X-Forwarded-Host": "till.example.com"], words))
            visitor.headers["Accept-Language"] = "zh"
            #expect(try await warns("127.0.0.1:8787", https, "到达的 Host 标头是 127.0.0.1:8787"))
            visitor.headers["Accept-Language"] = nil
            #expect(try await warns("127.0.0.1:8787", [:], "proxy") == false)
            #expect(try await warns("127.0.0.1:8787", ["X-Forwarded-Host": "127.0.0.1:8787"], "proxy") == false)
            #expect(try await warns("till.example.com", https, "proxy") == false)
        }
    }

    @Test("Logging out needs the page's own form, and ends the session permanently")
    func logout() async throws {
        try await DashboardServer.open { dashboardServer in
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let form = try await visitor.get("/dashboard").formToken
            let session = visitor.cookies["till_session"]
            #expect(try await visitor.post("/dashboard/logout", [:]).status == 403)
            #expect(try await visitor.post("/dashboard/logout", ["form": "x"]).status == 403)
            let other = try await DashboardBrowser.loggedIn(dashboardServer)
            let foreign = try await other.get("/dashboard").formToken
            #expect(try await visitor.post("/dashboard/logout", ["form": foreign]).status == 403)
            #expect(try await visitor.get("/dashboard").status == 200)
            #expect(try await visitor.post("/dashboard/logout", ["form": form]).status == 303)
            visitor.cookies["till_session"] = session
            #expect(try await visitor.get("/dashboard").status == 303)
            #expect(try await other.get("/dashboard").status == 200)
        }
    }

    @Test("A session ends after twelve hours")
    func lifetime() async throws {
        try await DashboardServer.open { dashboardServer in
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            dashboardServer.time.advance(seconds: 12 * 3_600 - 1)
            #expect(try await visitor.get("/dashboard").status == 200)
            dashboardServer.time.advance(seconds: 2)
            #expect(try await visitor.get("/dashboard").status == 303)
        }
    }

    @Test("After ten wrong tokens in a minute the next wrong one must wait, and the right one still passes")
    func bruteForce() async throws {
        try await DashboardServer.open { dashboardServer in
            let visitor = DashboardBrowser(dashboardServer)
            for _ in 0..<10 { #expect(try await visitor.logIn("op_guess").status == 401) }
            let blocked = try await visitor.logIn("op_guess")
            #expect(blocked.status == 429)
            #expect(blocked.headers["Retry-After"] == "60")
            let wrong = ["Authorization": "Bearer op_guess"]
            #expect(try await visitor.get("/dashboard", wrong).status == 429)
            #expect(try await visitor.get("/metrics", wrong).status == 429)
            let bearer = ["Authorization": "Bearer \(DashboardServer.operatorToken)"]
            #expect(try await visitor.get("/dashboard", bearer).status == 200)
            #expect(try await visitor.get("/metrics", bearer).status == 200)
            #expect(try await visitor.logIn().status == 303)
            let neighbour = DashboardBrowser(dashboardServer)
            neighbour.peer = "127.0.0.2"
            #expect(try await neighbour.logIn("op_guess").status == 401)
            dashboardServer.time.advance(seconds: 61)
            #expect(try await visitor.logIn("op_guess").status == 401)
        }
    }

    @Test("A token longer than the limit is refused without being hashed")
    func longToken() async throws {
        try await DashboardServer.open { dashboardServer async throws in
            let long = String(repeating: "a", count: 9_000)
            #expect(try await DashboardBrowser(dashboardServer).logIn(long).status == 401)
            #expect(
                try await DashboardBrowser(dashboardServer).get("/dashboard", ["Authorization": "Bearer \(long)"])
                    .status == 401)
        }
    }

    @Test("A script shows an operator token instead, and with a wrong one gets no login form")
    func bearer() async throws {
        try await DashboardServer.open { dashboardServer in
            let script = DashboardBrowser(dashboardServer)
            let page = try await script.get("/dashboard", ["Authorization": "Bearer \(DashboardServer.operatorToken)"])
            #expect(page.status == 200)
            #expect(page.cookies.isEmpty)
            for header in ["Bearer wrong", "Bearer \(DashboardServer.secretKey)", "Basic abc", "Bearer"] {
                let refused = try await script.get("/dashboard", ["Authorization": header])
                #expect(refused.status == 401)
                #expect(refused.headers["WWW-Authenticate"] == "Bearer")
            }
            // A token in a URL would end up in logs, so the server ignores it there.
            #expect(try await script.get("/dashboard?token=\(DashboardServer.operatorToken)").status == 303)
        }
    }

    @Test(
        "Under a host name that isn't this server's there are no pages: another site can't point its name here",
        arguments: [
            ("127.0.0.1", 200), ("localhost:9", 200), ("[::1]:8787", 200), ("[::1]", 200), ("LOCALHOST", 200),
            ("till.example.com", 200), ("till.example.com:443", 200), ("evil.example", 421), ("evil.example:8787", 421),
            ("127.0.0.1.evil.example", 421), ("localhost:x", 421), ("", 421), ("127.0.0.1@evil.example", 421),
        ])
    func hosts(_ name: (host: String, status: Int)) async throws {
        try await DashboardServer.open(hosts: ["Till.example.com"]) { dashboardServer async throws in
            let visitor = DashboardBrowser(dashboardServer)
            visitor.headers["Host"] = name.host
            #expect(try await visitor.get("/dashboard/login").status == name.status)
            #expect(try await visitor.get("/dashboard/style.css").status == name.status)
            let bearer = ["Authorization": "Bearer \(DashboardServer.operatorToken)"]
            #expect(try await visitor.get("/dashboard", bearer).status == name.status)
            visitor.headers["Host"] = nil
            #expect(try await visitor.get("/dashboard/login").status == 421)
        }
    }

    @Test(
        "The login never redirects to another site",
        arguments: [
            "https://evil.example/", "//evil.example", "/dashboardevil", "/dashboard//evil.example", "/v1/orders",
            "/dashboard/../v1", "javascript:alert(1)", "/dashboard\r\nSet-Cookie: a=b", "/dashboard@evil.example",
        ])
    func openRedirect(_ target: String) async throws {
        try await DashboardServer.open { dashboardServer async throws in
            #expect(try await DashboardBrowser(dashboardServer).logIn(to: target).headers["Location"] == "/dashboard")
        }
    }

    @Test("Without operators the login page says what to do, and no token is accepted")
    func noOperators() async throws {
        try await DashboardServer.open(operators: []) { dashboardServer async throws in
            let visitor = DashboardBrowser(dashboardServer)
            #expect(try await visitor.get("/dashboard/login").text.contains("&quot;operators&quot;"))
            #expect(try await visitor.logIn().status == 401)
            #expect(try await visitor.logIn("").status == 401)
        }
    }

    @Test("Every response of the dashboard forbids foreign code, frames and sniffing, and pages are not stored")
    func protection() async throws {
        try await DashboardServer.open { dashboardServer in
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            let targets =
                Self.pages + ["/dashboard/login", "/dashboard/live", "/dashboard/style.css", "/dashboard/live.js"]
            for target in targets {
                let answer = try await visitor.get(target)
                let policy = try #require(answer.headers["Content-Security-Policy"])
                for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
                    #expect(policy.contains(rule))
                }
                #expect(!policy.contains("unsafe"))
                #expect(answer.headers["X-Content-Type-Options"] == "nosniff")
                #expect(answer.headers["X-Frame-Options"] == "DENY")
                let isAsset = target.hasSuffix(".css") || target.hasSuffix(".js")
                #expect(answer.headers["Cache-Control"] == (isAsset ? "no-cache" : "no-store"))
            }
            let style = try await visitor.get("/dashboard/style.css")
            let tag = try #require(style.headers["ETag"])
            #expect(try await visitor.get("/dashboard/style.css", ["If-None-Match": tag]).status == 304)
        }
    }

    @Test("Sessions and counted addresses are bounded")
    func bounds() {
        let sessions = OperatorSessions()
        let anna = SecretKey(id: "anna", sha256: [1])
        let now = Instant(seconds: 1_790_000_000)
        var cookies: [String] = []
        for number in 0...OperatorSessions.capacity {
            let began = now.adding(milliseconds: Int64(number))
            cookies.append(sessions.begin(for: anna, now: began, entropy: RandomBytes.make))
        }
        let found = cookies.filter { sessions.find($0, now: now, whose: { $0 == anna }) != nil }
        #expect(found.count == OperatorSessions.capacity)
        #expect(found.last == cookies.last)

        let attempts = LoginAttempts()
        for number in 0..<LoginAttempts.capacity {
            #expect(attempts.wait(of: "10.0.\(number >> 8).\(number & 255)", now: now) == nil)
        }
        #expect(attempts.wait(of: "192.0.2.1", now: now) == 60)
        #expect(attempts.wait(of: "10.0.0.1", now: now) == nil)
        #expect(attempts.wait(of: "192.0.2.1", now: now.adding(seconds: 61)) == nil)
    }
}
