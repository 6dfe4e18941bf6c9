import TillBilling
import TillHTTP
import TillJSON

/// The App Store's messages to customers.
extension ControlEndpoint {
    func addMessages(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/messages",
            Text(
                en: "Gives the account a message without a cause; those with one come by themselves.",
                zh: "给账户一条没有缘由的消息；有缘由的会自行出现。"),
            body: [
                .account, .bundleID,
                ControlMember(
                    "reason", .choice(of: StoreMessage.Reason.self),
                    Text(en: "generic if absent", zh: "省略则为 generic")),
            ], answer: ControlAnswer("Message", Self.messageMembers)
        ) { call in
            let message = try await store.tell(
                try call.body.choice("reason", of: StoreMessage.Reason.self) ?? .generic,
                account: try call.body.text("account") ?? Emulator.defaultAccount,
                bundleID: try call.body.text("bundleId") ?? configuration.app.bundleID)
            return .json(Self.json(try message.answered()))
        }
        routes.on(
            .post, "/emulator/devices/{id}/messages/{messageId}/shown",
            Text(
                en: "The device has shown a message: it is gone for the account.",
                zh: "设备已显示消息：该账户不再收到它。"),
            answer: ControlAnswer(
                "ShownMessage",
                [ControlMember("id", .text(limit: 200), required: true, Text(en: "the message's", zh: "消息的标识"))])
        ) { call in
            let id = call.path["messageId"]
            try await store.shown(id, on: deviceID(call)).answered()
            return .json(["id": .string(id)])
        }
    }

    static var messageMembers: [ControlMember] { messageObject.members }
    static func json(_ message: StoreMessage) -> JSONValue { messageObject.json(message) }

    private static let messageObject = ControlObject<StoreMessage> {
        $0.add("id", .text(limit: 200), required: true, Text(en: "another cause has another", zh: "标识；另一缘由即另一标识")) {
            .string($0.id)
        }
        $0.add(
            "reason", .choice(of: StoreMessage.Reason.self), required: true,
            Text(en: "Message.Reason", zh: "Message.Reason")
        ) { .string($0.reason.rawValue) }
        $0.add("originalTransactionId", .text(limit: 20), Text(en: "the subscription it is about", zh: "所涉及的订阅")) {
            $0.original.map { .string(String($0)) }
        }
    }
}

/// Promoted purchases: from the App Store into the app.
extension ControlEndpoint {
    func addPurchaseIntents(to routes: inout ControlRoutes) {
        let answer = ControlAnswer(
            "PurchaseIntent",
            Self.intentMembers + [
                ControlMember("account", .text(limit: 200), required: true, Text(en: "who tapped", zh: "点按者")),
                ControlMember("bundleId", .text(limit: 200), required: true, Text(en: "of which app", zh: "所属 App")),
                ControlMember(
                    "takenBy", .uuid, Text(en: "the device whose app has it", zh: "已取走它的设备")),
            ])
        routes.on(
            .post, "/emulator/purchase-intents",
            Text(en: "Somebody taps a product in the App Store.", zh: "有人在 App Store 点按了一件商品。"),
            body: [
                .accountOrDevice, .bundleID,
                ControlMember(
                    "productId", .text(limit: 200), required: true, Text(en: "what was tapped", zh: "点按的商品")),
                ControlMember(
                    "offerId", .text(limit: 64),
                    Text(en: "its promotional or win-back offer", zh: "该商品的促销优惠或赢回优惠")),
                ControlMember(
                    "deviceId", .uuid,
                    Text(en: "where; the first of the account that comes if absent", zh: "点按所在设备，省略则由账户先到的设备取走")),
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
            Text(
                en: "The app on this device goes on with what was tapped; who was first has it.",
                zh: "此设备上的 App 取走购买意向；先到者得。"),
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
        $0.add("id", .uuid, required: true, Text(en: "of this tap", zh: "此次点按的标识")) { .string($0.id.description) }
        $0.add("productId", .text(limit: 100), required: true, Text(en: "what was tapped", zh: "点按的商品")) {
            .string($0.productID.text)
        }
        $0.add("offerId", .text(limit: 64), Text(en: "with which offer", zh: "所带优惠")) { $0.offer.map { .string($0) } }
    }

    private static func whole(_ intent: PurchaseIntent) -> JSONValue {
        var more: [String: JSONValue] = [
            "account": .string(intent.account), "bundleId": .string(intent.bundleID),
        ]
        more["takenBy"] = intent.takenBy.map { .string($0.description) }
        return json(intent).with(more)
    }
}
