import Foundation

extension Product {
    /// The subscription's properties of an auto-renewable product: its group, period and offers.
    public struct SubscriptionInfo: Hashable, Sendable {
        /// The offer, regardless of the customer's eligibility; see ``isEligibleForIntroOffer``.
        public let introductoryOffer: SubscriptionOffer?
        public let promotionalOffers: [SubscriptionOffer]
        @available(iOS 18.0, macOS 15.0, tvOS 18.0, watchOS 11.0, *)
        public let winBackOffers: [SubscriptionOffer]
        public let subscriptionGroupID: String
        @available(iOS 16.4, macOS 13.3, tvOS 16.4, watchOS 9.4, *)
        public let groupDisplayName: String
        /// The rank in the group: 1 is the highest level of service.
        @available(iOS 16.4, macOS 13.3, tvOS 16.4, watchOS 9.4, *)
        public let groupLevel: Int
        public let subscriptionPeriod: SubscriptionPeriod
        /// The billing plans for sale in this storefront: `upFront`, and `monthly` if a year can be paid monthly.
        @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
        public let pricingTerms: [PricingTerms]

        /// - Returns: nil if the period is invalid.
        init?(
            response: SubscriptionResponse, price: Decimal, priceFormatStyle: Decimal.FormatStyle.Currency
        ) {
            guard let period = SubscriptionPeriod(iso8601: response.period) else { return nil }
            func offer(_ response: OfferResponse) -> SubscriptionOffer? {
                SubscriptionOffer(response: response, of: period, priceFormatStyle: priceFormatStyle)
            }
            introductoryOffer = response.introductoryOffer.flatMap(offer)
            promotionalOffers = (response.promotionalOffers ?? []).compactMap(offer)
            winBackOffers = (response.winBackOffers ?? []).compactMap(offer)
            subscriptionGroupID = response.groupId
            groupDisplayName = response.groupName ?? response.groupId
            groupLevel = response.level
            subscriptionPeriod = period
            let offers = [introductoryOffer].compactMap(\.self) + promotionalOffers + winBackOffers
            let monthly = response.monthlyPrice.map { PricingTerms.monthly($0.decimal, priceFormatStyle) }
            pricingTerms =
                [.upFront(price, for: period, offers: offers, priceFormatStyle)] + [monthly].compactMap(\.self)
        }

        /// A Boolean value that indicates whether the customer has never used an introductory offer of this group. It
        /// is also false while the store can't be reached.
        public var isEligibleForIntroOffer: Bool {
            get async { await Self.isEligibleForIntroOffer(for: subscriptionGroupID) }
        }

        public static func isEligibleForIntroOffer(for groupID: String) async -> Bool {
            await EmulatedDevice.current.session.isEligibleForIntroOffer(groupID)
        }

        /// The customer's subscriptions in this group: empty before the first one. An own and a family-shared
        /// subscription may both exist.
        ///
        /// - Throws: `StoreKitError`.
        public var status: [Status] {
            get async throws { try await Self.status(for: subscriptionGroupID) }
        }

        public static func status(for groupID: String) async throws -> [Status] {
            try await EmulatedDevice.current.session.statuses(of: groupID)
        }

        /// The status of the subscription that a transaction belongs to; nil if there is none.
        @available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *)
        public static func status(transactionID: UInt64) async throws -> Status? {
            try await EmulatedDevice.current.session.status(of: transactionID)
        }
    }
}

@available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *)
public typealias SubscriptionInfo = Product.SubscriptionInfo

extension Product {
    /// An offer of a subscription as configured in the store, independent of the customer's eligibility.
    public struct SubscriptionOffer: Hashable, Sendable {
        /// Apple doesn't document the raw values; these are the names.
        public struct OfferType: RawRepresentable, Hashable, Sendable {
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            public static let introductory = OfferType(rawValue: "Introductory")
            public static let promotional = OfferType(rawValue: "Promotional")
            @available(iOS 18.0, macOS 15.0, tvOS 18.0, watchOS 11.0, *)
            public static let winBack = OfferType(rawValue: "WinBack")

            /// In English.
            @available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
            public var localizedDescription: String {
                switch self {
                case .introductory: "Introductory"
                case .promotional: "Promotional"
                case .winBack: "Win-back"
                default: rawValue
                }
            }
        }

        /// The payment mode of an offer. Apple doesn't document the raw values; these are the names.
        public struct PaymentMode: RawRepresentable, Hashable, Sendable {
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            public static let freeTrial = PaymentMode(rawValue: "FreeTrial")
            public static let payAsYouGo = PaymentMode(rawValue: "PayAsYouGo")
            public static let payUpFront = PaymentMode(rawValue: "PayUpFront")

            /// In English.
            @available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
            public var localizedDescription: String {
                switch self {
                case .freeTrial: "Free Trial"
                case .payAsYouGo: "Pay As You Go"
                case .payUpFront: "Pay Up Front"
                default: rawValue
                }
            }
        }

        /// The server's signature that lets a customer use a promotional offer.
        @available(iOS, introduced: 17.4, deprecated: 26.0, message: "Use promotionalOffer(_:compactJWS:)")
        @available(macOS, introduced: 14.4, deprecated: 26.0, message: "Use promotionalOffer(_:compactJWS:)")
        @available(tvOS, introduced: 17.4, deprecated: 26.0, message: "Use promotionalOffer(_:compactJWS:)")
        @available(watchOS, introduced: 10.4, deprecated: 26.0, message: "Use promotionalOffer(_:compactJWS:)")
        public struct Signature: Hashable, Sendable {
            /// The id of the key of the signature.
            public var keyID: String
            public var nonce: UUID
            /// In milliseconds since 1970.
            public var timestamp: Int
            /// The DER of an ECDSA signature with SHA-256.
            public var signature: Data

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
        /// The price of one charge in the storefront's currency; 0 for a free trial.
        public let price: Decimal
        /// ``price`` as formatted for the storefront.
        public let displayPrice: String
        /// The period of one charge.
        public let period: SubscriptionPeriod
        /// The number of charges; 1 except for pay as you go.
        public let periodCount: Int
        public let paymentMode: PaymentMode
    }
}

extension Product.SubscriptionOffer {
    /// - Parameter subscription: the period of the subscription itself, which applies to an offer without its own
    ///   period.
    /// - Returns: nil for an unknown kind or discount.
    init?(
        response: OfferResponse, of subscription: Product.SubscriptionPeriod,
        priceFormatStyle: Decimal.FormatStyle.Currency
    ) {
        switch response.kind {
        case "introductory": type = .introductory
        case "promotional": type = .promotional
        case "winBack": type = .winBack
        default: return nil
        }
        switch response.discount {
        case "FREE_TRIAL": paymentMode = .freeTrial
        case "PAY_AS_YOU_GO": paymentMode = .payAsYouGo
        case "PAY_UP_FRONT": paymentMode = .payUpFront
        default: return nil
        }
        id = response.id
        price = response.price?.decimal ?? 0
        displayPrice = price.formatted(priceFormatStyle)
        period = response.period.flatMap { Product.SubscriptionPeriod(iso8601: $0) } ?? subscription
        periodCount = response.periods ?? 1
    }
}
