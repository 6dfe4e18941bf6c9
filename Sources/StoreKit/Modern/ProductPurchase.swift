import Foundation

extension Product {
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum PurchaseResult: Sendable {
        /// The product was paid now, or is a non-consumable that was paid before.
        case success(VerificationResult<Transaction>)
        case userCancelled
        /// A parent or the bank decides later; the transaction arrives in `Transaction.updates`.
        case pending
    }

    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum PurchaseError: Error, Equatable, Hashable, Sendable {
        case invalidQuantity
        case productUnavailable
        case purchaseNotAllowed
        case ineligibleForOffer
        case invalidOfferIdentifier
        case invalidOfferPrice
        case invalidOfferSignature
        case missingOfferParameters
    }

    /// Shows the payment sheet and buys the product.
    ///
    /// An interrupted purchase returns `userCancelled`, and its transaction arrives in `Transaction.updates` once the
    /// customer has resolved the interruption. A change to a lower plan takes effect at the next renewal and charges
    /// nothing now; the same applies to a current subscription. The result is then `success` with the current period,
    /// because Apple documents no other result.
    ///
    /// - Throws: `PurchaseError` or `StoreKitError`. After a `networkError` the purchase may be paid; its transaction
    ///   then arrives in `Transaction.updates`.
    public func purchase(options: Set<PurchaseOption> = []) async throws -> PurchaseResult {
        let session = EmulatedDevice.current.session
        let question = try await question(options, session)
        do throws(EmulatorClientError) {
            switch try await session.purchase(question) {
            case .purchased(let response): return .success(try await session.verified(response))
            case .deferred: return .pending
            case .interrupted, .cancelled: return .userCancelled
            case .scheduled(let original):
                guard let response = try await session.current(of: original) else { throw .unreadable(status: 200) }
                return .success(try await session.verified(response))
            case .failed: throw .refused(code: "payment_failed", status: 409, title: "")
            }
        } catch {
            if case .refused(code: "already_subscribed", _, _) = error, let period = await currentPeriod(session) {
                return .success(period)
            }
            throw PurchaseError(error) ?? StoreKitError(error) as any Error
        }
    }

    private func currentPeriod(_ session: DeviceSession) async -> VerificationResult<Transaction>? {
        guard let response = await session.transactions(.currentEntitlements, product: id).last else { return nil }
        return try? await session.verified(response)
    }

    private func question(
        _ options: Set<PurchaseOption>, _ session: DeviceSession
    ) async throws -> PurchaseRequestBody {
        var question = PurchaseRequestBody(id)
        for option in options {
            switch option.content {
            case .appAccountToken(let token): question.appAccountToken = token
            case .quantity(let quantity): question.quantity = quantity
            case .asksToBuy(let asks): question.outcome = asks ? PaymentSheet.Answer.ask.rawValue : question.outcome
            case .offer(let offer): question.offer = offer
            case .introductoryEligibility(let token): question.introductoryEligibility = token
            case .billingPlan(let plan): question.monthlyBilling = plan == .monthly
            case .storefrontChange(let shouldContinue): try await check(session, shouldContinue)
            case .custom: break
            }
        }
        guard (1...10).contains(question.quantity) else { throw PurchaseError.invalidQuantity }
        return question
    }

    private func check(_ session: DeviceSession, _ shouldContinue: (Storefront) -> Bool) async throws {
        let now: StorefrontResponse
        do throws(EmulatorClientError) { now = try await session.status().storefront } catch {
            throw StoreKitError(error)
        }
        guard now == storefront || shouldContinue(Storefront(now)) else {
            throw StoreKitError.notAvailableInStorefront
        }
    }
}

extension Product.PurchaseError {
    /// Nil if the fault isn't a refusal of the purchase.
    init?(_ error: EmulatorClientError) {
        guard case .refused(let code, _, _) = error else { return nil }
        switch code {
        case "quantity_not_allowed": self = .invalidQuantity
        case "unknown_product", "not_on_sale", "no_longer_sold": self = .productUnavailable
        case "payment_not_allowed", "account_deleted": self = .purchaseNotAllowed
        case "ineligible_for_offer", "not_eligible": self = .ineligibleForOffer
        case "invalid_offer_identifier": self = .invalidOfferIdentifier
        case "invalid_offer_price": self = .invalidOfferPrice
        case "invalid_signature", "offer_signature_expired", "offer_nonce_used": self = .invalidOfferSignature
        case "missing_offer_params": self = .missingOfferParameters
        default: return nil
        }
    }
}

@available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
extension Product.PurchaseError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .invalidQuantity: "This quantity can't be bought."
        case .productUnavailable: "This product is not available."
        case .purchaseNotAllowed: "Purchases are not allowed on this device."
        case .ineligibleForOffer: "You are not eligible for this offer."
        case .invalidOfferIdentifier: "There is no such offer."
        case .invalidOfferPrice: "The offer's price is no longer valid."
        case .invalidOfferSignature: "The offer's signature is not valid."
        case .missingOfferParameters: "The offer is not complete."
        }
    }
}

extension Product {
    /// An option of a purchase.
    public struct PurchaseOption: Hashable, Sendable {
        enum Content: Sendable {
            case appAccountToken(UUID)
            case quantity(Int)
            case asksToBuy(Bool)
            case storefrontChange(@Sendable (Storefront) -> Bool)
            case offer(PurchaseRequestBody.Offer)
            case introductoryEligibility(String)
            case billingPlan(Product.SubscriptionInfo.BillingPlanType)
            case custom(key: String)
        }

        let content: Content
        /// The identity of the option, because a closure can't be compared.
        private let name: String

        init(_ content: Content, _ name: String) {
            self.content = content
            self.name = name
        }

        public static func == (left: PurchaseOption, right: PurchaseOption) -> Bool { left.name == right.name }
        public func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }
}

extension Product.PurchaseOption: CustomDebugStringConvertible {
    public var debugDescription: String { name }
}

extension Product.PurchaseOption {
    /// Associates the purchase with a user; the transaction contains the token.
    public static func appAccountToken(_ token: UUID) -> Product.PurchaseOption {
        Product.PurchaseOption(.appAccountToken(token), "appAccountToken \(token)")
    }

    /// The quantity, 1 to 10, for consumables and non-renewing subscriptions.
    public static func quantity(_ quantity: Int) -> Product.PurchaseOption {
        Product.PurchaseOption(.quantity(quantity), "quantity \(quantity)")
    }

    /// Whether to simulate Ask to Buy, regardless of the account.
    public static func simulatesAskToBuyInSandbox(_ simulateAskToBuy: Bool) -> Product.PurchaseOption {
        Product.PurchaseOption(.asksToBuy(simulateAskToBuy), "simulatesAskToBuyInSandbox \(simulateAskToBuy)")
    }

    /// Called if the account's storefront has changed since the product was fetched. Without this option the purchase
    /// continues.
    public static func onStorefrontChange(
        shouldContinuePurchase: @escaping @Sendable (Storefront) -> Bool
    ) -> Product.PurchaseOption {
        Product.PurchaseOption(.storefrontChange(shouldContinuePurchase), "onStorefrontChange")
    }

    /// A promotional offer with the developer's signature in the original format.
    ///
    /// - Parameters:
    ///   - signature: DER.
    ///   - timestamp: milliseconds since 1970.
    @available(iOS, introduced: 15.0, deprecated: 26.0, message: "Use promotionalOffer(_:compactJWS:)")
    @available(macOS, introduced: 12.0, deprecated: 26.0, message: "Use promotionalOffer(_:compactJWS:)")
    @available(tvOS, introduced: 15.0, deprecated: 26.0, message: "Use promotionalOffer(_:compactJWS:)")
    @available(watchOS, introduced: 8.0, deprecated: 26.0, message: "Use promotionalOffer(_:compactJWS:)")
    public static func promotionalOffer(
        offerID: String, keyID: String, nonce: UUID, signature: Data, timestamp: Int
    ) -> Product.PurchaseOption {
        var offer = PurchaseRequestBody.Offer(type: "promotional", identifier: offerID)
        offer.signature = PurchaseRequestBody.Offer.Signature(
            keyIdentifier: keyID, nonce: nonce, timestamp: Int64(timestamp), signature: signature.base64EncodedString())
        return Product.PurchaseOption(.offer(offer), "promotionalOffer \(offerID) \(nonce)")
    }

    @available(iOS, introduced: 17.4, deprecated: 26.0, message: "Use promotionalOffer(_:compactJWS:)")
    @available(macOS, introduced: 14.4, deprecated: 26.0, message: "Use promotionalOffer(_:compactJWS:)")
    @available(tvOS, introduced: 17.4, deprecated: 26.0, message: "Use promotionalOffer(_:compactJWS:)")
    @available(watchOS, introduced: 10.4, deprecated: 26.0, message: "Use promotionalOffer(_:compactJWS:)")
    public static func promotionalOffer(
        offerID: String, signature: Product.SubscriptionOffer.Signature
    ) -> Product.PurchaseOption {
        promotionalOffer(
            offerID: offerID, keyID: signature.keyID, nonce: signature.nonce, signature: signature.signature,
            timestamp: signature.timestamp)
    }

    /// A promotional offer with the developer's signature as a JWS.
    public static func promotionalOffer(_ offerID: String, compactJWS: String) -> [Product.PurchaseOption] {
        let offer = PurchaseRequestBody.Offer(type: "promotional", identifier: offerID, jws: compactJWS)
        return [Product.PurchaseOption(.offer(offer), "promotionalOffer \(offerID) \(compactJWS)")]
    }

    /// An offer for former subscribers.
    @available(iOS 18.0, macOS 15.0, tvOS 18.0, watchOS 11.0, *)
    public static func winBackOffer(_ offer: Product.SubscriptionOffer) -> Product.PurchaseOption {
        Product.PurchaseOption(
            .offer(PurchaseRequestBody.Offer(type: "winBack", identifier: offer.id)), "winBackOffer \(offer.id ?? "")")
    }

    /// The developer's signed statement about the eligibility for the introductory offer.
    public static func introductoryOfferEligibility(compactJWS: String) -> Product.PurchaseOption {
        Product.PurchaseOption(
            .introductoryEligibility(compactJWS), "introductoryOfferEligibility \(compactJWS)")
    }

    /// How a year is charged: at once, or monthly with a commitment of twelve months.
    @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
    public static func billingPlanType(
        _ billingPlanType: Product.SubscriptionInfo.BillingPlanType
    ) -> Product.PurchaseOption {
        Product.PurchaseOption(.billingPlan(billingPlanType), "billingPlanType \(billingPlanType.rawValue)")
    }

    // Without effect, as on Apple's platforms (facts/storekit-client B1).

    public static func custom(key: String, value: String) -> Product.PurchaseOption { custom(key) }
    public static func custom(key: String, value: Double) -> Product.PurchaseOption { custom(key) }
    public static func custom(key: String, value: Bool) -> Product.PurchaseOption { custom(key) }
    public static func custom(key: String, value: Data) -> Product.PurchaseOption { custom(key) }

    private static func custom(_ key: String) -> Product.PurchaseOption {
        Product.PurchaseOption(.custom(key: key), "custom \(key)")
    }
}
