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
                Opens an order before any money moves. The app sets the order's id as `appAccountToken` of the \
                purchase, so the id decides which user is granted the purchase. With a user token, an `id` is a \
                commitment to that user: the UUID of version 8 from the first 16 bytes of SHA-256 over `till order 1` \
                and a zero byte, the byte count of the user id as a big-endian 16-bit number, the user id in UTF-8, \
                and 16 random bytes, which are sent as `idNonce`. A backend that forwards an app's request must leave \
                `id` out. The same id again returns the same order. An order for a plan may carry the preview that its \
                buyer saw, at most 24 hours old: the order is then opened only if buying now has the previewed result, \
                and the purchase counts at the previewed moment if it follows within those 24 hours with no other \
                purchase of a plan in between. With user tokens, one user may have `orders.maximumOpen` open orders \
                and open `orders.perHour` in an hour; beyond that the response is 429 with `Retry-After`, except for \
                an id that exists. Orders that a proof with its nonce opens before it is processed count too.
                """,
            caller: .app, recordsCustomer: false, parameters: [.environment], body: .json("OpenOrder"),
            answers: [.created("The order is open.", "Order"), .ok("The order was open already.", "Order")],
            refusals: [
                .forbidden, .unknownProduct, .quantityNotAllowed, .orderConflict, .previewChanged, .orderIDUnproven,
                .tokenInUse, .tooManyOrders, .guestMerged,
            ]),
        Endpoint(
            method: .get, path: Paths.order, id: "readOrder", tag: .orders, action: Server.readOrder,
            summary: "Read an order", description: "With a user token, another user's order counts as unknown.",
            caller: .app,
            parameters: [.orderID], answers: [.ok("The order.", "Order")], refusals: [.unknownOrder]),
        close(Paths.cancelOrder, Server.cancelOrder, id: "cancelOrder", "Report that the buyer cancelled"),
        close(Paths.failOrder, Server.failOrder, id: "failOrder", "Report that the store declined the purchase"),
        close(Paths.deferOrder, Server.deferOrder, id: "deferOrder", "Report that the purchase waits for approval"),
        Endpoint(
            method: .get, path: Paths.userOrders, id: "listUserOrders", tag: .orders, action: Server.listUserOrders,
            summary: "List a user's orders",
            description: """
                A paid order is listed in the environment of its payment, an unpaid order in both. The orders of \
                guests who were merged into the account are in its list; they keep their `userId`.
                """,
            caller: .app,
            parameters: [
                .query("status", .orderStatus, "Only orders with this status."), .environment, .limit, .cursor,
            ],
            answers: [.ok("The orders.", "OrderPage")]),
        Endpoint(
            method: .put, path: Paths.accountToken, id: "registerAccountToken", tag: .orders,
            action: Server.registerAccountToken,
            summary: "Register a UUID that an app sets as `appAccountToken` for a user's payments",
            description: """
                For backends whose apps set a UUID of the account instead of an order's id. Payments that carry the \
                token belong to the user, for every product; quarantined payments that carry it are granted at once. \
                Registration needs a secret key. The token of another user is refused, and so is an order's id, unless \
                the order is this user's, is unpaid, and its id was chosen by the backend or imported: this exception \
                repairs an order whose id appeared in a payment earlier.
                """,
            caller: .backend, parameters: [.path("token", .uuid("The token."), "The token.")],
            answers: [
                .created("Registered.", "AccountToken"), .ok("Registered for this user before.", "AccountToken"),
            ],
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
            description: "If Apple confirms a payment later, the purchase is granted nevertheless.", caller: .app,
            parameters: [.orderID], body: .json("OrderReason", isRequired: false),
            answers: [.ok("The order after the change.", "Order").bare],
            refusals: [.unknownOrder, .illegalMove, .guestMerged])
    }

    static let orderBodies: BodyTable = [
        Body("OpenOrder", OpenOrderBody.self, "The order to open."): [
            "id": "The order's id, chosen by the device so that a repeated request opens no second order.",
            "idNonce": .text("32 hexadecimal digits: the nonce of `id`. Required beside `id` with a user token.", 32),
            "idUserId": .name(
                "The user that `id` commits to, if that is a guest who was merged into the caller since.", 128
            ).unchecked,
            "orderNumber": .name(
                "An app's own number for the order, in place of `id`: the id is derived from it and the user.", 255),
            "userId": .name("The buyer. Required from a backend; the token's user otherwise.", 128).unchecked,
            "productId": "The product's id in the catalogue.",
            "quantity": .integer(
                "1 if absent. More than 1 only for consumables and non-renewing subscriptions.", 1...10,
                else: .quantityNotAllowed),
            "deviceId": .name(
                "The device that a plan is for. A plan whose scope is `device` needs it, or `phoneId` in its place.",
                128),
            "phoneId": .name(
                "The buyer's phone: it finds a payment whose order id Apple lost. `deviceId` does if this is absent.",
                128),
        ],
        Body(
            "OpenOrderPreview", OpenOrderBody.Preview.self, "Members of a preview (`PlanPreviewReply`), unchanged."
        ): [
            "at": "The preview's moment, at most 24 hours ago.", "expiresAt": "The end of service in the preview.",
        ],
        Body("OrderReason", OrderReasonBody.self, "The reason, for the order's history."): [
            "reason": .text("The device's reason. At most 500 bytes.", 500)
        ],
        Body(
            "Metadata", Metadata.self,
            "Any JSON, returned with the order; at most \(Metadata.maximumSize) bytes.", schema: [:]
        ): [:],
        Body("Order", OrderReply.self, "An order with its status and history."): [
            "id": "The order's id, also the purchase's `appAccountToken`.", "userId": .userID,
            "productId": "The product's id in the catalogue.",
            "productNames": "The product's names; absent if the catalogue no longer lists it.",
            "purchaseKind": .oneOf(
                "What the purchase does: add points, or open a subscription, a plan or a permanent entitlement. Absent "
                    + "if the catalogue no longer lists the product.", PurchaseKind.self),
            "quantity": .integer(
                "The quantity. More than 10 only if an operator granted a purchase of that quantity.", 1...2_147_483_647
            ),
            "status": .orderStatus,
            "statusCode": .integer(
                "The status as a number: "
                    + OrderStatus.allCases.map { "\($0.rawValue) \($0.name)" }.joined(separator: ", "), 0...6),
            "paid": "The price paid for the whole quantity, as Apple signed it; absent until paid, or in a receipt.",
            "transactionId": .orNull("Apple's id of the transaction that paid the order."),
            "environment": .orNull(.oneOf("The environment of the payment.", StoreEnvironment.self)),
            "deviceId": .orNull("The device id from the opening of the order."), "preview": .orNull(),
            "metadata": .always(),
            "createdAt": "The time of the opening.",
            "updatedAt": "The time of the last change.", "history": "Every change of status, oldest first.",
        ],
        Body("OrderPreview", OrderReply.Preview.self, "The preview that the buyer saw."): [
            "at": "The preview's moment.", "expiresAt": "The end of service in the preview.",
        ],
        Body("OrderMove", OrderReply.Move.self, "One entry of an order's history."): [
            "status": .orderStatus, "at": "The time of the change.",
            "reason": "A stable word or a sentence; empty without a reason.",
        ],
        Body("RestoredLedger", RestoredLedger.self, "A restore of the ledger from a backup."): [
            "backupAt": "The newest moment of the backup: what happened later was lost.",
            "restoredAt": "The time of the restore.",
        ],
        Body("OrderPage", OrderPage.self, "One page, newest first."): [
            "data": "The orders of this page.", "hasMore": "Whether older orders follow.",
            "nextCursor": .orNull("The `cursor` of the next page; null on the last page."),
            "restored": "Present for 180 days after the ledger was restored from a backup.",
        ],
        Body("AccountToken", AccountTokenReply.self, "A UUID that identifies a user in signed transactions."): [
            "token": "The UUID that the app sets as `appAccountToken`.", "userId": .userID,
            "since": "The time of the registration.",
        ],
        Body("AccountTokenList", AccountTokenList.self, "A user's account tokens."): [
            "data": "The tokens, oldest first."
        ],
    ]

    static let orderExamples: [String: JSONValue] = [
        "OpenOrder": [
            "id": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64", "userId": "u1", "productId": "com.example.learn.points60",
            "quantity": 1,
        ],
        "OrderReason": ["reason": "SKErrorPaymentCancelled"],
        "Order": [
            "id": "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64", "userId": "u1", "productId": "com.example.learn.points60",
            "productNames": ["en": "60 points", "zh": "60 学点"], "purchaseKind": "topUp", "quantity": 1,
            "status": "prepared", "statusCode": 0, "price": ["amount": 600, "currency": "CNY"], "transactionId": nil,
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
