import TillBilling
import TillHTTP
import TillJSON

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

    static let intentMembers: [ControlMember] = [
        ControlMember("id", .uuid, required: true, Text(en: "of this tap", zh: "此次点按的标识")),
        ControlMember("productId", .text(limit: 100), required: true, Text(en: "what was tapped", zh: "点按的商品")),
        ControlMember("offerId", .text(limit: 64), Text(en: "with which offer", zh: "所带优惠")),
    ]

    static func json(_ intent: PurchaseIntent) -> JSONValue {
        var members: [String: JSONValue] = [
            "id": .string(intent.id.description), "productId": .string(intent.productID.text),
        ]
        members["offerId"] = intent.offer.map { .string($0) }
        return .object(members)
    }

    private static func whole(_ intent: PurchaseIntent) -> JSONValue {
        var more: [String: JSONValue] = [
            "account": .string(intent.account), "bundleId": .string(intent.bundleID),
        ]
        more["takenBy"] = intent.takenBy.map { .string($0.description) }
        return json(intent).with(more)
    }
}
