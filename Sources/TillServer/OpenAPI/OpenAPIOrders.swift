import TillAPI
import TillBilling
import TillJSON

extension OpenAPI {
    private static let orderID: JSONValue = "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64"

    private static let orderExample: JSONValue = [
        "id": orderID, "userId": "u1", "productId": "com.example.learn.points60", "quantity": 1,
        "status": "prepared", "statusCode": 0, "price": ["amount": 600, "currency": "CNY"], "transactionId": nil,
        "environment": nil, "deviceId": "iPad-7", "preview": nil, "metadata": ["level": 3],
        "createdAt": "2026-03-01T08:30:00.123Z",
        "updatedAt": "2026-03-01T08:30:00.123Z",
        "history": [["status": "prepared", "at": "2026-03-01T08:30:00.123Z", "reason": "opened"]],
    ]

    private static let pageOfOrders: JSONValue = [
        "data": [orderExample], "hasMore": true, "nextCursor": "41",
    ]

    static let orderOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .post, path: Paths.orders, id: "openOrder", tag: .orders, summary: "Open an order",
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
            caller: .app, parameters: [.environment],
            body: OpenAPIOperation.Body(
                "OpenOrder",
                example: ["id": orderID, "userId": "u1", "productId": "com.example.learn.points60", "quantity": 1]),
            isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(201, "The order is open.", "Order", example: orderExample),
                OpenAPIOperation.Answer(200, "The order was open already.", "Order"),
            ],
            refusals: [
                .forbidden, .unknownProduct, .quantityNotAllowed, .orderConflict, .previewChanged, .orderIDUnproven,
                .tokenInUse, .tooManyOrders, .guestMerged,
            ]),
        OpenAPIOperation(
            method: .get, path: Paths.order, id: "readOrder", tag: .orders, summary: "Read an order",
            description: "Another user's order isn't there for a user token.", caller: .app, parameters: [.orderID],
            answers: [OpenAPIOperation.Answer(200, "The order.", "Order", example: orderExample)],
            refusals: [.unknownOrder]),
        close(
            Paths.cancelOrder, id: "cancelOrder", "Tell that the buyer cancelled",
            "Should it turn out paid after all, it is granted all the same."),
        close(
            Paths.failOrder, id: "failOrder", "Tell that the store said no",
            "Should it turn out paid after all, it is granted all the same."),
        OpenAPIOperation(
            method: .get, path: Paths.userOrders, id: "listUserOrders", tag: .orders, summary: "List a user's orders",
            description: "An order is in the environment it was paid in; one that isn't paid yet, in both.",
            caller: .app,
            parameters: [
                .userID, .query("status", statusWords, "Only orders that stand so."), .environment, .limit, .cursor,
            ],
            answers: [OpenAPIOperation.Answer(200, "The orders.", "OrderPage", example: pageOfOrders)],
            refusals: [.forbidden, .invalidField]),
    ]

    private static func close(
        _ path: String, id: String, _ summary: String, _ description: String
    ) -> OpenAPIOperation {
        OpenAPIOperation(
            method: .post, path: path, id: id, tag: .orders, summary: summary, description: description, caller: .app,
            parameters: [.orderID],
            body: OpenAPIOperation.Body(
                "OrderReason", isRequired: false, example: ["reason": "SKErrorPaymentCancelled"]),
            isRepeatable: true, answers: [OpenAPIOperation.Answer(200, "The order as it stands now.", "Order")],
            refusals: [.unknownOrder, .illegalMove, .guestMerged])
    }

    private static let statusWords = OpenAPISchema.words(
        "Where an order stands.", OrderStatus.allCases.map(\.name))

    static let orderSchemas: [String: JSONValue] = [
        "OpenOrder": OpenAPISchema.object(
            "What somebody sets out to buy.",
            [
                "id": OpenAPISchema.uuid("Chosen by the device, so that repeating makes no second order."),
                "idNonce": OpenAPISchema.text(
                    "32 hexadecimal digits: the nonce of `id`. Needed beside `id` under a user token.", maximum: 32),
                "idUserId": OpenAPISchema.name(
                    "Whom `id` commits to, where that is a guest merged into the caller since.", maximum: 128),
                "orderNumber": OpenAPISchema.name(
                    "An app's own number for the order, in place of `id`: the id is derived from it and the user.",
                    maximum: 255),
                "userId": OpenAPISchema.name(
                    "Who buys. Needed from a backend; a user token's own otherwise.", maximum: 128),
                "productId": OpenAPISchema.text("As in the catalogue."),
                "quantity": OpenAPISchema.integer("1 if absent. More only for what is consumable.", 1...10),
                "deviceId": OpenAPISchema.name(
                    "Opaque. Needed for a plan whose scope is device.", maximum: 128),
                "preview": ref("OpenOrderPreview"), "metadata": ref("Metadata"),
            ],
            optional: [
                "id", "idNonce", "idUserId", "orderNumber", "userId", "quantity", "deviceId", "preview", "metadata",
            ]),
        "OpenOrderPreview": OpenAPISchema.object(
            "Members of a preview (`PlanPreviewReply`), as they came.",
            [
                "at": OpenAPISchema.time("Its moment, at most 24 hours ago."),
                "expiresAt": OpenAPISchema.time("What it promised."), "price": ref("Money"),
            ], optional: ["price"]),
        "OrderReason": OpenAPISchema.object(
            "Why, for the order's history.",
            ["reason": OpenAPISchema.text("In the device's words. At most 500 bytes.", maximum: 500)],
            optional: ["reason"]),
        "Metadata": [
            "description": .string("Any JSON the app wants to find again; at most \(Metadata.maximumSize) bytes.")
        ],
        "Order": OpenAPISchema.object(
            "What somebody set out to buy, and what became of it.",
            [
                "id": OpenAPISchema.uuid("Also the purchase's `appAccountToken`."), "userId": OpenAPISchema.userID,
                "productId": OpenAPISchema.text("As in the catalogue."),
                "quantity": OpenAPISchema.integer(
                    "How many. More than 10 only where an operator granted what was bought so.", 1...2_147_483_647),
                "status": statusWords,
                "statusCode": OpenAPISchema.integer(
                    "The same as a number: "
                        + OrderStatus.allCases.map { "\($0.rawValue) \($0.name)" }.joined(separator: ", "), 0...6),
                "sandbox": OpenAPISchema.sandboxMark,
                "price": ref("Money"),
                "transactionId": OpenAPISchema.orNull(OpenAPISchema.text("Apple's id of what was paid.")),
                "environment": OpenAPISchema.orNull(
                    OpenAPISchema.words("Where it was paid.", Environment.allCases.map(\.rawValue))),
                "deviceId": OpenAPISchema.orNull(OpenAPISchema.text("As it was opened.")),
                "preview": OpenAPISchema.orNull(ref("OrderPreview")), "metadata": ref("Metadata"),
                "createdAt": OpenAPISchema.time("When it was opened."),
                "updatedAt": OpenAPISchema.time("When it last changed."),
                "history": OpenAPISchema.list("Every move, oldest first.", of: ref("OrderMove")),
            ], optional: ["sandbox"]),
        "OrderPreview": OpenAPISchema.object(
            "What the buyer was told before.",
            [
                "at": OpenAPISchema.time("The preview's moment."),
                "expiresAt": OpenAPISchema.time("What it promised."),
            ]),
        "OrderMove": OpenAPISchema.object(
            "One line of an order's history.",
            [
                "status": statusWords, "at": OpenAPISchema.time("When."),
                "reason": OpenAPISchema.text("A stable word or a sentence; empty when there is nothing to say."),
            ]),
        "OrderPage": OpenAPISchema.page(of: "Order"),
    ]
}
