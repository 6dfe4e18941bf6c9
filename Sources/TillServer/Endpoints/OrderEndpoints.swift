import TillAPI
import TillBilling
import TillJSON

/// Orders, and the account tokens that name users in place of orders.
extension OpenAPI {
    static let orderEndpoints: [Endpoint] = [
        Endpoint(
            method: .post, path: Paths.orders, id: "openOrder", tag: .orders, action: Server.createOrder,
            summary: "Open an order",
            description: """
                Before any money moves. The order's id goes into the purchase as `appAccountToken`, and so decides who \
                is given what was paid. Under a user token an `id` is a commitment to that user: the UUID of version 8 \
                from the first 16 bytes of SHA-256 over `till order 1` and a zero byte, the byte count of the user id \
                as a big-endian 16-bit number, the user id in UTF-8, and 16 random bytes, which are sent as \
                `idNonce`. A backend that forwards what an app sends must leave `id` out. The same id again \
                is the same order. An order for a plan may carry the preview that its buyer saw, at most 24 hours old: \
                then it is opened only if buying now would come to the same, and the purchase counts at the previewed \
                moment, if it follows within those 24 hours with no other purchase of a plan in between. One user may \
                have `orders.maximumOpen` orders open and open `orders.perHour` in an hour with a user token; beyond \
                that it is 429 with `Retry-After`, never for an id that is there already. Orders that a proof with \
                its nonce opens before it is processed count too.
                """,
            caller: .app, recordsCustomer: false, parameters: [.environment], body: .json("OpenOrder"),
            answers: [.created("The order is open.", "Order"), .ok("The order was open already.", "Order")],
            refusals: [
                .forbidden, .unknownProduct, .quantityNotAllowed, .orderConflict, .previewChanged, .orderIDUnproven,
                .tokenInUse, .tooManyOrders, .guestMerged,
            ]),
        Endpoint(
            method: .get, path: Paths.order, id: "readOrder", tag: .orders, action: Server.readOrder,
            summary: "Read an order", description: "Another user's order isn't there for a user token.", caller: .app,
            parameters: [.orderID], answers: [.ok("The order.", "Order")], refusals: [.unknownOrder]),
        close(Paths.cancelOrder, Server.cancelOrder, id: "cancelOrder", "Tell that the buyer cancelled"),
        close(Paths.failOrder, Server.failOrder, id: "failOrder", "Tell that the store said no"),
        Endpoint(
            method: .get, path: Paths.userOrders, id: "listUserOrders", tag: .orders, action: Server.listUserOrders,
            summary: "List a user's orders",
            description: "An order is in the environment it was paid in; one that isn't paid yet, in both.",
            caller: .app,
            parameters: [.query("status", .orderStatus, "Only orders that stand so."), .environment, .limit, .cursor],
            answers: [.ok("The orders.", "OrderPage")]),
        Endpoint(
            method: .put, path: Paths.accountToken, id: "registerAccountToken", tag: .orders,
            action: Server.registerAccountToken,
            summary: "Register a UUID that an app sets as `appAccountToken` for a user's payments",
            description: """
                Payments that carry it are the user's, of whatever product, and those that wait in quarantine for it \
                are given at once. For backends whose apps set a UUID of the account instead of an order's id. Only a \
                secret key registers it; another user's token, and one that is an order's id, is refused, unless the \
                order is this user's, nothing paid it, and the backend chose its id or it was imported: that repairs \
                an order whose id was seen in a payment before.
                """,
            caller: .backend, parameters: [.path("token", .uuid("The token."), "The token.")],
            answers: [.created("Registered.", "AccountToken"), .ok("The user's already.", "AccountToken")],
            refusals: [.tokenInUse, .tooManyRequests]),
        Endpoint(
            method: .get, path: Paths.accountTokens, id: "listAccountTokens", tag: .orders,
            action: Server.listAccountTokens, summary: "List a user's account tokens",
            description: "Oldest first; at most 100.", caller: .backend,
            answers: [.ok("The tokens.", "AccountTokenList")]),
    ]

    private static func close(
        _ path: String, _ action: @escaping Endpoint.Action, id: String, _ summary: String
    ) -> Endpoint {
        Endpoint(
            method: .post, path: path, id: id, tag: .orders, action: action, summary: summary,
            description: "Should it turn out paid after all, it is granted all the same.", caller: .app,
            parameters: [.orderID], body: .json("OrderReason", isRequired: false),
            answers: [.ok("The order as it stands now.", "Order").bare],
            refusals: [.unknownOrder, .illegalMove, .guestMerged])
    }

    static let orderBodies: BodyTable = [
        Body("OpenOrder", OpenOrderBody.self, "What somebody sets out to buy."): [
            "id": "Chosen by the device, so that repeating makes no second order.",
            "idNonce": .text("32 hexadecimal digits: the nonce of `id`. Needed beside `id` under a user token.", 32),
            "idUserId": .name(
                "Whom `id` commits to, where that is a guest merged into the caller since.", 128
            ).unchecked,
            "orderNumber": .name(
                "An app's own number for the order, in place of `id`: the id is derived from it and the user.", 255),
            "userId": .name("Who buys. Needed from a backend; a user token's own otherwise.", 128).unchecked,
            "productId": "As in the catalogue.",
            "quantity": .integer("1 if absent. More only for what is consumable.", 1...10, else: .quantityNotAllowed),
            "deviceId": .name("Opaque. Needed for a plan whose scope is device.", 128),
        ],
        Body(
            "OpenOrderPreview", OpenOrderBody.Preview.self, "Members of a preview (`PlanPreviewReply`), as they came."
        ): [
            "at": "Its moment, at most 24 hours ago.", "expiresAt": "What it promised.",
        ],
        Body("OrderReason", OrderReasonBody.self, "Why, for the order's history."): [
            "reason": .text("In the device's words. At most 500 bytes.", 500)
        ],
        Body(
            "Metadata", Metadata.self,
            "Any JSON the app wants to find again; at most \(Metadata.maximumSize) bytes.", schema: [:]
        ): [:],
        Body("Order", OrderReply.self, "What somebody set out to buy, and what became of it."): [
            "id": "Also the purchase's `appAccountToken`.", "userId": .userID, "productId": "As in the catalogue.",
            "quantity": .integer(
                "How many. More than 10 only where an operator granted what was bought so.", 1...2_147_483_647),
            "status": .orderStatus,
            "statusCode": .integer(
                "The same as a number: "
                    + OrderStatus.allCases.map { "\($0.rawValue) \($0.name)" }.joined(separator: ", "), 0...6),
            "transactionId": .orNull("Apple's id of what was paid."),
            "environment": .orNull(.words("Where it was paid.", Environment.self)),
            "deviceId": .orNull("As it was opened."), "preview": .orNull(), "metadata": .always(),
            "createdAt": "When it was opened.",
            "updatedAt": "When it last changed.", "history": "Every move, oldest first.",
        ],
        Body("OrderPreview", OrderReply.Preview.self, "What the buyer was told before."): [
            "at": "The preview's moment.", "expiresAt": "What it promised.",
        ],
        Body("OrderMove", OrderReply.Move.self, "One line of an order's history."): [
            "status": .orderStatus, "at": "When.",
            "reason": "A stable word or a sentence; empty when there is nothing to say.",
        ],
        .page("OrderPage", of: OrderReply.self): [:],
        Body("AccountToken", AccountTokenReply.self, "A UUID that stands for a user in what Apple signs."): [
            "token": "As in `appAccountToken`.", "userId": .userID, "since": "When it was registered.",
        ],
        Body("AccountTokenList", AccountTokenList.self, "A user's account tokens."): ["data": "Oldest first."],
    ]

    static let orderExamples: [String: JSONValue] = [
        "OpenOrder": [
            "id": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64", "userId": "u1", "productId": "com.example.learn.points60",
            "quantity": 1,
        ],
        "OrderReason": ["reason": "SKErrorPaymentCancelled"],
        "Order": [
            "id": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64", "userId": "u1", "productId": "com.example.learn.points60",
            "quantity": 1, "status": "prepared", "statusCode": 0, "price": ["amount": 600, "currency": "CNY"],
            "transactionId": nil,
            "environment": nil, "deviceId": "iPad-7", "preview": nil, "metadata": ["level": 3],
            "createdAt": "2026-03-01T08:30:00.123Z", "updatedAt": "2026-03-01T08:30:00.123Z",
            "history": [["status": "prepared", "at": "2026-03-01T08:30:00.123Z", "reason": "opened"]],
        ],
        "AccountToken": accountToken, "AccountTokenList": ["data": [accountToken]],
    ]

    private static let accountToken: JSONValue = [
        "token": "7c1d2b3a-0f4e-4a6b-8c9d-0e1f2a3b4c5d", "userId": "u1", "since": "2026-03-01T09:00:00.000Z",
    ]
}
