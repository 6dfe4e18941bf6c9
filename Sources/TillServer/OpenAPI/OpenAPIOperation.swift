import TillBilling
import TillHTTP
import TillJSON

/// One method of one address, with what it takes and what it answers.
struct OpenAPIOperation: Sendable {
    enum Tag: String, CaseIterable, Sendable {
        case orders, transactions, transfers, claims, wallet, consents
        case plans, offers, finance, webhooks, shop, operations, dashboard

        var text: String {
            switch self {
            case .orders: "What somebody set out to buy."
            case .transactions: "What Apple says was paid: proofs from apps, notifications from Apple."
            case .transfers: "Purchases that go to another user, and how that is taken back."
            case .claims: "What was paid and is nobody's yet, and how it gets an owner."
            case .wallet: "Points, and how they moved."
            case .consents: "What a user lets Apple be told."
            case .plans: "What a user may use, and what buying a plan comes to."
            case .offers: "What a subscription may cost less, signed for one attempt to buy."
            case .finance: "What Apple owes, and what Apple says of it."
            case .webhooks: "What the app's backend is told: pushed to its endpoints, or fetched."
            case .shop: "What there is to buy."
            case .operations: "For those who run the server."
            case .dashboard: "Pages for operators."
            }
        }
    }

    enum Caller: Sendable {
        case anybody
        /// A backend with a secret key, or an app with a user token.
        case app
        case backend
        case operators
        /// An operator with a token, or a backend with a secret key.
        case operatorOrBackend

        var security: JSONValue {
            switch self {
            case .anybody: []
            case .app: [["secretKey": []], ["userToken": []]]
            case .backend: [["secretKey": []]]
            case .operators: [["operatorToken": []], ["dashboardSession": []]]
            case .operatorOrBackend: [["secretKey": []], ["operatorToken": []]]
            }
        }
    }

    struct Parameter: Sendable {
        let json: JSONValue

        static func path(_ name: String, _ schema: JSONValue, _ description: String) -> Parameter {
            Parameter(
                json: [
                    "name": .string(name), "in": "path", "required": true, "schema": schema,
                    "description": .string(description),
                ])
        }

        static func query(_ name: String, _ schema: JSONValue, _ description: String) -> Parameter {
            Parameter(
                json: [
                    "name": .string(name), "in": "query", "schema": schema, "description": .string(description),
                ])
        }

        static func header(_ name: String, _ schema: JSONValue, _ description: String) -> Parameter {
            Parameter(
                json: [
                    "name": .string(name), "in": "header", "schema": schema, "description": .string(description),
                ])
        }
    }

    struct Body: Sendable {
        let type: String
        let schema: String
        let isRequired: Bool
        let example: JSONValue?

        init(_ schema: String, type: String = "application/json", isRequired: Bool = true, example: JSONValue? = nil) {
            self.schema = schema
            self.type = type
            self.isRequired = isRequired
            self.example = example
        }
    }

    struct Answer: Sendable {
        let status: Int
        let description: String
        /// The schema's name; without one there is no body, or one of another type.
        var schema: String?
        var type = "application/json"
        var example: JSONValue?
        var headers: [String: String] = [:]
        /// Other types of it to choose from, by `Accept`.
        var otherTypes: [String] = []

        init(_ status: Int, _ description: String, _ schema: String? = nil, example: JSONValue? = nil) {
            self.status = status
            self.description = description
            self.schema = schema
            self.example = example
        }

        /// A page.
        static func page(_ status: Int, _ description: String) -> Answer {
            var answer = Answer(status, description)
            answer.type = "text/html"
            return answer
        }

        func with(headers: [String: String]) -> Answer {
            var answer = self
            answer.headers = headers
            return answer
        }
    }

    let method: HTTPMethod
    let path: String
    /// A verb and a noun, unique.
    let id: String
    let tag: Tag
    let summary: String
    var description = ""
    var caller = Caller.anybody
    var parameters: [Parameter] = []
    var body: Body?
    /// Bytes; what the router holds to.
    var bodyLimit = 1 << 20
    var isRepeatable = false
    var answers: [Answer]
    /// What a handler may refuse with, beside what every handler may.
    var refusals: [Refusal] = []
}

extension OpenAPIOperation {
    var json: JSONValue {
        var members: [String: JSONValue] = [
            "operationId": .string(id), "tags": [.string(tag.rawValue)], "summary": .string(summary),
            "security": caller.security, "responses": .object(responses),
        ]
        if !description.isEmpty { members["description"] = .string(description) }
        let all = parameters + (isRepeatable ? [.idempotencyKey] : [])
        if !all.isEmpty { members["parameters"] = .array(all.map(\.json)) }
        if let body {
            var content: [String: JSONValue] = ["schema": OpenAPI.ref(body.schema)]
            if let example = body.example { content["example"] = example }
            members["requestBody"] = [
                "required": .bool(body.isRequired), "content": .object([body.type: .object(content)]),
                "description": .string("At most \(bodyLimit) bytes."),
            ]
        }
        if body != nil || method == .post { members["x-body-limit"] = .int(Int64(bodyLimit)) }
        return .object(members)
    }

    /// What can be refused here: by the handler, and on the way to it.
    var allRefusals: [Refusal] {
        guard tag != .dashboard else { return [] }
        var all = refusals
        if caller != .anybody { all.append(.unauthorized) }
        if caller == .backend { all.append(.forbidden) }
        if body != nil { all += [.malformedJSON, .invalidField, .payloadTooLarge] }
        if isRepeatable { all += [.idempotencyInFlight, .idempotencyKeyReused] }
        all += [.internalError, .unavailable]
        return Refusal.allCases.filter(all.contains)
    }

    private var responses: [String: JSONValue] {
        var responses: [String: JSONValue] = ["default": ["$ref": "#/components/responses/Problem"]]
        for (status, refusals) in Dictionary(grouping: allRefusals, by: \.status) {
            responses[String(status)] = Self.problem(refusals)
        }
        for answer in answers { responses[String(answer.status)] = Self.response(answer) }
        return responses
    }

    private static func response(_ answer: Answer) -> JSONValue {
        var members: [String: JSONValue] = ["description": .string(answer.description)]
        if let schema = answer.schema {
            var content: [String: JSONValue] = ["schema": OpenAPI.ref(schema)]
            if let example = answer.example { content["example"] = example }
            var types: [String: JSONValue] = [answer.type: .object(content)]
            for type in answer.otherTypes { types[type] = ["schema": ["type": "string"]] }
            members["content"] = .object(types)
        } else if answer.type != "application/json" {
            var content: [String: JSONValue] = [answer.type: ["schema": ["type": "string"]]]
            // The listener refuses what breaks the rules of HTTP, before any page is asked.
            if answer.status == 400 { content["application/problem+json"] = ["schema": OpenAPI.ref("Problem")] }
            members["content"] = .object(content)
        }
        if !answer.headers.isEmpty {
            members["headers"] = .object(
                answer.headers.mapValues { ["description": .string($0), "schema": ["type": "string"]] })
        }
        return .object(members)
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
            "content": ["application/problem+json": ["schema": OpenAPI.ref("Problem"), "example": example]],
        ]
        if refusals.contains(where: \.isRetryable), refusals[0].status != 500 {
            members["headers"] = [
                "Retry-After": ["description": "Seconds to wait.", "schema": ["type": "integer"]]
            ]
        }
        return .object(members)
    }
}

extension OpenAPIOperation.Parameter {
    static let idempotencyKey = header(
        "Idempotency-Key", ["type": "string", "minLength": 1, "maxLength": 255],
        "A repetition with this key is answered as the first request was, for 48 hours; for this caller and address."
    )
    static let orderID = path("id", OpenAPISchema.uuid("The order's id."), "The order's id.")
    static let transferID = path("id", OpenAPISchema.uuid("The transfer's id."), "The transfer's id.")
    static let userID = path(
        "userId", OpenAPISchema.userID, "The user's id, percent-encoded. A user token's own; any for a backend.")
    static let environment = query(
        "environment", ["type": "string", "enum": ["production", "sandbox"]],
        "Which books are meant. Production if the server accepts it; sandbox for App Review's users.")
    static let limit = query(
        "limit", ["type": "integer", "minimum": 1, "maximum": 100, "default": 20], "How many at most.")
    static let cursor = query(
        "cursor", ["type": "string", "pattern": "^[1-9][0-9]{0,17}$"], "`nextCursor` of the page before.")
}
