import TillAPI
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

/// The description of everything this server answers, in OpenAPI 3.1 (CONTRACT §2). Written beside the routes and held
/// to them by tests: each route is described, and each description is served.
enum OpenAPI {
    /// All operations, in the order people read them.
    static let operations =
        orderOperations + accountTokenOperations + transactionOperations + dropInOperations + transferOperations
        + claimOperations
        + walletOperations
        + consumptionOperations + rightOperations + planOperations + offerOperations + financeOperations
        + reconciliationOperations + webhookOperations + shopOperations + dashboardOperations

    static let document: JSONValue = [
        "openapi": "3.1.0",
        "info": [
            "title": "Till", "version": "1",
            "summary": "A self-hosted purchase backend: a purchase that was paid is granted exactly once.",
            "description": .string(introduction),
            "license": ["name": "Apache 2.0", "identifier": "Apache-2.0"],
        ],
        "servers": [["url": "/", "description": "This server."]],
        "tags": .array(
            OpenAPIOperation.Tag.allCases.map { ["name": .string($0.rawValue), "description": .string($0.text)] }),
        "paths": paths,
        "components": [
            "schemas": .object(schemas), "responses": ["Problem": defaultResponse],
            "securitySchemes": securitySchemes,
        ],
    ]

    private static let introduction = """
        Bodies are JSON in UTF-8. Times are RFC 3339 in UTC with milliseconds, money is whole minor units with a \
        currency, ids of transactions are strings. What goes wrong is told as RFC 9457 problem+json: programs decide \
        by `code` and `retryable`; `title` is a sentence for people in the language of `Accept-Language` (zh or en). \
        Lists go on with `cursor`. POSTs with an `Idempotency-Key` are answered the same when they are repeated. `GET` \
        addresses answer `HEAD`. Of a body 64 KiB are read from anybody; more only where the credential in the \
        header is good (401 at once otherwise, and the connection is closed) or where strangers' long bodies find room \
        (503 with `Retry-After`). A path must not percent-encode letters, digits or `-._~`, and a request may have one \
        `Authorization` header (400). Fields that a client doesn't know must be ignored: more may come.
        """

    private static let paths: JSONValue = {
        var paths: [String: [String: JSONValue]] = [:]
        for operation in operations {
            paths[operation.path, default: [:]][operation.method.rawValue.lowercased()] = operation.json
        }
        return .object(paths.mapValues { .object($0) })
    }()

    private static let securitySchemes: JSONValue = [
        "secretKey": [
            "type": "http", "scheme": "bearer",
            "description": "An app's backend, by a secret key from the configuration. The user it names is believed.",
        ],
        "userToken": [
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": """
            An app's user, by a token that the app's backend signed: HS256 or ES256 as the key is configured, `sub` \
            the user id, `exp` required.
            """,
        ],
        "operatorToken": [
            "type": "http", "scheme": "bearer", "description": "An operator, by a token from the configuration.",
        ],
        "dashboardSession": [
            "type": "apiKey", "in": "cookie", "name": .string(Dashboard.sessionCookie),
            "description": "An operator who is logged in.",
        ],
    ]

    private static let defaultResponse: JSONValue = [
        "description": """
        Anything else that goes wrong, also before a handler is asked: a request that breaks the rules of HTTP (400), \
        comes too slowly (408), is too large (413, 431), of an unknown method (501), or while the server stops (503).
        """,
        "content": ["application/problem+json": ["schema": ref("Problem")]],
    ]

    static func ref(_ schema: String) -> JSONValue { ["$ref": .string("#/components/schemas/\(schema)")] }
}

extension Server {
    private static let openAPIText = Array(OpenAPI.document.encoded().utf8)
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
