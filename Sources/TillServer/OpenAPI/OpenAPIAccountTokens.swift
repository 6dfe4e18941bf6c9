import TillAPI
import TillBilling
import TillJSON

extension OpenAPI {
    private static let accountTokenExample: JSONValue = [
        "token": "7c1d2b3a-0f4e-4a6b-8c9d-0e1f2a3b4c5d", "userId": "u1", "since": "2026-03-01T09:00:00.000Z",
    ]

    static let accountTokenOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .put, path: Paths.accountToken, id: "registerAccountToken", tag: .orders,
            summary: "Register a UUID that an app sets as `appAccountToken` for a user's payments",
            description: """
                Payments that carry it are the user's, of whatever product, and those that wait in quarantine for it \
                are given at once. For backends whose apps set a UUID of the account instead of an order's id. Only a \
                secret key registers it; another user's token, and one that is an order's id, is refused, unless the \
                order is this user's, nothing paid it, and the backend chose its id or it was imported: that repairs \
                an order whose id was seen in a payment before.
                """,
            caller: .backend,
            parameters: [.userID, .path("token", OpenAPISchema.uuid("The token."), "The token.")],
            answers: [
                OpenAPIOperation.Answer(201, "Registered.", "AccountToken", example: accountTokenExample),
                OpenAPIOperation.Answer(200, "The user's already.", "AccountToken"),
            ],
            refusals: [.invalidField, .tokenInUse, .tooManyRequests]),
        OpenAPIOperation(
            method: .get, path: Paths.accountTokens, id: "listAccountTokens", tag: .orders,
            summary: "List a user's account tokens", description: "Oldest first; at most 100.", caller: .backend,
            parameters: [.userID],
            answers: [
                OpenAPIOperation.Answer(
                    200, "The tokens.", "AccountTokenList", example: ["data": [accountTokenExample]])
            ],
            refusals: [.invalidField]),
    ]

    static let accountTokenSchemas: [String: JSONValue] = [
        "AccountToken": OpenAPISchema.object(
            "A UUID that stands for a user in what Apple signs.",
            [
                "token": OpenAPISchema.uuid("As in `appAccountToken`."), "userId": OpenAPISchema.userID,
                "since": OpenAPISchema.time("When it was registered."),
            ]),
        "AccountTokenList": OpenAPISchema.object(
            "A user's account tokens.", ["data": OpenAPISchema.list("Oldest first.", of: ref("AccountToken"))]),
    ]
}
