import Foundation

extension Product {
    /// The subscription's properties of an auto-renewable product: its group, period and offers.
    public struct SubscriptionInfo: Hashable, Sendable {
        /// The offer, regardless of the customer's eligibility; see ``isEligibleForIntroOffer``.
        public let introductoryOffer: SubscriptionOffer?
        public let promotionalOffers: [SubscriptionOffer]
        public let winBackOffers: [SubscriptionOffer]
        public let subscriptionGroupID: String
        public let groupDisplayName: String
        /// The rank in the group: 1 is the highest level of service.
        public let groupLevel: Int
        public let subscriptionPeriod: SubscriptionPeriod

        /// - Returns: nil if the period is invalid.
        init?(response: SubscriptionResponse, priceFormatStyle: Decimal.FormatStyle.Currency) {
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
        public static func status(transactionID: UInt64) async throws -> Status? {
            try await EmulatedDevice.current.session.status(of: transactionID)
        }
    }
}

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

        /// The payment mode of an offer. Apple doesn't document the raw values; these are the names.
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

        /// The server's signature that lets a customer use a promotional offer.
        public struct Signature: Hashable, Sendable {
            /// The id of the key of the signature.
            public let keyID: String
            public let nonce: UUID
            /// In milliseconds since 1970.
            public let timestamp: Int
            /// The DER of an ECDSA signature with SHA-256.
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

public typealias SubscriptionOffer = Product.SubscriptionOffer

extension Product {
    /// The time between two renewals, as a number of units.
    public struct SubscriptionPeriod: Hashable, Sendable {
        public enum Unit: Hashable, Sendable {
            case day
            case week
            case month
            case year
        }

        public let unit: Unit
        /// The number of units: 3 and `.month` are three months.
        public let value: Int

        public static let weekly = SubscriptionPeriod(unit: .week, value: 1)
        public static let monthly = SubscriptionPeriod(unit: .month, value: 1)
        public static let yearly = SubscriptionPeriod(unit: .year, value: 1)
        public static let everyThreeDays = SubscriptionPeriod(unit: .day, value: 3)
        public static let everyTwoWeeks = SubscriptionPeriod(unit: .week, value: 2)
        public static let everyTwoMonths = SubscriptionPeriod(unit: .month, value: 2)
        public static let everyThreeMonths = SubscriptionPeriod(unit: .month, value: 3)
        public static let everySixMonths = SubscriptionPeriod(unit: .month, value: 6)

        init(unit: Unit, value: Int) {
            self.unit = unit
            self.value = value
        }

        /// - Parameter text: an ISO 8601 duration with one unit, the store's format (facts/jws §4 `offerPeriod`).
        init?(iso8601 text: String) {
            guard text.utf8.count <= 8, text.first == "P", let value = Int(text.dropFirst().dropLast()), value > 0
            else { return nil }
            switch text.last {
            case "D": unit = .day
            case "W": unit = .week
            case "M": unit = .month
            case "Y": unit = .year
            default: return nil
            }
            self.value = value
        }

        /// The dates of one period from a start date, in the Gregorian calendar and UTC, as the store computes them.
        ///
        /// The system's clock is used only if no date is given, as Apple declares it.
        public func dateRange(referenceDate: Date = .now) -> Range<Date> {
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = .gmt
            let end =
                switch unit {
                case .day: calendar.date(byAdding: .day, value: value, to: referenceDate)
                case .week: calendar.date(byAdding: .day, value: 7 * value, to: referenceDate)
                case .month: calendar.date(byAdding: .month, value: value, to: referenceDate)
                case .year: calendar.date(byAdding: .year, value: value, to: referenceDate)
                }
            return referenceDate..<max(referenceDate, end ?? referenceDate)
        }

        /// The period in a format style for date ranges.
        public func formatted<S>(
            _ format: S, referenceDate: Date = .now
        ) -> S.FormatOutput where S: FormatStyle, S.FormatInput == Range<Date> {
            format.format(dateRange(referenceDate: referenceDate))
        }

        /// The period in a format style for durations.
        public func formatted<S>(
            _ format: S, referenceDate: Date = .now
        ) -> S.FormatOutput where S: FormatStyle, S.FormatInput == Duration {
            let range = dateRange(referenceDate: referenceDate)
            return format.format(.seconds(range.upperBound.timeIntervalSince(range.lowerBound)))
        }
    }
}

extension Product.SubscriptionPeriod: CustomDebugStringConvertible {
    public var debugDescription: String { "\(value) \(unit)" }
}

extension Product.SubscriptionPeriod.Unit: CustomDebugStringConvertible {
    public var debugDescription: String { localizedDescription.lowercased() }

    /// In English.
    public var localizedDescription: String {
        switch self {
        case .day: "Day"
        case .week: "Week"
        case .month: "Month"
        case .year: "Year"
        }
    }
}

public typealias SubscriptionPeriod = Product.SubscriptionPeriod
