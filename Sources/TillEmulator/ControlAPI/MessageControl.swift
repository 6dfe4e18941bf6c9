import TillBilling
import TillHTTP
import TillJSON

/// The App Store's messages to customers.
extension ControlEndpoint {
    func addMessages(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/messages",
            LocalizedText(
                en:
                    "Creates a test message for the account. Messages for store events are created automatically.",
                zh: "为账户创建一条测试消息；商店自身事件的消息会自动生成。"),
            body: [
                .account, .bundleID,
                ControlMember(
                    "reason", .choice(of: StoreMessage.Reason.self),
                    LocalizedText(en: "the reason; generic if absent", zh: "消息原因，省略则为 generic")),
            ], answer: ControlResponse("Message", Self.messageMembers)
        ) { call in
            let message = try await store.show(
                try call.body.choice("reason", of: StoreMessage.Reason.self) ?? .generic,
                account: try call.body.text("account") ?? Emulator.defaultAccount,
                bundleID: try call.body.text("bundleId") ?? configuration.app.bundleID)
            return .json(Self.json(try message.answered()))
        }
        routes.on(
            .post, "/emulator/devices/{id}/messages/{messageId}/shown",
            LocalizedText(
                en: "Marks a message as shown. The account does not receive it again.",
                zh: "将消息标记为已显示；该账户不会再次收到它。"),
            answer: ControlResponse(
                "ShownMessage",
                [
                    ControlMember(
                        "id", .text(limit: 200), required: true, LocalizedText(en: "the message id", zh: "消息的标识"))
                ])
        ) { call in
            let id = call.path["messageId"]
            try await store.shown(id, on: deviceID(call)).answered()
            return .json(["id": .string(id)])
        }
    }

    static var messageMembers: [ControlMember] { messageObject.members }
    static func json(_ message: StoreMessage) -> JSONValue { messageObject.json(message) }

    private static let messageObject = ControlObject<StoreMessage> {
        $0.add(
            "id", .text(limit: 200), required: true,
            LocalizedText(en: "the message id, unique for each cause", zh: "消息的标识，每个起因各不相同")
        ) {
            .string($0.id)
        }
        $0.add(
            "reason", .choice(of: StoreMessage.Reason.self), required: true,
            LocalizedText(en: "Message.Reason", zh: "Message.Reason")
        ) { .string($0.reason.rawValue) }
        $0.add(
            "originalTransactionId", .text(limit: 20),
            LocalizedText(en: "the subscription that the message is about", zh: "所涉及的订阅")
        ) {
            $0.original.map { .string(String($0)) }
        }
    }
}

/// Promoted purchases: from the App Store into the app.
extension ControlEndpoint {
    func addPurchaseIntents(to routes: inout ControlRoutes) {
        let answer = ControlResponse(
            "PurchaseIntent",
            Self.intentMembers + [
                ControlMember(
                    "account", .text(limit: 200), required: true,
                    LocalizedText(en: "the customer's account", zh: "客户的账户")),
                ControlMember(
                    "bundleId", .text(limit: 200), required: true,
                    LocalizedText(en: "the bundle id of the app", zh: "App 的 bundle ID")),
                ControlMember(
                    "takenBy", .uuid, LocalizedText(en: "the device whose app took the intent", zh: "取走该意向的设备")),
            ])
        routes.on(
            .post, "/emulator/purchase-intents",
            LocalizedText(
                en: "Creates a purchase intent: a customer taps a product in the App Store.",
                zh: "创建购买意向：客户在 App Store 点按一件商品。"),
            body: [
                .accountOrDevice, .bundleID,
                ControlMember(
                    "productId", .text(limit: 200), required: true,
                    LocalizedText(en: "the product id", zh: "点按的商品 ID")),
                ControlMember(
                    "offerId", .text(limit: 64),
                    LocalizedText(
                        en: "the id of a promotional or win-back offer of the product", zh: "该商品的促销优惠或赢回优惠的标识")),
                ControlMember(
                    "deviceId", .uuid,
                    LocalizedText(
                        en: "the device of the tap; if absent, the account's first device to ask gets the intent",
                        zh: "点按所在设备，省略则由账户最先请求的设备取走")),
            ], answer: answer
        ) { call in
            let device = try call.body.uniqueID("deviceId")
            let intent = try await store.tap(
                try call.body.requiredText("productId"), offer: try call.body.text("offerId", upTo: 64),
                account: try await account(call.body.text("account"), on: device),
                bundleID: try call.body.text("bundleId") ?? configuration.app.bundleID, device: device
            ).answered()
            return .json(Self.whole(intent))
        }
        routes.on(
            .post, "/emulator/devices/{id}/intents/{intentId}/take",
            LocalizedText(
                en: "Takes a purchase intent for the app on this device. The first device to take it keeps it.",
                zh: "由此设备上的 App 取走购买意向；最先取走的设备获得它。"),
            answer: answer
        ) { call in
            let text = call.path["intentId"]
            guard let id = UniqueID(text) else { throw RequestBody.wrong("intentId", "a UUID", "UUID") }
            return .json(Self.whole(try await store.take(id, on: deviceID(call)).answered()))
        }
    }

    static var intentMembers: [ControlMember] { intentObject.members }
    static func json(_ intent: PurchaseIntent) -> JSONValue { intentObject.json(intent) }

    private static let intentObject = ControlObject<PurchaseIntent> {
        $0.add("id", .uuid, required: true, LocalizedText(en: "the purchase intent id", zh: "购买意向的标识")) {
            .string($0.id.description)
        }
        $0.add("productId", .text(limit: 100), required: true, LocalizedText(en: "the product id", zh: "点按的商品 ID")) {
            .string($0.productID.text)
        }
        $0.add("offerId", .text(limit: 64), LocalizedText(en: "the offer id", zh: "所带优惠的标识")) {
            $0.offer.map { .string($0) }
        }
    }

    private static func whole(_ intent: PurchaseIntent) -> JSONValue {
        var more: [String: JSONValue] = [
            "account": .string(intent.account), "bundleId": .string(intent.bundleID),
        ]
        more["takenBy"] = intent.takenBy.map { .string($0.description) }
        return json(intent).with(more)
    }
}
