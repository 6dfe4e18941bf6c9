import TillAppStore
import TillBilling
import TillJSON

/// A device in the control API's own words, and where its account is at home.
enum DeviceText {
    static let answer = ControlAnswer("Device", members)

    /// What who signs in says of it.
    static let given: [ControlMember] = [
        ControlMember("id", .uuid, required: true, Text(en: "identifierForVendor", zh: "identifierForVendor")),
        ControlMember("name", .text(limit: 200), Text(en: "what its owner calls it", zh: "设备名称")),
        ControlMember(
            "platform", .choice(StoreDevice.Platform.allCases.map(\.rawValue)),
            Text(en: "iOS if absent", zh: "省略则为 iOS")),
    ]

    static let members: [ControlMember] =
        given + [
            ControlMember(
                "account", .text(limit: 200), required: true, Text(en: "who is signed in", zh: "登录的账户")),
            ControlMember(
                "deviceVerificationId", .uuid, required: true,
                Text(
                    en: "AppStore.deviceVerificationID, given by the store",
                    zh: "由商店给出的 AppStore.deviceVerificationID")),
        ]

    static let storefront = ControlMember(
        "storefront",
        .object([
            ControlMember(
                "countryCode", .text(limit: 3), required: true,
                Text(en: "ISO 3166-1 alpha-3", zh: "ISO 3166-1 三位代码")),
            ControlMember(
                "id", .text(limit: 10), required: true,
                Text(en: "Apple's number; the country code where it is not known", zh: "Apple 的编号，未知时为国家代码")),
            ControlMember(
                "currency", .text(limit: 3), required: true,
                Text(en: "what its customers pay in", zh: "该地区的货币")),
        ]), required: true, Text(en: "where the account is at home", zh: "账户所在地区"))

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
