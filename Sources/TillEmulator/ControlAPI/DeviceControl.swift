import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

/// The App Store's endpoints for a device: StoreKit's requests for an app that runs there. Transactions, products and
/// subscriptions are those of the account signed in on the device.
extension ControlEndpoint {
    func addDevices(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/devices/{id}",
            LocalizedText(en: "A device and the account signed in on it.", zh: "一台设备及其登录的账户。"),
            answer: DeviceText.answer
        ) { call in .json(DeviceText.json(try await store.device(deviceID(call)).answered())) }
        addDeviceUpdates(to: &routes)
        addDeviceProducts(to: &routes)
        addDeviceTransactions(to: &routes)
        addPurchaseIntents(to: &routes)
        addMessages(to: &routes)
    }

    private func addDeviceUpdates(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/devices/{id}/news",
            LocalizedText(
                en: "The changes for a device while an app runs: changed transactions, purchase intents and messages.",
                zh: "App 运行期间设备收到的变化：有变化的交易、购买意向和消息。"),
            query: [
                .bundleID,
                ControlMember(
                    "after", .integer(0...Int64.max),
                    LocalizedText(
                        en: "the position of the last answer; omit at launch to start at the newest change",
                        zh: "上次应答的 position；启动时省略，从最新变化开始")),
            ], answer: Self.updateResponse
        ) { call in
            let update = try await store.update(
                of: deviceID(call), bundleID: call.query("bundleId") ?? configuration.app.bundleID,
                after: call.query("after").flatMap { Int64($0) }
            ).answered()
            return .json([
                "account": .string(update.account.name),
                "storefront": DeviceText.json(storefront: update.account.storefront),
                "mayPay": .bool(update.account.mayPay && !update.account.isDeleted),
                "deviceVerificationId": .string(update.device.verificationID.description),
                "position": .int(update.position),
                "changed": .array(try update.changed.map { try json($0, on: update.device) }),
                "hasMore": .bool(update.hasMore),
                "intents": .array(update.intents.map(Self.json)),
                "messages": .array(update.messages.map(Self.json)),
                "subscriptionVersion": .string(update.subscriptionVersion),
            ])
        }
    }

    private static let updateResponse = ControlResponse(
        "DeviceNews",
        [
            ControlMember(
                "account", .text(limit: 200), required: true, LocalizedText(en: "the signed-in account", zh: "已登录的账户")),
            DeviceText.storefront,
            ControlMember(
                "mayPay", .bool, required: true,
                LocalizedText(en: "canMakePayments: whether purchases are allowed", zh: "canMakePayments：是否允许购买")),
            ControlMember(
                "deviceVerificationId", .uuid, required: true,
                LocalizedText(en: "AppStore.deviceVerificationID", zh: "AppStore.deviceVerificationID")),
            ControlMember(
                "position", .integer(0...Int64.max), required: true,
                LocalizedText(en: "the value of after in the next request", zh: "下次请求的 after")),
            ControlMember(
                "changed", .list(TransactionText.members), required: true,
                LocalizedText(
                    en: "the changed transactions in any state, in the order of their changes, at most 100",
                    zh: "有变化的交易（不限状态），按变化先后排列，最多 100 笔")),
            ControlMember(
                "hasMore", .bool, required: true, LocalizedText(en: "whether more changes follow", zh: "是否还有更多变化")),
            ControlMember(
                "intents", .list(Self.intentMembers), required: true,
                LocalizedText(
                    en: "purchase intents from the App Store that no app has taken",
                    zh: "在 App Store 点按、尚未被 App 取走的购买意向")),
            ControlMember(
                "messages", .list(Self.messageMembers), required: true,
                LocalizedText(en: "the messages not shown yet", zh: "尚未显示的消息")),
            ControlMember(
                "subscriptionVersion", .text(limit: 40), required: true,
                LocalizedText(
                    en: "a value that changes with any change of the account's subscriptions in this app",
                    zh: "此 App 中该账户的任一订阅有变化时，此值随之改变")),
        ])

    /// The device that the path names.
    func deviceID(_ call: ControlCall) throws(ControlError) -> UniqueID {
        guard let id = UniqueID(call.id) else {
            throw RequestBody.wrong("id", "the UUID of a device", "设备的 UUID")
        }
        return id
    }
}

/// A device as JSON of the control API, with its account's storefront.
enum DeviceText {
    static let answer = ControlResponse("Device", members)

    /// The device's members in a sign-in.
    static let given: [ControlMember] = [
        ControlMember("id", .uuid, required: true, LocalizedText(en: "identifierForVendor", zh: "identifierForVendor")),
        ControlMember("name", .text(limit: 200), LocalizedText(en: "the device name", zh: "设备名称")),
        ControlMember(
            "platform", .choice(of: StoreDevice.Platform.self),
            LocalizedText(en: "iOS if absent", zh: "省略则为 iOS")),
    ]

    static let members: [ControlMember] =
        given + [
            ControlMember(
                "account", .text(limit: 200), required: true, LocalizedText(en: "the signed-in account", zh: "已登录的账户")),
            ControlMember(
                "deviceVerificationId", .uuid, required: true,
                LocalizedText(
                    en: "AppStore.deviceVerificationID, assigned by the emulator",
                    zh: "AppStore.deviceVerificationID，由模拟商店分配")),
        ]

    static let storefront = ControlMember(
        "storefront",
        .object([
            ControlMember(
                "countryCode", .text(limit: 3), required: true,
                LocalizedText(en: "ISO 3166-1 alpha-3", zh: "ISO 3166-1 三位代码")),
            ControlMember(
                "id", .text(limit: 10), required: true,
                LocalizedText(
                    en: "Apple's storefront id, or the country code if it is unknown", zh: "Apple 的店面编号，未知时为国家代码")),
            ControlMember(
                "currency", .text(limit: 3), required: true,
                LocalizedText(en: "the currency of the storefront", zh: "店面的货币")),
        ]), required: true, LocalizedText(en: "the account's storefront", zh: "账户的店面"))

    static func json(_ device: StoreDevice) -> JSONValue {
        [
            "id": .string(device.id.description), "name": .string(device.name),
            "platform": .string(device.platform.rawValue), "account": .string(device.account),
            "deviceVerificationId": .string(device.verificationID.description),
        ]
    }

    static func json(storefront code: String) -> JSONValue {
        [
            "countryCode": .string(code), "id": .string(Storefront.numbers[code] ?? code),
            "currency": .string(Storefront.currency(of: code)?.text ?? ""),
        ]
    }
}
