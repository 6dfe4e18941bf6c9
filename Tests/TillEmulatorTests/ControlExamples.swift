import Testing
import TillAppStore
import TillBilling
import TillHTTP

@testable import TillEmulator

/// One call for each route of the control API, in an order that works: what the tests hold to the declarations. A route
/// that takes nothing but a GET is its own example.
struct ControlExample: Sendable {
    let method: HTTPMethod
    let pattern: String
    /// Values of the pattern's `{names}`: names of `ControlExamples.subjects`, or themselves.
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

    /// Examples of routes that aren't served are left out.
    static let all: [ControlExample] = [
        ControlExample(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"]),
        ControlExample(.post, "/emulator/purchases", points),
        ControlExample(.get, "/emulator/transactions/{id}", path: ["id": "paid"]),
        ControlExample(.post, "/emulator/transactions/{id}/finish", path: ["id": "paid"]),
        ControlExample(.post, "/emulator/transactions/{id}/refund", path: ["id": "paid"], ["percentage": 50_000]),
        ControlExample(.post, "/emulator/transactions/{id}/approve", path: ["id": "deferred"]),
        ControlExample(.post, "/emulator/transactions/{id}/decline", path: ["id": "asked"]),
        ControlExample(.post, "/emulator/subscriptions/{id}/cancel", path: ["id": "subscription"]),
        ControlExample(.post, "/emulator/subscriptions/{id}/resume", path: ["id": "subscription"]),
        ControlExample(.post, "/emulator/subscriptions/{id}/billingFailure", path: ["id": "subscription"]),
        ControlExample(.post, "/emulator/subscriptions/{id}/recover", path: ["id": "subscription"]),
        ControlExample(
            .post, "/emulator/products/{id}/priceIncrease", path: ["id": "com.example.learnpoints.member.monthly"],
            ["price": ["amount": 99_900, "currency": "CNY"]]),
        ControlExample(.post, "/emulator/clock", ["advance": "1d"]),
        ControlExample(
            .put, "/emulator/products",
            ["products": [["id": "gold", "prices": ["CHN": ["amount": 600, "currency": "CNY"]]]]]),
    ]

    /// What the examples are about: bought before the first of them.
    static func subjects(_ world: EmulatedWorld) async throws -> [String: String] {
        var subjects: [String: String] = [:]
        let outcomes = ["paid": "purchased", "deferred": "deferred", "asked": "deferred", "interrupted": "interrupted"]
        for (name, outcome) in outcomes {
            subjects[name] = try await world.buy("points60", ["outcome": .string(outcome)])["transactionId"]?.string
        }
        subjects["subscription"] = try await world.buy("member.monthly")["originalTransactionId"]?.string
        return subjects
    }
}

@Suite("The control API's answers")
struct ControlAnswerTests {
    /// Routes that answer JSON and don't say so yet. Nobody may join them.
    private static let silent: Set<String> = [
        "GET /emulator/products", "PUT /emulator/products", "GET /emulator/transactions", "GET /emulator/state",
    ]

    @Test("Every route answers as it declares: no more members, no fewer, each of its kind")
    func declared() async throws {
        let world = try await EmulatedWorld()
        let routes = world.emulator.described.filter { !$0.isPage }
        let subjects = try await ControlExamples.subjects(world)
        let plain = routes.filter {
            $0.method == .get && $0.parameters.isEmpty && !$0.query.contains(where: \.isRequired)
        }.map { ControlExample(.get, $0.pattern) }
        let examples = ControlExamples.all + plain
        let told = Set(examples.map(\.route))
        let missing = routes.map { "\($0.method.rawValue) \($0.pattern)" }.filter { !told.contains($0) }
        #expect(missing.isEmpty, "no example in ControlExamples.swift: \(missing.sorted().joined(separator: ", "))")
        for example in examples {
            guard
                let route = routes.first(where: { $0.method == example.method && $0.pattern == example.pattern })
            else { continue }
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
            } else if !Self.silent.contains(example.route) {
                #expect(!isJSON, "\(example.route) answers JSON and declares none")
            }
        }
        #expect(examples.count > 10)
        await world.remove()
    }

    @Test("An answer that isn't as declared is found")
    func found() {
        let answer = ControlAnswer(
            "Sample",
            [
                ControlMember("a", .integer(0...9), required: true, Text(en: "", zh: "")),
                ControlMember("b", .list([ControlMember("c", .instant, Text(en: "", zh: ""))]), Text(en: "", zh: "")),
                ControlMember("d", .choice(["x"]), Text(en: "", zh: "")),
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
