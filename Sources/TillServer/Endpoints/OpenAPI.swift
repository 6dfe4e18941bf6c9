import TillAPI
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

/// The OpenAPI 3.1 description of everything that this server answers. It is generated from the endpoints that the
/// router serves and from the bodies that requests are checked against.
enum OpenAPI {
    static let schemas: [String: JSONValue] = Dictionary(
        Body.all.map { ($0.name, $0.json) }, uniquingKeysWith: { first, _ in first })

    /// By the name of a body, each defined in one place.
    static let examples: [String: JSONValue] = [
        orderExamples, transactionExamples, ownershipExamples, walletExamples, planExamples, shopExamples,
        financeExamples, operationExamples, webhookExamples, personExamples, importExamples,
    ].reduce([:]) { $0.merging($1) { first, _ in first } }

    static let document: JSONValue = [
        "openapi": "3.1.0",
        "info": [
            "title": "Till", "version": "1",
            "summary": "A self-hosted purchase backend that grants every paid purchase exactly once.",
            "description": .string(introduction),
            "license": ["name": "Apache 2.0", "identifier": "Apache-2.0"],
        ],
        "servers": [["url": "/", "description": "This server."]],
        "tags": .array(
            Endpoint.Tag.allCases.map { ["name": .string($0.rawValue), "description": .string($0.text)] }),
        "paths": paths,
        "components": [
            "schemas": .object(schemas), "responses": ["Problem": defaultResponse],
            "securitySchemes": securitySchemes,
        ],
    ]

    private static let introduction = """
        Bodies are JSON in UTF-8. Times are RFC 3339 in UTC with milliseconds, money is whole minor units with a \
        currency, and transaction ids are strings. Errors are RFC 9457 problem+json: programs decide by `code` and \
        `retryable`; `title` and `detail` are for people, in the language of `Accept-Language` (zh or en). Lists \
        continue with `cursor`. A POST that is repeated with the same `Idempotency-Key` gets the first response \
        again. `GET` addresses answer `HEAD`. The server reads up to 64 KiB of any body. It reads a longer body only \
        if the credential in the header is valid (otherwise it answers 401 at once and closes the connection) or if \
        the limit for long bodies of unauthenticated clients has room (otherwise 503 with `Retry-After`). A path \
        must not percent-encode letters, digits or `-._~`, and a request may have one `Authorization` header \
        (otherwise 400). Clients must ignore unknown fields, because new fields may be added.
        """

    private static let paths: JSONValue = {
        var paths: [String: [String: JSONValue]] = [:]
        for endpoint in Endpoint.all {
            paths[endpoint.path, default: [:]][endpoint.method.rawValue.lowercased()] = endpoint.json
        }
        return .object(paths.mapValues { .object($0) })
    }()

    private static let securitySchemes: JSONValue = [
        "secretKey": [
            "type": "http", "scheme": "bearer",
            "description": "The app's backend, with a secret key from the configuration. It may name any user.",
        ],
        "userToken": [
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": """
            The app's user, with a token that the app's backend signed: HS256 or ES256 as configured for the key, the \
            user id in `sub`, `exp` required.
            """,
        ],
        "operatorToken": [
            "type": "http", "scheme": "bearer", "description": "An operator, with a token from the configuration.",
        ],
        "dashboardSession": [
            "type": "apiKey", "in": "cookie", "name": .string(OperatorAuthentication.sessionCookie),
            "description": "An operator with a dashboard session.",
        ],
    ]

    private static let defaultResponse: JSONValue = [
        "description": """
        Any other error, including errors before the request reaches its handler: a request that breaks the rules of \
        HTTP (400), arrives too slowly (408), is too large (413, 431), uses an unknown method (501), or arrives while \
        the server stops (503).
        """,
        "content": ["application/problem+json": ["schema": ref("Problem")]],
    ]

    static func ref(_ schema: String) -> JSONValue { ["$ref": .string("#/components/schemas/\(schema)")] }
}

extension Endpoint.Parameter {
    static let idempotencyKey = header(
        "Idempotency-Key", schema: ["type": "string", "minLength": 1, "maxLength": 255],
        "For 48 hours, a repeated request of this caller with this key to this address gets the first response."
    )
    static let orderID = path("id", .uuid("The order's id."), "The order's id.")
    static let transferID = path("id", .uuid("The transfer's id."), "The transfer's id.")
    static let endpointID = path("id", "An endpoint's id.", "The endpoint's id.")
    static let userID = path(
        "userId", .userID,
        "The user's id, percent-encoded. With a user token, the token's own user; a backend may name any user.")
    static let environment = query(
        "environment", schema: ["type": "string", "enum": ["production", "sandbox", "xcode"]],
        "The environment. Production by default if the server accepts it; sandbox for App Review's users. A server for "
            + "Xcode's local tests has xcode only.")
    static let limit = query(
        "limit", schema: ["type": "integer", "minimum": 1, "maximum": 100, "default": 20],
        "The maximum number of entries.")
    static let cursor = query(
        "cursor", schema: cursorText, "The `nextCursor` of the previous page.")
    /// Opaque to clients; bounded, so that nothing long is decoded.
    static let cursorText: JSONValue = ["type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"]
}

extension Server {
    private static let openAPIText = OpenAPI.document.encodedBytes()
    private static let openAPITag = "\"\(Base64.encode(Digest.sha256.hash(openAPIText).prefix(12), .url))\""

    /// `GET /openapi.json`.
    func readOpenAPI(_ call: Call) async throws -> HTTPResponse {
        var headers = HTTPHeaders([("ETag", Self.openAPITag), ("Cache-Control", "no-cache")])
        if call.request.headers["If-None-Match"] == Self.openAPITag {
            return HTTPResponse(status: 304, headers: headers)
        }
        headers.add("Content-Type", "application/json")
        return HTTPResponse(status: 200, headers: headers, body: Self.openAPIText)
    }
}
