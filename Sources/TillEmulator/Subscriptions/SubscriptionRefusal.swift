/// Why a subscription is not changed as somebody wants.
extension StoreRefusal {
    static func noSuchOffer(_ id: String, product: String) -> StoreRefusal {
        StoreRefusal(
            "unknown_offer", status: 422, "\(product) has no such offer: \(id).", "\(product) 没有优惠 \(id)。")
    }

    static func noMonthlyBilling(product: String) -> StoreRefusal {
        StoreRefusal(
            "no_monthly_billing", status: 422,
            "\(product) can't be paid by the month: the emulator knows no commitment of twelve months yet.",
            "\(product) 不能按月付款：模拟商店尚不支持十二个月承诺。")
    }

    static func notEligible(offer: String) -> StoreRefusal {
        StoreRefusal(
            "not_eligible", status: 409,
            "The account may not have the offer \(offer): promotional offers are for current and former subscribers, "
                + "win-back offers for former ones.",
            "该账户不能享受优惠 \(offer)：促销优惠只给现有和过去的订阅者，赢回优惠只给过去的订阅者。")
    }

    static func subscriptionEnded(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "subscription_ended", status: 409, "Subscription \(id) has ended: subscribe again.",
            "订阅 \(id) 已结束，请重新订阅。")
    }

    static func sharedSubscription(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "shared_subscription", status: 409,
            "Subscription \(id) is a family member's copy: only the one who pays can change it.",
            "订阅 \(id) 是家庭共享的副本，只有付款人可以更改。")
    }

    static func nothingToRecover(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "nothing_to_recover", status: 409, "No charge of subscription \(id) has failed.", "订阅 \(id) 没有扣款失败。")
    }

    static func notAnIncrease(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "not_an_increase", status: 422,
            "The price must be higher than the one that subscription \(id) renews at, in the same currency.",
            "新价格必须高于订阅 \(id) 当前的续期价格，且币种相同。")
    }

    static func noConsentAsked(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "no_consent_asked", status: 409,
            "No increase of the price of subscription \(id) waits for an answer.", "订阅 \(id) 没有待同意的涨价。")
    }

    static func otherGroup(product: String, _ id: String) -> StoreRefusal {
        StoreRefusal(
            "other_group", status: 422, "\(product) is no product of the group that subscription \(id) is in.",
            "\(product) 与订阅 \(id) 不在同一订阅组。")
    }

    static func notExtended(_ id: String, _ refusal: RenewalDateExtension.Refusal) -> StoreRefusal {
        switch refusal {
        case .unknown: unknownSubscription(id)
        case .familyShared: sharedSubscription(id)
        case .tooMany:
            StoreRefusal(
                "too_many_extensions", status: 409, "Subscription \(id) was extended twice within 365 days.",
                "订阅 \(id) 在 365 天内已延期两次。")
        case .ineligible:
            StoreRefusal(
                "not_extendable", status: 409,
                "Subscription \(id) is not active, was never paid for, or is in a free offer.",
                "订阅 \(id) 未生效、从未付费或处于免费期，不能延期。")
        }
    }
}
