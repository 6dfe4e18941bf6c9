/// Why a customer has or does not have an entitlement now: a stable code, and a sentence for people.
public enum RightReason: String, Hashable, Sendable, CaseIterable {
    // Reasons for having it.
    case bought
    /// Paid for a time that the server keeps.
    case paid
    case subscribed
    case trial
    /// Still paid, but will not renew.
    case renewalOff = "renewal_off"
    case gracePeriod = "grace_period"
    case familyShared = "family_shared"

    // Reasons for not having it.
    case neverHad = "never_had"
    case expired
    /// Ended because the customer turned renewal off.
    case cancelled
    /// Ended because Apple could not charge.
    case paymentFailed = "payment_failed"
    /// Ended because the customer did not consent to a higher price.
    case priceNotAccepted = "price_not_accepted"
    /// Ended because the product was no longer for sale.
    case notForSale = "not_for_sale"
    /// Apple is trying to charge, without service.
    case billingProblem = "billing_problem"
    case refunded
    case familyAccessEnded = "family_access_ended"
    /// Replaced by an upgrade or another plan.
    case replaced
    /// It covers another device, and the request named this one or none.
    case otherDevice = "other_device"

    public var allows: Bool {
        switch self {
        case .bought, .paid, .subscribed, .trial, .renewalOff, .gracePeriod, .familyShared: true
        case .neverHad, .expired, .cancelled, .paymentFailed, .priceNotAccepted, .notForSale, .billingProblem,
            .refunded, .familyAccessEnded, .replaced, .otherDevice:
            false
        }
    }

    /// - Parameter until: the first moment without it; nil for a permanent right, and for a right that never existed.
    public func sentence(until: Instant?) -> LocalizedText {
        let day = until.map { String($0.rfc3339.prefix(10)) } ?? ""
        return allows ? allowing(day) : denying(day)
    }

    private func allowing(_ day: String) -> LocalizedText {
        switch self {
        case .paid: LocalizedText(en: "Paid for until \(day).", zh: "已付费，有效至 \(day)。")
        case .subscribed: LocalizedText(en: "Subscribed; paid for until \(day).", zh: "订阅中，已付费至 \(day)。")
        case .trial: LocalizedText(en: "Free trial until \(day).", zh: "免费试用至 \(day)。")
        case .renewalOff:
            LocalizedText(en: "Paid for until \(day); it will not renew.", zh: "已付费至 \(day)，到期后不再续订。")
        case .gracePeriod:
            LocalizedText(
                en: "The renewal could not be charged. Service goes on until \(day); please update the payment method.",
                zh: "续订扣款失败，服务保留至 \(day)，请更新付款方式。")
        case .familyShared: LocalizedText(en: "Shared by Family Sharing.", zh: "通过家人共享获得。")
        default: LocalizedText(en: "Bought permanently.", zh: "已购买，永久有效。")
        }
    }

    private func denying(_ day: String) -> LocalizedText {
        switch self {
        case .expired: LocalizedText(en: "Expired on \(day).", zh: "已于 \(day) 到期。")
        case .cancelled:
            LocalizedText(en: "Expired on \(day), after renewal was turned off.", zh: "自动续订已关闭，于 \(day) 到期。")
        case .paymentFailed:
            LocalizedText(
                en: "Expired on \(day), because the renewal could not be charged.", zh: "续订扣款失败，于 \(day) 到期。")
        case .priceNotAccepted:
            LocalizedText(
                en: "Expired on \(day), because the new price was not agreed to.", zh: "未同意新价格，于 \(day) 到期。")
        case .notForSale:
            LocalizedText(
                en: "Expired on \(day), because the product is not for sale any more.", zh: "商品已停售，于 \(day) 到期。")
        case .billingProblem:
            LocalizedText(
                en: "Service stopped on \(day), because the renewal could not be charged. Please update the payment "
                    + "method; the App Store tries again.",
                zh: "续订扣款失败，服务已于 \(day) 停止。请更新付款方式，App Store 会再次扣款。")
        case .refunded: LocalizedText(en: "Refunded on \(day).", zh: "已于 \(day) 退款。")
        case .familyAccessEnded: LocalizedText(en: "The family's sharing ended on \(day).", zh: "家人共享已于 \(day) 结束。")
        case .replaced: LocalizedText(en: "Replaced by another plan on \(day).", zh: "已于 \(day) 更换为其他套餐。")
        case .otherDevice:
            LocalizedText(en: "Paid for another device, until \(day).", zh: "为另一台设备付费，有效至 \(day)。")
        default: LocalizedText(en: "Never bought.", zh: "从未购买。")
        }
    }
}

extension Subscription.State {
    /// For people.
    public var name: LocalizedText {
        switch self {
        case .active: LocalizedText(en: "Active", zh: "生效中")
        case .cancelled: LocalizedText(en: "Active, will not renew", zh: "生效中，到期不续订")
        case .grace: LocalizedText(en: "Grace period", zh: "宽限期")
        case .billingRetry: LocalizedText(en: "Payment failed", zh: "扣款失败")
        case .expired: LocalizedText(en: "Expired", zh: "已到期")
        case .revoked: LocalizedText(en: "Refunded", zh: "已退款")
        case .upgraded: LocalizedText(en: "Upgraded", zh: "已升级")
        }
    }
}

extension Subscription {
    /// Why there is service, or no longer any.
    public var reason: RightReason {
        switch state {
        case .active where current.terms.offer?.isTrial == true: .trial
        case .active: current.terms.isFamilyShared ? .familyShared : .subscribed
        case .cancelled: .renewalOff
        case .grace: .gracePeriod
        case .billingRetry: .billingProblem
        case .revoked: current.revocationReason
        case .upgraded: .replaced
        case .expired:
            switch expiry {
            case .cancelled: .cancelled
            case .billingError: .paymentFailed
            case .priceIncrease: .priceNotAccepted
            case .productUnavailable: .notForSale
            case .other, nil: .expired
            }
        }
    }
}

extension PaidPeriod {
    /// Why the period was revoked.
    public var revocationReason: RightReason {
        terms.revocationType == "FAMILY_REVOKE" || terms.revocationType == nil && terms.isFamilyShared
            ? .familyAccessEnded : .refunded
    }
}

/// The duration of an entitlement, and the party that keeps track of it.
public enum EntitlementKind: String, Codable, Sendable, Hashable, CaseIterable {
    /// Permanent.
    case lasting
    /// For a time that the server keeps: plans bought once, accumulated and converted.
    case service
    /// For a period that Apple keeps and renews.
    case subscription
}
