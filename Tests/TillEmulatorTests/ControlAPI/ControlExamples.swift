import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

/// One call for each route of the control API, in a working order, for the tests of the declarations. A route that
/// needs only a GET is its own example.
struct ControlExample: Sendable {
    let method: HTTPMethod
    let pattern: String
    /// Values of the pattern's `{names}`: names in `ControlExamples.subjects`, or literal values.
    var path: [String: String] = [:]
    var query: [(name: String, value: String)] = []
    var body: JSONValue?

    init(
        _ method: HTTPMethod, _ pattern: String, path: [String: String] = [:],
        query: [(name: String, value: String)] = [], _ body: JSONValue? = nil
    ) {
        self.method = method
        self.pattern = pattern
        self.path = path
        self.query = query
        self.body = body
    }

    var route: String { "\(method.rawValue) \(pattern)" }
}

enum ControlExamples {
    private static let points: JSONValue = [
        "bundleId": "com.example.learnpoints", "productId": "com.example.learnpoints.points60",
    ]

    private static let app = "com.example.learnpoints"
    private static let yearly: JSONValue = .string("\(app).member.yearly")

    static let all = purchases + accounts + DeviceExamples.all + subscriptions + store + catalogue

    private static let purchases = [
        ControlExample(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"]),
        ControlExample(.post, "/emulator/purchases", points),
        ControlExample(.post, "/emulator/purchases", points.with(["outcome": "cancelled"])),
        ControlExample(.get, "/emulator/transactions/{id}", path: ["id": "paid"]),
        ControlExample(.get, "/emulator/transactions", query: [("limit", "1")]),
        ControlExample(.get, "/emulator/transactions/{id}/receipt", path: ["id": "paid"]),
        ControlExample(.post, "/emulator/restore", [:]),
        ControlExample(.post, "/emulator/transactions/{id}/finish", path: ["id": "paid"]),
        ControlExample(.post, "/emulator/transactions/{id}/refund", path: ["id": "paid"], ["percentage": 50_000]),
        ControlExample(.post, "/emulator/transactions/{id}/refundReversal", path: ["id": "paid"]),
        ControlExample(
            .post, "/emulator/transactions/{id}/consumptionRequest", path: ["id": "paid"],
            ["reason": "LEGAL", "decision": "refund"]),
        ControlExample(.get, "/emulator/transactions/{id}/consumptionRequest", path: ["id": "paid"]),
        ControlExample(.post, "/emulator/transactions/{id}/approve", path: ["id": "deferred"]),
        ControlExample(.post, "/emulator/transactions/{id}/decline", path: ["id": "asked"]),
    ]

    private static let accounts = [
        ControlExample(.put, "/emulator/accounts/{id}", path: ["id": "mum"], ["family": "mum"]),
        ControlExample(.put, "/emulator/accounts/{id}", path: ["id": "kid"], ["family": "mum", "asksToBuy": true]),
        ControlExample(.get, "/emulator/accounts/{id}", path: ["id": "kid"]),
        ControlExample(.post, "/emulator/transactions/{id}/revoke", path: ["id": "shared"]),
        ControlExample(.post, "/emulator/accounts/{id}/leaveFamily", path: ["id": "kid"]),
        ControlExample(
            .put, "/emulator/accounts/{id}/devices", path: ["id": "kid"],
            ["id": "3f2c91ab-0000-4000-8000-000000000007"]),
        ControlExample(.get, "/emulator/accounts/{id}/devices", path: ["id": "kid"]),
    ]

    private static let subscriptions = [
        ControlExample(.get, "/emulator/subscriptions/{id}", path: ["id": "subscription"]),
        ControlExample(.post, "/emulator/subscriptions/{id}/cancel", path: ["id": "subscription"]),
        ControlExample(.post, "/emulator/subscriptions/{id}/resume", path: ["id": "subscription"]),
        ControlExample(.post, "/emulator/subscriptions/{id}/billingFailure", path: ["id": "subscription"]),
        ControlExample(.post, "/emulator/subscriptions/{id}/recover", path: ["id": "subscription"]),
        ControlExample(
            .post, "/emulator/products/{id}/priceIncrease", path: ["id": "com.example.learnpoints.member.monthly"],
            ["price": ["amount": 99_900, "currency": "CNY"]]),
        ControlExample(.post, "/emulator/subscriptions/{id}/extend", path: ["id": "subscription"], ["days": 5]),
        ControlExample(
            .post, "/emulator/subscriptions/{id}/priceIncrease", path: ["id": "subscription"],
            ["price": ["amount": 9_900, "currency": "CNY"], "needsConsent": true]),
        ControlExample(.post, "/emulator/subscriptions/{id}/consent", path: ["id": "subscription"], ["accept": true]),
        ControlExample(
            .post, "/emulator/subscriptions/{id}/upgrade", path: ["id": "subscription"], ["productId": yearly]),
        ControlExample(.put, "/emulator/subscriptions/grace", ["days": 16, "scope": "PAID_TO_PAID_ONLY"]),
        ControlExample(
            .post, "/emulator/offer-codes", ["productId": yearly, "offerId": "welcome", "code": "SPRING", "limit": 5]),
        ControlExample(.get, "/emulator/offer-codes/{id}", path: ["id": "SPRING"]),
        ControlExample(
            .post, "/emulator/offer-codes/{id}/redeem", path: ["id": "SPRING"], ["account": "somebody"]),
    ]

    private static let store = [
        ControlExample(.put, "/emulator/clock", ["pace": "real", "stopped": true]),
        ControlExample(.post, "/emulator/clock", ["advance": "1d"]),
        ControlExample(.put, "/emulator/app-transaction", ["account": "somebody", "platform": "macOS"]),
        ControlExample(.put, "/emulator/faults", ["seed": 7, "endpoints": ["history": ["html": 0.5]]]),
        ControlExample(.delete, "/emulator/faults"),
        ControlExample(.get, "/emulator/notifications/{id}", path: ["id": "notification"]),
        ControlExample(.post, "/emulator/notifications/{id}/resend", path: ["id": "notification"]),
        ControlExample(.post, "/emulator/notifications", ["type": "TEST", "badSignature": true]),
    ]

    /// Last, because it removes the products of the other examples.
    private static let catalogue: [ControlExample] = {
        let prices: JSONValue = ["CHN": ["amount": 600, "currency": "CNY"]]
        let gold: JSONValue = [
            "id": "gold", "prices": prices, "state": "READY_TO_SUBMIT",
            "localizations": [["locale": "zh-Hans", "displayName": "金币", "description": "金币"]],
        ]
        func step(_ name: String, _ body: JSONValue? = nil) -> ControlExample {
            ControlExample(.post, "/emulator/products/{id}/\(name)", path: ["id": "gold"], body)
        }
        return [
            ControlExample(.put, "/emulator/products", ["products": [gold, ["id": "silver", "prices": prices]]]),
            ControlExample(.put, "/emulator/products/{id}", path: ["id": "gold"], gold),
            step("submit", ["withAppVersion": false]), step("startReview"), step("requestChanges"), step("submit"),
            step("startReview"), step("reject"), step("submit"), step("startReview"), step("approve"),
            step("removeFromSale", ["by": "developer"]), step("returnToSale"),
            ControlExample(.post, "/emulator/products", ["id": "copper", "prices": prices]),
            ControlExample(
                .post, "/emulator/products/{id}/metadata", path: ["id": "copper"],
                [
                    "name": "Copper", "tier": "2", "reviewScreenshot": true,
                    "localization": ["locale": "en-US", "displayName": "Copper", "description": "Copper coins"],
                ]),
            ControlExample(.post, "/emulator/products/findings", ["products": [["id": "bronze"]]]),
        ]
    }()

    /// The subjects of the examples, bought before the first of them.
    static func subjects(_ world: EmulatedWorld) async throws -> [String: String] {
        var subjects: [String: String] = [:]
        try await world.emulator.store.setNotificationURL("http://127.0.0.1:9/")
        for (name, product, more) in [
            ("paid", "points60", [:]), ("deferred", "points60", ["outcome": "deferred"]),
            ("asked", "points300", ["outcome": "deferred"]), ("interrupted", "points680", ["outcome": "interrupted"]),
            ("shared", "library", ["account": "mum"]), ("subscription", "member.monthly", [:]),
        ] as [(String, String, [String: JSONValue])] {
            subjects[name] = try await world.buy(product, more)["transactionId"]?.string
        }
        subjects.merge(try await DeviceExamples.subjects(world)) { _, new in new }
        let notified = await world.ask(.get, "/emulator/notifications").json["data"]?.array?.first
        subjects["notification"] = try #require(notified?["id"]?.string)
        return subjects
    }
}

@Suite("The control API's answers")
struct ControlAnswerTests {
    @Test("Every route answers as declared: the same members, each of its type")
    func declared() async throws {
        let world = try await EmulatedWorld()
        let routes = world.emulator.described.filter { !$0.isPage }
        let subjects = try await ControlExamples.subjects(world)
        let plain = routes.filter {
            $0.method == .get && $0.parameters.isEmpty && !$0.query.contains(where: \.isRequired)
        }.map { ControlExample(.get, $0.pattern) }
        let examples = ControlExamples.all + plain
        let notified = Set(examples.map(\.route))
        let missing = routes.map { "\($0.method.rawValue) \($0.pattern)" }.filter { !notified.contains($0) }
        #expect(missing.isEmpty, "no example in ControlExamples.swift: \(missing.sorted().joined(separator: ", "))")
        for example in examples {
            let route = try #require(
                routes.first { $0.method == example.method && $0.pattern == example.pattern }, "\(example.route)")
            var path = example.pattern
            for name in route.parameters {
                let value = example.path[name].map { subjects[$0] ?? $0 }
                path = path.replacing("{\(name)}", with: try #require(value, "\(example.route) needs \(name)"))
            }
            let (status, json, response) = await world.ask(
                example.method, path, query: example.query, example.body)
            #expect((200...299).contains(status), "\(example.route): \(status) \(json.encoded().prefix(300))")
            let isJSON = response.headers["Content-Type"] == "application/json"
            if let answer = route.answer {
                #expect(isJSON, "\(example.route)")
                let problems = ControlAnswers.check(json, against: answer)
                #expect(problems.isEmpty, "\(example.route): \(problems)")
            } else {
                #expect(!isJSON, "\(example.route) answers JSON and declares none")
            }
        }
        #expect(examples.count > 50)
        await world.remove()
    }

    @Test("An answer that deviates from its declaration is found")
    func found() {
        let answer = ControlResponse(
            "Sample",
            [
                ControlMember("a", .integer(0...9), required: true, LocalizedText(en: "", zh: "")),
                ControlMember(
                    "b", .list([ControlMember("c", .instant, LocalizedText(en: "", zh: ""))]),
                    LocalizedText(en: "", zh: "")),
                ControlMember("d", .choice(["x"]), LocalizedText(en: "", zh: "")),
            ])
        func count(_ json: JSONValue) -> Int { ControlAnswers.check(json, against: answer).count }
        #expect(count(["a": 1]) == 0)
        #expect(count(["a": 1, "b": [["c": "2026-03-01T08:30:00.000Z"], [:]], "d": .null]) == 0)
        #expect(count([:]) == 1)
        #expect(count(["a": .null]) == 1)
        #expect(count(["a": 10]) == 1)
        #expect(count(["a": "1"]) == 1)
        #expect(count(["a": 1, "e": 2]) == 1)
        #expect(count(["a": 1, "b": [["c": "2026-03-01"]]]) == 1)
        #expect(count(["a": 1, "b": [["x": 1]], "d": "y"]) == 2)
        #expect(count([1]) == 1)
    }
}
