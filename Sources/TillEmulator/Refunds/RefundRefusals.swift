import TillBilling

extension StoreRefusal {
    static func notRefunded(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "not_refunded", status: 409, "Transaction \(id) was not refunded, so there is nothing to reverse.",
            "交易 \(id) 没有退款，无可撤销。")
    }

    static func paidByFamily(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "family_shared", status: 409,
            "Transaction \(id) was paid for by another member of the family: refund that one's.",
            "交易 \(id) 由家庭其他成员付款，请对其交易退款。")
    }

    static func nothingUnused(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "nothing_unused", status: 409,
            "Transaction \(id) has no unused time to refund: name a percentage.",
            "交易 \(id) 没有可退的剩余时间，请指定百分比。")
    }

    static func notShared(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "not_shared", status: 409, "No family has access to transaction \(id).", "交易 \(id) 没有与家人共享。")
    }

    static func alreadyRevoked(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "already_revoked", status: 409, "The family's access to transaction \(id) has ended already.",
            "交易 \(id) 的家庭访问已经结束。")
    }

    static func refundAsked(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "refund_asked", status: 409, "A refund of transaction \(id) was asked for already and is being decided.",
            "交易 \(id) 的退款申请正在处理中。")
    }

    static func noRefundRequest(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "no_refund_request", status: 404, "Nobody asked for a refund of transaction \(id).",
            "没有人申请交易 \(id) 的退款。")
    }
}
