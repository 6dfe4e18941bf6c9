import Testing
import TillBilling
import TillCrypto

@testable import TillServer

/// Operators change while the server runs (issue 20).
@Suite("Operators and keys after a reload") struct OperatorReloadTests {
    private static func key(_ id: String, _ token: String, _ validity: KeyValidity = .always) -> SecretKey {
        SecretKey(id: id, sha256: Digest.sha256.hash(token.utf8), validity: validity)
    }

    @Test("A removed operator's session ends at once; another's goes on, also when new dates are set")
    func removed() async throws {
        let bert = Self.key("bert", "op_bert")
        try await DashboardServer.open(change: { $0.operators.append(bert) }) { dashboard in
            let anna = try await DashboardBrowser.loggedIn(dashboard)
            let visitor = DashboardBrowser(dashboard)
            #expect(try await visitor.logIn("op_bert").status == 303)
            let end = dashboard.time.now.adding(seconds: 3_600)
            try await dashboard.reload { configuration in
                configuration.operators.removeFirst()
                configuration.operators[0].validity.expires = end
            }
            #expect(try await anna.get("/dashboard").status == 303, "back to the login")
            #expect(try await anna.logIn().status == 401)
            #expect(try await visitor.get("/dashboard").status == 200)
            // Back in the configuration, she has to log in again.
            try await dashboard.reload { $0.operators.append(Self.key("anna", DashboardServer.operatorToken)) }
            #expect(try await anna.get("/dashboard").status == 303)
            dashboard.time.advance(seconds: 3_600)
            #expect(try await visitor.get("/dashboard").status == 303, "the token that opened the session has expired")
        }
    }

    @Test("Another token under the same id ends the sessions of the old one")
    func replaced() async throws {
        try await DashboardServer.open { dashboard in
            let anna = try await DashboardBrowser.loggedIn(dashboard)
            try await dashboard.reload { $0.operators = [Self.key("anna", "op_new")] }
            #expect(try await anna.get("/dashboard").status == 303)
            #expect(try await anna.logIn("op_new").status == 303)
        }
    }

    @Test("A login page that was open during a reload still works")
    func openForm() async throws {
        try await DashboardServer.open { dashboard in
            let anna = DashboardBrowser(dashboard)
            let page = try await anna.get("/dashboard/login")
            try await dashboard.reload { $0.orders.perHour = 1 }
            let form = ["form": try page.formToken, "token": DashboardServer.operatorToken]
            let answer = try await anna.post(
                "/dashboard/login", form, ["Origin": "http://\(DashboardServer.host)"])
            #expect(answer.status == 303)
        }
    }

    @Test(
        "The 401 of metrics and of the dashboard's data says what to send", arguments: ["/metrics", "/dashboard/live"])
    func whatToSend(_ path: String) async throws {
        try await DashboardServer.open { dashboard in
            let visitor = DashboardBrowser(dashboard)
            for (language, phrase) in [("en", "send an operator token"), ("zh", "发送运营令牌")] {
                let answer = try await visitor.get(path, ["Accept-Language": language])
                #expect(answer.status == 401)
                #expect(answer.text.contains(phrase), "\(answer.text)")
            }
        }
    }

    @Test("Metrics show the expiry and the last use of each key")
    func metrics() async throws {
        try await DashboardServer.open { dashboard in
            let end = dashboard.time.now.adding(seconds: 86_400)
            try await dashboard.reload {
                $0.secretKeys.append(Self.key("next", "sk_next", KeyValidity(expires: end)))
            }
            _ = try await dashboard.call(.get, "/v1/users/u1/wallet")
            let visitor = DashboardBrowser(dashboard)
            visitor.headers["Authorization"] = "Bearer \(DashboardServer.operatorToken)"
            let text = try await visitor.get("/metrics").text
            func has(_ line: String) -> Bool { text.split(separator: "\n").contains { $0 == line } }
            let now = dashboard.time.now.seconds
            #expect(has("till_key_expiry_seconds{list=\"secretKeys\",key=\"backend\"} +Inf"))
            #expect(has("till_key_expiry_seconds{list=\"secretKeys\",key=\"next\"} 86400"))
            #expect(has("till_key_last_use_timestamp_seconds{list=\"secretKeys\",key=\"backend\"} \(now)"))
            #expect(has("till_key_last_use_timestamp_seconds{list=\"secretKeys\",key=\"next\"} NaN"))
            #expect(has("till_key_last_use_timestamp_seconds{list=\"operators\",key=\"anna\"} \(now)"))
        }
    }
}
