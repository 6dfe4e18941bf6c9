import TillBilling
import TillHTTP
import TillJSON

/// One method of one address: its handler, its callers, its input and its responses. The router, the OpenAPI document
/// and the limit of the body come from this one declaration.
struct Endpoint: Sendable {
    typealias Action = @Sendable (Server) -> @Sendable (Call) async throws -> HTTPResponse

    let method: HTTPMethod
    let path: String
    /// A verb and a noun, unique.
    let id: String
    let tag: Tag
    /// Nil for the dashboard, which serves its pages itself.
    var action: Action?
    let summary: String
    var description = ""
    var caller = Caller.anyone
    /// False if the action records its caller in its own commit. If the action wrote nothing, the customer is recorded
    /// afterwards, before the response.
    var recordsCustomer = true
    /// Whether a request of an unauthenticated client counts for its address. False for Apple's notifications and for
    /// health checks, which must never be refused for another client's requests, and where the body has the token.
    var countsAddress = true
    /// The response to an unauthenticated client whose address sends too many requests or long bodies; a problem by
    /// default.
    var crowded: HTTPResponse?
    /// Besides `userId` in the path, which is described automatically.
    var parameters: [Parameter] = []
    var body: Request?
    /// Bytes; the router enforces it.
    var bodyLimit = 1 << 20
    /// Whether a POST with a credential takes an `Idempotency-Key`.
    var isRepeatable = true
    var answers: [Answer]
    /// The refusals of the handler. The rest of the declaration implies more (``allRefusals``).
    var refusals: [Refusal] = []

    static let all =
        OpenAPI.orderEndpoints + OpenAPI.transactionEndpoints + OpenAPI.ownershipEndpoints + OpenAPI.walletEndpoints
        + OpenAPI.planEndpoints + OpenAPI.shopEndpoints + OpenAPI.financeEndpoints + OpenAPI.operationEndpoints
        + OpenAPI.webhookEndpoints + OpenAPI.personEndpoints + OpenAPI.importEndpoints
        + OpenAPI.dashboardEndpoints

    enum Tag: String, CaseIterable, Sendable {
        case orders, transactions, transfers, claims, wallet, consents
        case plans, offers, finance, webhooks, people, imports, shop, operations, dashboard

        var text: String {
            switch self {
            case .orders: "Orders: what a user intends to buy."
            case .transactions: "Purchases that Apple confirmed: proofs from apps, notifications from Apple."
            case .transfers: "Moves of purchases from one user to another, and their reversal."
            case .claims: "Paid purchases without an owner, and the ways to claim them."
            case .wallet: "Points and their postings."
            case .consents: "A user's consent to consumption data being sent to Apple."
            case .plans: "Entitlements, subscriptions and plan previews."
            case .offers: "Signed subscription offers, one signature for each purchase attempt."
            case .finance: "Expected proceeds and Apple's financial reports."
            case .webhooks: "Events for the app's backend: pushed to its endpoints, or fetched."
            case .people: "A person's data: its export and its erasure."
            case .imports: "Purchases of another system: moving in, and undoing it."
            case .shop: "The catalogue."
            case .operations: "Health, metrics and reconciliation."
            case .dashboard: "Pages for operators."
            }
        }
    }

    enum Caller: Sendable {
        case anyone
        /// A backend with a secret key, or an app with a user token.
        case app
        case backend
        case operators
        /// An operator with a token, or a backend with a secret key.
        case operatorOrBackend

        var security: JSONValue {
            switch self {
            case .anyone: []
            case .app: [["secretKey": []], ["userToken": []]]
            case .backend: [["secretKey": []]]
            case .operators: [["operatorToken": []], ["dashboardSession": []]]
            case .operatorOrBackend: [["secretKey": []], ["operatorToken": []]]
            }
        }
    }
}

// MARK: Requests and responses

extension Endpoint {
    struct Parameter: Sendable {
        let json: JSONValue
        let isInQuery: Bool
        var holdsCursor: Bool { json["schema"] == Self.cursorText }

        private init(_ place: String, _ name: String, _ schema: JSONValue, _ description: String) {
            var json: [String: JSONValue] = [
                "name": .string(name), "in": .string(place), "schema": schema, "description": .string(description),
            ]
            if place == "path" { json["required"] = true }
            self.json = .object(json)
            isInQuery = place == "query"
        }

        static func path(_ name: String, _ member: Member, _ description: String) -> Parameter {
            Parameter("path", name, member.json, description)
        }

        static func query(_ name: String, _ member: Member, _ description: String) -> Parameter {
            Parameter("query", name, member.json, description)
        }

        static func query(_ name: String, schema: JSONValue, _ description: String) -> Parameter {
            Parameter("query", name, schema, description)
        }

        static func header(
            _ name: String, schema: JSONValue = ["type": "string"], _ description: String
        ) -> Parameter {
            Parameter("header", name, schema, description)
        }
    }

    struct Request: Sendable {
        let body: String
        var type = "application/json"
        var isRequired = true

        /// - Parameter body: the name in a `BodyTable`.
        static func json(_ body: String, isRequired: Bool = true) -> Request {
            Request(body: body, isRequired: isRequired)
        }

        static func form(_ body: String) -> Request {
            Request(body: body, type: "application/x-www-form-urlencoded")
        }
    }

    struct Answer: Sendable {
        let status: Int
        let description: String
        /// The name in a `BodyTable`. Nil for a response without a body, or with a body that is not JSON.
        var body: String?
        var type = "application/json"
        /// Replaces the body's own example.
        var example: JSONValue?
        var headers: [String: String] = [:]
        /// Another media type that the client can choose with `Accept`.
        var otherType: String?
        fileprivate var showsExample = true

        static func answer(
            _ status: Int, _ description: String, _ body: String? = nil, _ example: JSONValue? = nil
        ) -> Answer {
            Answer(status: status, description: description, body: body, example: example)
        }

        static func ok(_ description: String, _ body: String, _ example: JSONValue? = nil) -> Answer {
            answer(200, description, body, example)
        }

        static func created(_ description: String, _ body: String, _ example: JSONValue? = nil) -> Answer {
            answer(201, description, body, example)
        }

        static func accepted(_ description: String, _ body: String, _ example: JSONValue? = nil) -> Answer {
            answer(202, description, body, example)
        }

        /// A page, or a text of another type.
        static func page(_ status: Int, _ description: String, type: String = "text/html") -> Answer {
            Answer(status: status, description: description, type: type)
        }

        func with(headers: [String: String]) -> Answer {
            var answer = self
            answer.headers = headers
            return answer
        }

        /// The same response, also available as another media type.
        func or(_ type: String) -> Answer {
            var answer = self
            answer.otherType = type
            return answer
        }

        /// Without the body's example, which would not fit here.
        var bare: Answer {
            var answer = self
            answer.showsExample = false
            return answer
        }
    }

    /// Whether a repetition under an `Idempotency-Key` gets the first response again.
    var takesIdempotencyKey: Bool { method == .post && (caller == .app || caller == .backend) && isRepeatable }

    private var isAboutUser: Bool { path.contains("{userId}") }

    var allParameters: [Parameter] {
        (isAboutUser ? [.userID] : []) + parameters + (takesIdempotencyKey ? [.idempotencyKey] : [])
    }

    /// All refusals of this endpoint: those of the handler and those of the checks before it.
    var allRefusals: [Refusal] {
        guard tag != .dashboard else { return [] }
        var all = refusals
        if caller != .anyone { all.append(.unauthorized) }
        if caller == .backend || caller == .operatorOrBackend || caller == .app && isAboutUser {
            all.append(.forbidden)
        }
        if caller != .anyone || countsAddress && crowded == nil { all.append(.tooManyRequests) }
        if isAboutUser || parameters.contains(where: \.isInQuery) { all.append(.invalidField) }
        if parameters.contains(where: \.holdsCursor) { all.append(.staleCursor) }
        if body != nil { all += [.malformedJSON, .invalidField, .payloadTooLarge] }
        if takesIdempotencyKey { all += [.idempotencyInFlight, .idempotencyKeyReused] }
        all += [.internalError, .unavailable]
        return Refusal.allCases.filter(all.contains)
    }
}

// MARK: OpenAPI

extension Endpoint {
    var json: JSONValue {
        var members: [String: JSONValue] = [
            "operationId": .string(id), "tags": [.string(tag.rawValue)], "summary": .string(summary),
            "security": caller.security, "responses": .object(responses),
        ]
        if !description.isEmpty { members["description"] = .string(description) }
        if !allParameters.isEmpty { members["parameters"] = .array(allParameters.map(\.json)) }
        if let body {
            members["requestBody"] = [
                "required": .bool(body.isRequired), "description": .string("At most \(bodyLimit) bytes."),
                "content": .object([body.type: Self.content(body.body, Body.example(of: body.body))]),
            ]
        }
        if body != nil || method == .post { members["x-body-limit"] = .int(Int64(bodyLimit)) }
        return .object(members)
    }

    private var responses: [String: JSONValue] {
        var responses: [String: JSONValue] = ["default": ["$ref": "#/components/responses/Problem"]]
        for (status, refusals) in Dictionary(grouping: allRefusals, by: \.status) {
            responses[String(status)] = Self.problem(refusals)
        }
        for answer in answers { responses[String(answer.status)] = answer.json }
        return responses
    }

    fileprivate static func content(_ body: String, _ example: JSONValue?) -> JSONValue {
        var content: [String: JSONValue] = ["schema": OpenAPI.ref(body)]
        if let example { content["example"] = example }
        return .object(content)
    }

    private static func problem(_ refusals: [Refusal]) -> JSONValue {
        let lines = refusals.map { "- `\($0.rawValue)`: \($0.sentence.en)" }
        let example: JSONValue = [
            "type": .string("urn:till:problem:\(refusals[0].rawValue)"), "title": .string(refusals[0].sentence.en),
            "status": .int(Int64(refusals[0].status)), "code": .string(refusals[0].rawValue),
            "retryable": .bool(refusals[0].isRetryable), "requestId": "9d1c2f0e-7a55-4c0b-9a39-6f1f0d2b8c11",
        ]
        var members: [String: JSONValue] = [
            "description": .string(lines.joined(separator: "\n")),
            "content": ["application/problem+json": content("Problem", example)],
        ]
        if refusals.contains(where: \.isRetryable), refusals[0].status != 500 {
            members["headers"] = [
                "Retry-After": ["description": "Seconds to wait.", "schema": ["type": "integer"]]
            ]
        }
        return .object(members)
    }
}

extension Endpoint.Answer {
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = ["description": .string(description)]
        var content: [String: JSONValue] = [:]
        if let body {
            content[type] = Endpoint.content(body, showsExample ? example ?? Body.example(of: body) : nil)
        } else if type != "application/json" {
            content[type] = ["schema": ["type": "string"]]
            // The listener refuses requests that break HTTP's rules, before any page is called.
            if status == 400 { content["application/problem+json"] = ["schema": OpenAPI.ref("Problem")] }
        }
        if let otherType { content[otherType] = ["schema": ["type": "string"]] }
        if !content.isEmpty { members["content"] = .object(content) }
        if !headers.isEmpty {
            members["headers"] = .object(
                headers.mapValues { ["description": .string($0), "schema": ["type": "string"]] })
        }
        return .object(members)
    }
}
