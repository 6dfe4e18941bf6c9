import Testing
import TillAPI
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

@testable import TillJSON
@testable import TillServer

@Suite("The OpenAPI document") struct OpenAPITests {
    private let check = SchemaCheck(document: OpenAPI.document)

    /// Method and address of every described operation.
    private var described: [(method: String, path: String, operation: JSONValue)] {
        (OpenAPI.document["paths"]?.object ?? [:]).flatMap { path, item in
            (item.object ?? [:]).map { ($0.key.uppercased(), path, $0.value) }
        }
    }

    @Test("Every route is described and every described route is served, with the same body limit")
    func routes() async throws {
        try await DashboardServer.open { dashboardServer async throws in
            let routes = dashboardServer.server.router.routes
            let served = Set(routes.map { "\($0.method.rawValue) \($0.pattern)" })
            let reported = Set(described.map { "\($0.method) \($0.path)" })
            #expect(served.subtracting(reported).isEmpty, "not described: \(served.subtracting(reported))")
            #expect(reported.subtracting(served).isEmpty, "not served: \(reported.subtracting(served))")
            #expect(served.count == routes.count && routes.count > 20)
            #expect(Endpoint.all.count == routes.count)
            for route in routes where route.method == .post {
                let operation = described.first { $0.method == "POST" && $0.path == route.pattern }?.operation
                #expect(operation?["x-body-limit"]?.int == Int64(route.bodyLimit), "\(route.pattern)")
            }
        }
    }

    @Test("Each operation has its own name and describes the parameters of its path")
    func operations() {
        let names = described.compactMap { $0.operation["operationId"]?.string }
        #expect(names.count == described.count && Set(names).count == names.count)
        for (method, path, operation) in described {
            let wanted = path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
                String($0.dropFirst().dropLast())
            }
            let reported = (operation["parameters"]?.array ?? []).filter { $0["in"]?.string == "path" }
            #expect(reported.compactMap { $0["name"]?.string } == wanted, "\(method) \(path)")
            #expect(reported.allSatisfy { $0["required"]?.bool == true })
            let answers = operation["responses"]?.object ?? [:]
            #expect(answers.keys.contains { $0.hasPrefix("2") || $0 == "303" })
            #expect(answers["default"] != nil)
            #expect(operation["summary"]?.string?.isEmpty == false)
        }
    }

    @Test("Every reference resolves, and every schema is reachable")
    func references() {
        var used: Set<String> = []
        func walk(_ value: JSONValue) {
            if let reference = value["$ref"]?.string {
                used.insert(reference)
                #expect(check.resolve(reference) != .null, "\(reference)")
            }
            for member in value.object ?? [:] { walk(member.value) }
            for element in value.array ?? [] { walk(element) }
        }
        walk(OpenAPI.document)
        for name in OpenAPI.schemas.keys { #expect(used.contains("#/components/schemas/\(name)"), "\(name) is unused") }
    }

    @Test("Every code that a program may receive is listed, and each operation lists its own codes with their status")
    func codes() {
        let listed = OpenAPI.schemas["Problem"]?["properties"]?["code"]?["enum"]?.array?.compactMap(\.string) ?? []
        #expect(Set(listed).count == listed.count)
        for refusal in Refusal.allCases { #expect(listed.contains(refusal.rawValue)) }
        for reason in HTTPRequestError.allCases { #expect(listed.contains(reason.rawValue)) }
        for operation in Endpoint.all {
            for refusal in operation.allRefusals where operation.answers.allSatisfy({ $0.status != refusal.status }) {
                let answer = operation.json["responses"]?[String(refusal.status)]
                #expect(answer?["description"]?.string?.contains("`\(refusal.rawValue)`") == true)
            }
        }
    }

    @Test("Schemas name the members that are really sent and received, and require those that are always present")
    func members() throws {
        let samples = try Self.samples.merging(Self.offerSamples) { own, _ in own }
            .merging(Self.planSamples) { own, _ in own }
            .merging(Self.transferSamples) { own, _ in own }
            .merging(Self.claimSamples) { own, _ in own }
            .merging(Self.rightSamples) { own, _ in own }
            .merging(Self.walletSamples) { own, _ in own }
            .merging(Self.financeSamples) { own, _ in own }
            .merging(Self.reconciliationSamples) { own, _ in own }
            .merging(Self.webhookSamples) { own, _ in own }
            .merging(Self.personSamples) { own, _ in own }
            .merging(Self.importSamples) { own, _ in own }
        let own = Set(OpenAPI.schemas.keys).subtracting([
            "Metadata", "AnyObject", "LoginForm", "LogoutForm", "ClaimForm", "ReversalForm", "Empty", "SubmitProof",
            "AppleObject", "AppleReportText", "ImportForm", "ExportForm", "EraseForm",
        ])
        #expect(Set(samples.keys) == own, "\(own.symmetricDifference(samples.keys))")
        for (name, sample) in samples {
            let schema = try #require(OpenAPI.schemas[name])
            #expect(
                Set(schema["properties"]?.object?.keys ?? [:].keys) == Set(sample.full.object?.keys ?? [:].keys),
                "\(name)")
            let required = Set((schema["required"]?.array ?? []).compactMap(\.string))
            #expect(required == Set(sample.least.object?.keys ?? [:].keys), "\(name)")
            #expect(check.problems(sample.full, schema).isEmpty, "\(name): \(check.problems(sample.full, schema))")
        }
    }

    @Test("Every example fits its schema")
    func examples() {
        var count = 0
        func walk(_ value: JSONValue) {
            if let example = value["example"], let schema = value["schema"] {
                count += 1
                #expect(check.problems(example, schema).isEmpty, "\(check.problems(example, schema))")
            }
            for member in value.object ?? [:] { walk(member.value) }
            for element in value.array ?? [] { walk(element) }
        }
        walk(OpenAPI.document)
        #expect(count > 20)
    }

    @Test("The server's responses match the description: status, type and every member")
    func answers() async throws {
        try await DashboardServer.open { dashboardServer in
            let (order, _) = try await dashboardServer.sell(to: "u1")
            let open = try await dashboardServer.openOrder(user: "u1", device: "d", metadata: [1, "two", nil])
            let paid = try await dashboardServer.pay(token: open)
            let stray = try await dashboardServer.pay(token: nil)
            let receipt = Base64.encode(try await dashboardServer.emulator.receipt(bundleID: DashboardServer.bundleID))
            let product: JSONValue = .string(DashboardServer.points60)
            let calls: [(HTTPMethod, String, String, JSONValue?, Int)] = [
                (.post, Paths.orders, Paths.orders, ["userId": "u2", "productId": product], 201),
                (.post, Paths.orders, Paths.orders, ["userId": "u2", "productId": "nothing"], 422),
                (.post, Paths.orders, Paths.orders, ["userId": 7], 400),
                (.get, Paths.order, "/v1/orders/\(order)", nil, 200),
                (.get, Paths.order, "/v1/orders/\(open)", nil, 200),
                (.get, Paths.order, "/v1/orders/x", nil, 404),
                (.get, Paths.userOrders, "/v1/users/u1/orders", nil, 200),
                (.post, Paths.cancelOrder, "/v1/orders/\(open)/cancel", ["reason": "no"], 200),
                (.post, Paths.failOrder, "/v1/orders/\(order)/fail", [:], 409),
                (.post, Paths.deferOrder, "/v1/orders/\(order)/defer", [:], 409),
                (.post, Paths.transactions, Paths.transactions, ["signedTransaction": .string(paid.signed)], 200),
                (.post, Paths.transactions, Paths.transactions, ["signedTransaction": .string(stray.signed)], 202),
                (.post, Paths.transactions, Paths.transactions, ["signedTransaction": "x"], 422),
                (.post, Paths.appleNotifications, Paths.appleNotifications, ["signedPayload": "x"], 422),
                (.post, Paths.verifyReceipt, Paths.verifyReceipt, ["receipt-data": "AAAA"], 200),
                (.post, Paths.verifyReceipt, Paths.verifyReceipt, ["receipt-data": .string(receipt)], 200),
                (.post, Paths.postPay, Paths.postPay, [:], 400),
                (.post, Paths.postPay, Paths.postPay, Self.shippedPurchase, 401),
                (.post, Paths.appleReceipt, Paths.appleReceipt, ["apple_receipt": "a", "token": "x"], 401),
                (.get, Paths.wallet, "/v1/users/u1/wallet", nil, 200),
                (.get, Paths.entitlements, "/v1/users/u1/entitlements", nil, 200),
                (.get, Paths.entitlement, "/v1/users/u1/entitlements/nothing", nil, 404),
                (.get, Paths.subscriptions, "/v1/users/u1/subscriptions", nil, 200),
                (.post, Paths.planPreview, Paths.planPreview, ["userId": "u1", "planId": "nothing"], 422),
                (.post, Paths.planPreview, Paths.planPreview, ["userId": "u1", "planId": product], 400),
                (
                    .post, Paths.promotionalOffers, Paths.promotionalOffers, ["productId": product, "offerId": "a"],
                    501
                ),
                (
                    .post, Paths.introductoryOffers, Paths.introductoryOffers,
                    ["productId": product, "allowed": true, "transactionId": "1"], 501
                ),
                (.get, Paths.products, Paths.products, nil, 200), (.get, Paths.health, Paths.health, nil, 200),
                (.get, Paths.readiness, Paths.readiness, nil, 200), (.get, Paths.openAPI, Paths.openAPI, nil, 200),
            ]
            let others =
                Self.walletCalls + Self.transferCalls(paid.id, paid.signed) + Self.reconciliationCalls
                + Self.financeCalls + Self.webhookCalls + Self.claimCalls(stray.id) + Self.personCalls
                + Self.importCalls
            for (method, pattern, path, body, status) in calls + others {
                let parts = path.split(separator: "?").map(String.init)
                let query = parts.count == 2 ? try PercentEncoding.items(parts[1].utf8) : []
                var request = HTTPRequest(method: method, path: parts[0], query: query)
                request.headers.add("Authorization", "Bearer \(DashboardServer.secretKey)")
                request.body = body.map { Array($0.encoded().utf8) } ?? []
                let reply = await dashboardServer.server.respond(to: request)
                #expect(reply.status == status, "\(method) \(path): \(String(decoding: reply.body, as: UTF8.self))")
                let operation = described.first { $0.method == method.rawValue && $0.path == pattern }?.operation
                let reported = try #require(operation?["responses"]?[String(status)], "\(method) \(path) \(status)")
                let type = try #require(reply.headers["Content-Type"])
                let schema = try #require(reported["content"]?[type]?["schema"], "\(method) \(path) \(status) \(type)")
                let problems = check.problems(try JSONValue(decoding: reply.body), schema)
                if pattern != Paths.openAPI { #expect(problems.isEmpty, "\(method) \(path): \(problems)") }
            }
        }
    }

    @Test("Addresses described as guarded refuse unauthenticated clients, and the open ones don't")
    func security() async throws {
        try await DashboardServer.open { dashboardServer async throws in
            for operation in Endpoint.all where operation.tag != .dashboard {
                let path = operation.path.replacing("{id}", with: "x").replacing("{userId}", with: "u1")
                let reply = await dashboardServer.server.respond(to: HTTPRequest(method: operation.method, path: path))
                #expect((reply.status == 401) == (operation.caller != .anyone), "\(operation.id)")
            }
        }
    }

    @Test("The document is served as JSON, and a client that has it already gets 304")
    func served() async throws {
        try await DashboardServer.open { dashboardServer in
            let first = await dashboardServer.server.respond(to: HTTPRequest(method: .get, path: "/openapi.json"))
            #expect(first.status == 200)
            #expect(first.headers["Content-Type"] == "application/json")
            #expect(try JSONValue(decoding: first.body)["openapi"]?.string == "3.1.0")
            let tag = try #require(first.headers["ETag"])
            let again = HTTPRequest(
                method: .get, path: "/openapi.json", headers: HTTPHeaders([("If-None-Match", tag)]))
            #expect(await dashboardServer.server.respond(to: again).status == 304)
        }
    }
}

extension OpenAPITests {
    private static let shippedPurchase: JSONValue = [
        "token": "a", "receipt-data": "b", "product_id": "c", "transaction_id": "1", "quantity": "1", "order_id": "d",
        "bundle_id": "e", "password": "f", "is_sandbox": "0",
    ]

    private static let correction: JSONValue = [
        "currency": "points", "amount": -1, "reference": "c1", "reason": "why", "operator": "anna",
    ]

    private static var verifyReceiptReply: JSONValue {
        var answer = VerifyReceiptResponse(status: .genuine)
        answer.environment = "Sandbox"
        answer.receipt = ResponseReceipt()
        answer.latestReceipt = "a"
        answer.latestReceiptInfo = [ResponsePurchase()]
        answer.pendingRenewalInfo = [ResponseRenewal()]
        return answer.json
    }

    /// For each schema, a value with every member and one with the required members only, encoded from the types that
    /// the API really sends and receives.
    private static var samples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            let id = UniqueID(high: 1, low: 2)
            let now = Instant(seconds: 1_790_000_000)
            let money = Money(amount: 600, currency: Currency("CNY"))
            func product(_ entitlement: String?, _ plan: PlanTerms? = nil) -> CatalogProduct {
                CatalogProduct(
                    id: ProductID("p"), type: .consumable, names: LocalizedText(en: "a", zh: "b"), price: money,
                    points: ["points": 1], entitlement: entitlement, plan: plan,
                    prices: plan == nil ? [:] : ["CNY": 6], promotionalOffers: plan == nil ? [] : ["half"])
            }
            func order(_ metadata: Metadata?) -> OrderReply {
                OrderReply(
                    Order(
                        id: id, userID: UserID("u"), productID: ProductID("p"), quantity: 1, price: money,
                        transactionID: metadata.map { _ in TransactionID("1") },
                        environment: metadata.map { _ in .sandbox }, createdAt: now, updatedAt: now),
                    of: metadata.map { _ in product(nil) }, paid: metadata.map { _ in money }, metadata: metadata,
                    history: [OrderMove(status: .prepared, at: now, reason: "opened")])
            }
            func grant(_ entitlement: String?) -> GrantReply {
                GrantReply(
                    Grant(
                        id: id, environment: .sandbox, transactionID: TransactionID("1"), orderID: id,
                        userID: UserID("u"), productID: ProductID("p"), quantity: 1,
                        points: [GrantedPoints(currency: "points", amount: 60)], entitlement: entitlement, at: now))
            }
            func problem(_ detail: String?) -> ProblemDetails {
                ProblemDetails(refusal: .invalidField, status: 400, language: .english, requestId: "r", detail: detail)
            }
            let fullProof = SubmitProofBody(
                signedTransaction: "a", receipt: nil, transactionId: "1", productId: "p", orderId: id, userId: "u",
                deviceId: "d", phoneId: "p")
            let withReceipt = SubmitProofBody(
                receipt: "b", transactionId: "1", productId: "p", idNonce: OrderIDNonce(bytes: Array(0..<16)),
                idUserId: "g")
            let fullReply = SubmitProofReply(
                outcome: .granted, transactionId: "1", finish: true, orderId: id, userId: "u", grant: grant(nil),
                sandbox: true, reason: "no_owner", paid: money)
            var made: [String: (full: JSONValue, least: JSONValue)] = [
                "Order": try both(order(.integer(1)), order(nil)),
                "OrderMove": try same(order(nil).history[0]),
                "OrderReason": try both(OrderReasonBody(reason: "r"), OrderReasonBody(reason: nil)),
                "SubmitProofReply": try both(
                    fullReply, SubmitProofReply(outcome: .accepted, transactionId: "1", finish: false)),
                "Grant": try both(grant("pro"), grant(nil)), "GrantPosting": try same(grant(nil).postings[0]),
                "AppleNotification": try same(AppleNotificationBody(signedPayload: "a")),
                "Wallet": try both(
                    WalletReply(balances: ["points": 1], held: ["points": 1], sandbox: true),
                    WalletReply(balances: ["points": 1])),
                "Debit": try same(DebitBody(currency: "points", amount: 1, reference: "r")),
                "DebitReply": try both(
                    DebitReply(reference: "r", currency: "points", amount: 1, balance: 2, at: now, sandbox: true),
                    DebitReply(reference: "r", currency: "points", amount: 1, balance: 2, at: now)),
                "Products": try same(ProductsReply(data: [listed(product(nil))])),
                "Product": try both(listed(product("pro", terms("p", rank: "a"))), listed(product(nil))),
                "ProductNames": try same(ProductNames(["en": "a", "zh": "b"])),
                "Text": try same(LocalizedText(en: "a", zh: "b")), "Money": try same(money),
                "Problem": try both(problem("d"), problem(nil)),
                "Health": try same(["status": "ok"]), "Readiness": try both(readiness("unavailable"), readiness(nil)),
            ]
            made.merge(try dropInSamples(order(nil))) { first, _ in first }
            made.merge(try pageSamples(order(nil), at: now)) { first, _ in first }
            // Exactly one of the two forms is accepted, so no single value has all members.
            let proof = (try sample(fullProof).object ?? [:]).merging(try sample(withReceipt).object ?? [:]) { $1 }
            let schema = try #require(OpenAPI.schemas["SubmitProof"]?["properties"]?.object)
            #expect(Set(proof.keys) == Set(schema.keys))
            return made
        }
    }

    private static func pageSamples(
        _ order: OrderReply, at now: Instant
    ) throws -> [String: (full: JSONValue, least: JSONValue)] {
        let page = Page(data: [order], hasMore: true, nextCursor: "1")
        let restored = RestoredLedger(backupAt: now, restoredAt: now)
        return [
            "OrderPage": try both(OrderPage(page, restored: restored), OrderPage(page, restored: nil)),
            "RestoredLedger": try same(restored),
        ]
    }

    private static func listed(_ product: CatalogProduct) -> ProductReply { ProductReply(product, preferring: "en") }

    private static func dropInSamples(
        _ order: OrderReply
    ) throws -> [String: (full: JSONValue, least: JSONValue)] {
        let purchase = AppleReceiptReply.Purchase(
            transactionId: "1", outcome: .granted, reason: "no_owner", sandbox: true)
        return [
            "VerifyReceipt": (
                ["receipt-data": "a", "password": "b", "exclude-old-transactions": true], ["receipt-data": "a"]
            ),
            "VerifyReceiptReply": (verifyReceiptReply, VerifyReceiptResponse(status: .malformed).json),
            "PostPay": (
                shippedPurchase, ["token": "a", "receipt-data": "b", "product_id": "c", "transaction_id": "1"]
            ),
            "PostPayReply": try both(
                PostPayReply(
                    status: 200, outcome: .granted, transactionId: "1", order: order, expiresAt: order.createdAt,
                    sandbox: true, reason: "no_owner"),
                PostPayReply(status: 410, outcome: .revoked, transactionId: "1")),
            "PostAppleReceipt": (["apple_receipt": "a", "token": "b"], ["apple_receipt": "a"]),
            "AppleReceiptReply": try same(AppleReceiptReply(flag: 1, transactions: [purchase])),
            "AppleReceiptPurchase": try both(
                purchase, AppleReceiptReply.Purchase(transactionId: "1", outcome: .granted)),
        ]
    }

    private struct ReadinessSample: Encodable {
        let status, database: String
        let reasons: [String]
        let code: String?
    }

    private static func readiness(_ code: String?) -> ReadinessSample {
        ReadinessSample(status: "not_ready", database: "full", reasons: ["disk_low"], code: code)
    }

    private static func sample(_ value: some Encodable) throws -> JSONValue {
        try JSONValue(decoding: JSONText.encode(value))
    }

    static func both(_ full: some Encodable, _ least: some Encodable) throws -> (
        full: JSONValue, least: JSONValue
    ) {
        (try sample(full), try sample(least))
    }

    static func same(_ value: some Encodable) throws -> (full: JSONValue, least: JSONValue) {
        try both(value, value)
    }
}
