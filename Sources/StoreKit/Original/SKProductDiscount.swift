import Foundation

/// An introductory or a promotional offer (iOS 11.2, 12.2).
open class SKProductDiscount: NSObject, @unchecked Sendable {
    public enum PaymentMode: UInt, Hashable, Sendable {
        case payAsYouGo = 0
        case payUpFront = 1
        case freeTrial = 2
    }

    public enum `Type`: UInt, Hashable, Sendable {
        case introductory = 0
        case subscription = 1
    }

    // All written once, in an initialiser.
    private let words: OfferWords?
    private let kind: `Type`
    private let offerLocale: Locale
    private let period: SKProductSubscriptionPeriod

    /// Nil for an offer without a period: it is not one of these.
    init?(_ words: OfferWords, _ kind: `Type`, _ locale: Locale) {
        guard let period = words.period.flatMap({ SKProductSubscriptionPeriod(iso8601: $0) }) else { return nil }
        self.words = words
        self.kind = kind
        self.period = period
        offerLocale = locale
    }

    public override init() {
        words = nil
        kind = .introductory
        offerLocale = Locale(identifier: "")
        period = SKProductSubscriptionPeriod()
    }

    /// Nil for introductory offers.
    open var identifier: String? { words?.id }
    /// Of one charge; 0 for a free trial.
    open var price: NSDecimalNumber { NSDecimalNumber(decimal: words?.price?.decimal ?? 0) }
    open var priceLocale: Locale { offerLocale }
    /// How many charges there are.
    open var numberOfPeriods: Int { words?.periods ?? 1 }
    /// Of one charge.
    open var subscriptionPeriod: SKProductSubscriptionPeriod { period }
    open var type: `Type` { kind }
    open var paymentMode: PaymentMode {
        switch words?.discount {
        case "FREE_TRIAL": .freeTrial
        case "PAY_UP_FRONT": .payUpFront
        default: .payAsYouGo
        }
    }
}

/// How long one period of a subscription or an offer is (iOS 11.2).
open class SKProductSubscriptionPeriod: NSObject, @unchecked Sendable {
    // Both written once, in an initialiser.
    private let count: Int
    private let length: SKProduct.PeriodUnit

    /// - Parameter text: `P3D`, `P1W`, `P6M`, `P1Y`.
    init?(iso8601 text: String) {
        guard text.first == "P", let count = Int(text.dropFirst().dropLast()), count > 0 else { return nil }
        switch text.last {
        case "D": length = .day
        case "W": length = .week
        case "M": length = .month
        case "Y": length = .year
        default: return nil
        }
        self.count = count
    }

    public override init() {
        count = 0
        length = .day
    }

    open var numberOfUnits: Int { count }
    open var unit: SKProduct.PeriodUnit { length }
}
