import Foundation

extension Product {
    /// What is particular to an auto-renewable subscription: its group, period and offers.
    public struct SubscriptionInfo: Hashable, Sendable {
        /// Whoever may have it; see ``isEligibleForIntroOffer``.
        public let introductoryOffer: SubscriptionOffer?
        public let promotionalOffers: [SubscriptionOffer]
        public let winBackOffers: [SubscriptionOffer]
        public let subscriptionGroupID: String
        public let groupDisplayName: String
        /// The rank in the group: 1 is the highest service.
        public let groupLevel: Int
        public let subscriptionPeriod: SubscriptionPeriod

        /// - Returns: nil for a period that is none.
        init?(words: SubscriptionWords, priceFormatStyle: Decimal.FormatStyle.Currency) {
            guard let period = SubscriptionPeriod(iso8601: words.period) else { return nil }
            func offer(_ words: OfferWords) -> SubscriptionOffer? {
                SubscriptionOffer(words: words, of: period, priceFormatStyle: priceFormatStyle)
            }
            introductoryOffer = words.introductoryOffer.flatMap(offer)
            promotionalOffers = (words.promotionalOffers ?? []).compactMap(offer)
            winBackOffers = (words.winBackOffers ?? []).compactMap(offer)
            subscriptionGroupID = words.groupId
            groupDisplayName = words.groupName ?? words.groupId
            groupLevel = words.level
            subscriptionPeriod = period
        }

        /// Whether the customer never had an introductory offer of this group. False, too, while the store is out of
        /// reach: then nothing is promised.
        public var isEligibleForIntroOffer: Bool {
            get async { await Self.isEligibleForIntroOffer(for: subscriptionGroupID) }
        }

        public static func isEligibleForIntroOffer(for groupID: String) async -> Bool {
            await EmulatedDevice.current.session.isEligibleForIntroOffer(groupID)
        }

        /// What the customer has in this group: nothing before the first subscription; an own one and a family's may
        /// stand beside each other.
        ///
        /// - Throws: `StoreKitError`.
        public var status: [Status] {
            get async throws { try await Self.status(for: subscriptionGroupID) }
        }

        public static func status(for groupID: String) async throws -> [Status] {
            try await EmulatedDevice.current.session.statuses(of: groupID)
        }

        /// The subscription that a transaction belongs to, the first or any later one of it; nil if there is none.
        public static func status(transactionID: UInt64) async throws -> Status? {
            try await EmulatedDevice.current.session.status(of: transactionID)
        }
    }
}

public typealias SubscriptionInfo = Product.SubscriptionInfo
