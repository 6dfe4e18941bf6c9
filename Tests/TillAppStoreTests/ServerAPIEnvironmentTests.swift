import Testing
import TillBilling

@testable import TillAppStore

@Suite("App Store Server API: the environment of a request")
struct ServerAPIEnvironmentTests {
    private static let id = TransactionID("2000000900000001")
    private static let found = AppleResponse.json(["signedTransactionInfo": "a.b.c"])
    private static let unauthorized = AppleResponse(status: 401)

    /// An Apple that answers differently in its two environments.
    private static func apple(_ production: AppleResponse, _ sandbox: AppleResponse) -> CannedApple {
        CannedApple { request in request.url.contains("sandbox") ? sandbox : production }
    }

    private static func outcome(_ api: ServerAPI, in environment: StoreEnvironment? = nil) async -> String {
        do throws(ServerAPIError) {
            return try await api.transactionInfo(id, in: environment).environment.rawValue
        } catch {
            switch error {
            case .refused(let refusal): return String(refusal.code.rawValue)
            case .unauthorized(let environment, _): return "401 \(environment.rawValue)"
            case .unreadable(let answer): return answer.reason.rawValue
            default: return "\(error)"
            }
        }
    }

    @Test("Unknown: production first, the sandbox only on 4040010, and the answer names its environment")
    func unknown() async throws {
        let page = AppleResponse.text("<html>", status: 503)
        let rows: [(production: AppleResponse, sandbox: AppleResponse, outcome: String, asked: Int)] = [
            (Self.found, Self.found, "Production", 1),
            (.error(4_040_010), Self.found, "Sandbox", 2),
            (.error(4_040_010), .error(4_040_010), "4040010", 2),
            (.error(4_040_010), .error(5_000_001), "5000001", 2),
            (.error(4_040_010), page, "html", 2),
            (.error(4_040_010), Self.unauthorized, "401 Sandbox", 2),
            (.error(4_040_001), Self.found, "4040001", 1),
            (.error(4_000_006), Self.found, "4000006", 1),
            (.error(5_000_000), Self.found, "5000000", 1),
            (page, Self.found, "html", 1),
            (Self.unauthorized, Self.found, "401 Production", 1),
        ]
        for (index, row) in rows.enumerated() {
            let apple = Self.apple(row.production, row.sandbox)
            #expect(await Self.outcome(try apple.api()) == row.outcome, "row \(index)")
            #expect(apple.asked.count == row.asked, "row \(index)")
        }
    }

    @Test("Known: the request goes only to that environment")
    func known() async throws {
        let apple = Self.apple(.error(4_040_010), Self.found)
        #expect(await Self.outcome(try apple.api(), in: .production) == "4040010")
        #expect(apple.asked.count == 1)
        #expect(await Self.outcome(try apple.api(), in: .sandbox) == "Sandbox")
        #expect(apple.asked.count == 2)
    }

    @Test(
        "Before an app's first release a 401 of production is checked against the sandbox, and stands unless it knows")
    func beforeRelease() async throws {
        let rows: [(sandbox: AppleResponse, outcome: String)] = [
            (Self.found, "Sandbox"), (Self.unauthorized, "401 Production"), (.error(4_040_010), "401 Production"),
            (.error(5_000_001), "5000001"),
        ]
        for row in rows {
            let apple = Self.apple(Self.unauthorized, row.sandbox)
            var api = try apple.api()
            api.isReleased = false
            #expect(await Self.outcome(api) == row.outcome)
            #expect(apple.asked.count == 2)
        }
    }

    @Test("All pages of a list come from the environment that knew the customer")
    func pages() async throws {
        let apple = CannedApple { request in
            guard request.url.contains("sandbox") else { return .error(4_040_010) }
            let isFirst = !request.url.contains("revision")
            return .json(["signedTransactions": [], "revision": isFirst ? "r1" : "r2", "hasMore": .bool(isFirst)])
        }
        var environments: [StoreEnvironment] = []
        for try await page in try apple.api().historyPages(of: Self.id) { environments.append(page.environment) }
        #expect(environments == [.sandbox, .sandbox])
        #expect(apple.asked.map { $0.url.contains("sandbox") } == [false, true, true])
    }
}
