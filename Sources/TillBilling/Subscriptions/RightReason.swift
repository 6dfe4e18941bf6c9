/// Why somebody may use something now, or may not: a stable code, and a sentence for people.
public enum RightReason: String, Hashable, Sendable, CaseIterable {
    // Why they may.
    case bought
    /// For a time that the server keeps.
    case paid
    case subscribed
    case trial
    /// Still paid for, but it will not renew.
    case renewalOff = "renewal_off"
    case gracePeriod = "grace_period"
    case familyShared = "family_shared"

    // Why they may not.
    case neverHad = "never_had"
    case expired
    /// It ended because the customer had turned renewal off.
    case cancelled
    /// It ended because Apple could not charge.
    case paymentFailed = "payment_failed"
    /// It ended because the customer did not agree to a higher price.
    case priceNotAccepted = "price_not_accepted"
    /// It ended because the product was not for sale any more.
    case notForSale = "not_for_sale"
    /// Apple tries to charge, without service.
    case billingProblem = "billing_problem"
    case refunded
    case familyAccessEnded = "family_access_ended"
    /// An upgrade or another plan took its place.
    case replaced
    /// It runs for another device, and the question named this one or none.
    case otherDevice = "other_device"

    public var allows: Bool {
        switch self {
        case .bought, .paid, .subscribed, .trial, .renewalOff, .gracePeriod, .familyShared: true
        case .neverHad, .expired, .cancelled, .paymentFailed, .priceNotAccepted, .notForSale, .billingProblem,
            .refunded, .familyAccessEnded, .replaced, .otherDevice:
            false
        }
    }

    /// - Parameter until: the first moment without it; nil for what lasts, and for what never was.
    public func sentence(until: Instant?) -> Text {
        let day = until.map { String($0.rfc3339.prefix(10)) } ?? ""
        return allows ? allowing(day) : denying(day)
    }

    private func allowing(_ day: String) -> Text {
        switch self {
        case .paid: Text(en: "Paid for until \(day).", zh: "已付费，有效至 \(day)。")
        case .subscribed: Text(en: "Subscribed; paid for until \(day).", zh: "订阅中，已付费至 \(day)。")
        case .trial: Text(en: "Free trial until \(day).", zh: "免费试用至 \(day)。")
        case .renewalOff:
            Text(en: "Paid for until \(day); it will not renew.", zh: "已付费至 \(day)，到期后不再续订。")
        case .gracePeriod:
            Text(
                en: "The renewal could not be charged. Service goes on until \(day); please update the payment method.",
                zh: "续订扣款失败，服务保留至 \(day)，请更新付款方式。")
        case .familyShared: Text(en: "Shared by Family Sharing.", zh: "通过家人共享获得。")
        default: Text(en: "Bought permanently.", zh: "已购买，永久有效。")
        }
    }

    private func denying(_ day: String) -> Text {
        switch self {
        case .expired: Text(en: "Expired on \(day).", zh: "已于 \(day) 到期。")
        case .cancelled:
            Text(en: "Expired on \(day), after renewal was turned off.", zh: "自动续订已关闭，于 \(day) 到期。")
        case .paymentFailed:
            Text(
                en: "Expired on \(day), because the renewal could not be charged.", zh: "续订扣款失败，于 \(day) 到期。")
        case .priceNotAccepted:
            Text(
                en: "Expired on \(day), because the new price was not agreed to.", zh: "未同意新价格，于 \(day) 到期。")
        case .notForSale:
            Text(
                en: "Expired on \(day), because the product is not for sale any more.", zh: "商品已停售，于 \(day) 到期。")
        case .billingProblem:
            Text(
                en: "Service stopped on \(day), because the renewal could not be charged. Please update the payment "
                    + "method; the App Store tries again.",
                zh: "续订扣款失败，服务已于 \(day) 停止。请更新付款方式，App Store 会再次扣款。")
        case .refunded: Text(en: "Refunded on \(day).", zh: "已于 \(day) 退款。")
        case .familyAccessEnded: Text(en: "The family's sharing ended on \(day).", zh: "家人共享已于 \(day) 结束。")
        case .replaced: Text(en: "Replaced by another plan on \(day).", zh: "已于 \(day) 更换为其他套餐。")
        case .otherDevice:
            Text(en: "Paid for another device, until \(day).", zh: "为另一台设备付费，有效至 \(day)。")
        default: Text(en: "Never bought.", zh: "从未购买。")
        }
    }
}

extension Subscription.State {
    /// For people.
    public var name: Text {
        switch self {
        case .active: Text(en: "Active", zh: "生效中")
        case .cancelled: Text(en: "Active, will not renew", zh: "生效中，到期不续订")
        case .grace: Text(en: "Grace period", zh: "宽限期")
        case .billingRetry: Text(en: "Payment failed", zh: "扣款失败")
        case .expired: Text(en: "Expired", zh: "已到期")
        case .revoked: Text(en: "Refunded", zh: "已退款")
        case .upgraded: Text(en: "Upgraded", zh: "已升级")
        }
    }
}

extension Subscription {
    /// Why there is service, or none any more.
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
    /// Why it was taken back.
    public var revocationReason: RightReason {
        terms.revocationType == "FAMILY_REVOKE" || terms.revocationType == nil && terms.isFamilyShared
            ? .familyAccessEnded : .refunded
    }
}

/// How long something may be used, by whose account.
public enum EntitlementKind: String, Codable, Sendable, Hashable, CaseIterable {
    /// For good.
    case lasting
    /// For a time that the server keeps: plans bought once, stacked and converted.
    case service
    /// For a period that Apple keeps and renews.
    case subscription
}
