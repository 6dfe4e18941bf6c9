import Foundation

extension Product {
    /// An offer of a subscription, as it is set up in the store: who may have it is another question.
    public struct SubscriptionOffer: Hashable, Sendable {
        /// Apple's raw values are not in its pages; these are the names.
        public struct OfferType: RawRepresentable, Hashable, Sendable {
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            public static let introductory = OfferType(rawValue: "Introductory")
            public static let promotional = OfferType(rawValue: "Promotional")
            public static let winBack = OfferType(rawValue: "WinBack")

            /// In English.
            public var localizedDescription: String {
                switch self {
                case .introductory: "Introductory"
                case .promotional: "Promotional"
                case .winBack: "Win-back"
                default: rawValue
                }
            }
        }

        /// How an offer is paid. Apple's raw values are not in its pages; these are the names.
        public struct PaymentMode: RawRepresentable, Hashable, Sendable {
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            public static let freeTrial = PaymentMode(rawValue: "FreeTrial")
            public static let payAsYouGo = PaymentMode(rawValue: "PayAsYouGo")
            public static let payUpFront = PaymentMode(rawValue: "PayUpFront")

            /// In English.
            public var localizedDescription: String {
                switch self {
                case .freeTrial: "Free Trial"
                case .payAsYouGo: "Pay As You Go"
                case .payUpFront: "Pay Up Front"
                default: rawValue
                }
            }
        }

        /// What an app's server signs to let a customer have a promotional offer.
        public struct Signature: Hashable, Sendable {
            /// Of the key it was made with.
            public let keyID: String
            public let nonce: UUID
            /// Milliseconds since 1970.
            public let timestamp: Int
            /// DER of an ECDSA signature with SHA-256.
            public let signature: Data

            public init(keyID: String, nonce: UUID, timestamp: Int, signature: Data) {
                self.keyID = keyID
                self.nonce = nonce
                self.timestamp = timestamp
                self.signature = signature
            }
        }

        /// Nil for introductory offers.
        public let id: String?
        public let type: OfferType
        /// Of one charge, in the storefront's currency; 0 for a free trial.
        public let price: Decimal
        /// ``price`` as the storefront's customers read it.
        public let displayPrice: String
        /// Of one charge.
        public let period: SubscriptionPeriod
        /// How many charges; 1 unless it is paid as you go.
        public let periodCount: Int
        public let paymentMode: PaymentMode
    }
}

extension Product.SubscriptionOffer {
    /// - Parameter subscription: how often the subscription itself is charged, which is what an offer without a period
    ///   of its own goes by.
    /// - Returns: nil for words of a kind, or of a discount, that this module has no name for.
    init?(words: OfferWords, of subscription: Product.SubscriptionPeriod, priceFormatStyle: Decimal.FormatStyle.Currency) {
        switch words.kind {
        case "introductory": type = .introductory
        case "promotional": type = .promotional
        case "winBack": type = .winBack
        default: return nil
        }
        switch words.discount {
        case "FREE_TRIAL": paymentMode = .freeTrial
        case "PAY_AS_YOU_GO": paymentMode = .payAsYouGo
        case "PAY_UP_FRONT": paymentMode = .payUpFront
        default: return nil
        }
        id = words.id
        price = words.price?.decimal ?? 0
        displayPrice = price.formatted(priceFormatStyle)
        period = words.period.flatMap { Product.SubscriptionPeriod(iso8601: $0) } ?? subscription
        periodCount = words.periods ?? 1
    }
}

public typealias SubscriptionOffer = Product.SubscriptionOffer
