import TillBilling

extension StoreRefusal {
    static func unknownIntent(_ id: UniqueID) -> StoreRefusal {
        StoreRefusal(
            "unknown_intent", status: 404, "Nobody tapped \(id) for the account and device that ask.",
            "该账户与设备没有待处理的购买意向 \(id)。")
    }

    static func tooManyIntents(_ limit: Int) -> StoreRefusal {
        StoreRefusal(
            "too_many_intents", status: 409,
            "\(limit) products were tapped already, and the app has taken none of them.",
            "已有 \(limit) 个购买意向等待 App 处理。")
    }

    static func unknownMessage(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "unknown_message", status: 404, "There is no message \(id.prefix(100)) for this device's account.",
            "该设备的账户没有消息 \(id.prefix(100))。")
    }

    static func tooManyMessages(_ limit: Int) -> StoreRefusal {
        StoreRefusal(
            "too_many_messages", status: 409, "\(limit) messages wait to be shown already.",
            "已有 \(limit) 条消息等待显示。")
    }
}
