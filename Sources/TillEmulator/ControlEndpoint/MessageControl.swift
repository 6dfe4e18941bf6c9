import TillBilling
import TillHTTP
import TillJSON

/// What the App Store has to tell customers.
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
                    "reason", .choice(StoreMessage.Reason.allCases.map(\.rawValue)),
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

    static let messageMembers: [ControlMember] = [
        ControlMember(
            "id", .text(limit: 200), required: true, Text(en: "another cause has another", zh: "标识；另一缘由即另一标识")),
        ControlMember(
            "reason", .choice(StoreMessage.Reason.allCases.map(\.rawValue)), required: true,
            Text(en: "Message.Reason", zh: "Message.Reason")),
        ControlMember(
            "originalTransactionId", .text(limit: 20), Text(en: "the subscription it is about", zh: "所涉及的订阅")),
    ]

    static func json(_ message: StoreMessage) -> JSONValue {
        var members: [String: JSONValue] = [
            "id": .string(message.id), "reason": .string(message.reason.rawValue),
        ]
        members["originalTransactionId"] = message.original.map { .string(String($0)) }
        return .object(members)
    }
}
