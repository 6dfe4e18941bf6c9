import TillBilling

extension StoreRefusal {
    static func unknownDevice(_ id: UniqueID) -> StoreRefusal {
        StoreRefusal(
            "unknown_device", status: 404,
            "There is no device \(id) here: PUT /emulator/accounts/{id}/devices registers one.",
            "这里没有设备 \(id)：请用 PUT /emulator/accounts/{id}/devices 登记。")
    }

    static func deviceOfAnother(_ id: UniqueID) -> StoreRefusal {
        StoreRefusal(
            "device_of_another_account", status: 409, "Another account is signed in on device \(id).",
            "设备 \(id) 登录的是另一个账户。")
    }

    static func tooManyDevices(_ limit: Int64) -> StoreRefusal {
        StoreRefusal(
            "too_many_devices", status: 409, "An account has at most \(limit) devices here.",
            "每个账户最多 \(limit) 台设备。")
    }

    static func accountDeleted(_ name: String) -> StoreRefusal {
        StoreRefusal("account_deleted", status: 409, "The account \(name) was deleted.", "账户 \(name) 已被删除。")
    }

    /// SKError 4, `paymentNotAllowed` (SCENARIOS L3).
    static func paymentNotAllowed(_ name: String) -> StoreRefusal {
        StoreRefusal(
            "payment_not_allowed", status: 409,
            "The account \(name) may not buy on this device: Screen Time forbids it.",
            "账户 \(name) 在此设备上不允许购买：已被屏幕使用时间禁止。")
    }

    static func paymentFailed(_ name: String) -> StoreRefusal {
        StoreRefusal(
            "payment_failed", status: 409, "The payment method of the account \(name) does not work.",
            "账户 \(name) 的付款方式无法使用。")
    }

    static func inAnotherFamily(_ name: String) -> StoreRefusal {
        StoreRefusal(
            "in_another_family", status: 409, "The account \(name) is in another family: let it leave that first.",
            "账户 \(name) 已在另一个家庭中，请先退出。")
    }

    static func familyFull(_ organizer: String) -> StoreRefusal {
        StoreRefusal(
            "family_full", status: 409, "The family of \(organizer) has its organizer and five members already.",
            "\(organizer) 的家庭已满：组织者加五名成员。")
    }

    static func noFamily(_ name: String) -> StoreRefusal {
        StoreRefusal("no_family", status: 409, "The account \(name) is in no family.", "账户 \(name) 不在任何家庭中。")
    }
}
