import TillBilling

/// Each names the SKError that StoreKit makes of it (facts/storekit-client A7).
extension StoreRefusal {
    /// SKError 11, `invalidOfferIdentifier`.
    static func unknownOffer(_ identifier: String, product: String) -> StoreRefusal {
        StoreRefusal(
            "invalid_offer_identifier", status: 422, "\(product) has no such offer as \(identifier.prefix(100)).",
            "\(product) 没有优惠 \(identifier.prefix(100))。")
    }

    /// SKError 12, `invalidSignature`.
    static let wrongSignature = StoreRefusal(
        "invalid_signature", status: 422,
        "The offer's signature is not the developer's for this app, product, offer, account, nonce and time.",
        "优惠签名与此 App、商品、优惠、账户、随机数和时间不符，或并非开发者所签。")

    /// SKError 12 as well.
    static let signatureExpired = StoreRefusal(
        "offer_signature_expired", status: 422,
        "The offer was not signed within the last 24 hours: sign it anew for each attempt to buy.",
        "优惠签名不在最近 24 小时之内：每次购买请重新签名。")

    /// SKError 12 as well.
    static let nonceUsed = StoreRefusal(
        "offer_nonce_used", status: 422,
        "The offer's nonce was used before: a signature is for one attempt to buy, even one that fails.",
        "优惠的随机数已用过：一个签名只用于一次购买，失败也算。")

    /// SKError 13, `missingOfferParams`.
    static func missingOfferParameters(_ name: String) -> StoreRefusal {
        StoreRefusal(
            "missing_offer_params", status: 422, "The offer lacks its \(name).", "优惠缺少 \(name)。")
    }

    /// SKError 14, `invalidOfferPrice`.
    static func wrongOfferPrice(product: String) -> StoreRefusal {
        StoreRefusal(
            "invalid_offer_price", status: 422, "The offer's price is not below that of \(product).",
            "优惠价格不低于 \(product) 的价格。")
    }

    /// SKError 18, `ineligibleForOffer`.
    static let offerOfAnother = StoreRefusal(
        "ineligible_for_offer", status: 422, "The offer was signed for another customer.", "该优惠是为另一位顾客签发的。")

    static func unknownCode(_ code: String) -> StoreRefusal {
        StoreRefusal(
            "unknown_code", status: 404, "There is no offer code \(code.prefix(64)) here.",
            "这里没有优惠代码 \(code.prefix(64))。")
    }

    static func codeUsedUp(_ code: String) -> StoreRefusal {
        StoreRefusal("code_used_up", status: 409, "The offer code \(code) is used up.", "优惠代码 \(code) 已用完。")
    }

    static func codeExpired(_ code: String) -> StoreRefusal {
        StoreRefusal("code_expired", status: 409, "The offer code \(code) has expired.", "优惠代码 \(code) 已过期。")
    }

    static func codeRedeemed(_ code: String) -> StoreRefusal {
        StoreRefusal(
            "code_already_redeemed", status: 409, "This customer has redeemed the offer code \(code) before.",
            "该顾客已兑换过优惠代码 \(code)。")
    }

    static func codeOfAnotherProduct(_ code: String, product: String) -> StoreRefusal {
        StoreRefusal(
            "code_of_another_product", status: 409, "The offer code \(code) is for \(product).",
            "优惠代码 \(code) 属于商品 \(product)。")
    }

    static func tooManyRedemptions(_ limit: Int64) -> StoreRefusal {
        StoreRefusal(
            "redemption_limit", status: 409, "An app's offer codes are redeemed at most \(limit) times a quarter.",
            "每个 App 的优惠代码每季度最多兑换 \(limit) 次。")
    }

    static func codeTaken(_ code: String) -> StoreRefusal {
        StoreRefusal("code_taken", status: 409, "There is an offer code \(code) already.", "优惠代码 \(code) 已存在。")
    }
}
