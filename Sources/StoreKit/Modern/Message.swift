/// A message of the App Store to the customer.
///
/// Apple's sheet requires a screen, so there is no `display(in:)`: a message that the app receives counts as shown, and
/// is not delivered to another device of the account.
@available(iOS 16.0, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
@available(watchOS, unavailable)
public struct Message: Hashable, Sendable {
    /// Apple doesn't document the raw values; these follow the order of introduction.
    public struct Reason: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let generic = Reason(rawValue: 0)
        public static let priceIncreaseConsent = Reason(rawValue: 1)
        @available(iOS 16.4, *)
        public static let billingIssue = Reason(rawValue: 2)
        @available(iOS 18.0, *)
        public static let winBackOffer = Reason(rawValue: 3)

        /// In English.
        public var localizedDescription: String {
            switch self {
            case .generic: "Generic"
            case .priceIncreaseConsent: "Price Increase Consent"
            case .billingIssue: "Billing Issue"
            case .winBackOffer: "Win-Back Offer"
            default: "Unknown"
            }
        }

        init(response: String) {
            self =
                switch response {
                case "priceIncreaseConsent": .priceIncreaseConsent
                case "billingIssue": .billingIssue
                case "winBackOffer": .winBackOffer
                default: .generic
                }
        }
    }

    public let reason: Reason
    /// Each cause creates a new message.
    let id: String

    /// The pending messages, each delivered once, to one listener.
    public static var messages: Messages { Messages(session: EmulatedDevice.current.session) }

    public struct Messages: AsyncSequence, Sendable {
        public typealias Element = Message
        let session: DeviceSession

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes: DeviceEvents(session)) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            var changes: DeviceEvents

            public mutating func next() async -> Message? {
                while let change = await changes.next() {
                    guard case .message(let response) = change, changes.session.claimed.claim(response.id) else {
                        continue
                    }
                    // Without a network connection, the next launch shows the message again.
                    try? await changes.session.client.shown(message: response.id)
                    return Message(reason: Reason(response: response.reason), id: response.id)
                }
                return nil
            }
        }
    }
}

/// A purchase that the customer started in the App Store. Continue it with `purchase(options:)` of its product.
@available(iOS 16.4, macOS 14.4, *)
@available(tvOS, unavailable)
@available(watchOS, unavailable)
public struct PurchaseIntent: Equatable, Sendable {
    public let product: Product
    /// The offer that the customer tapped, if any.
    @available(iOS 18.0, macOS 15.0, *)
    public let offer: Product.SubscriptionOffer?

    public var id: Product.ID { product.id }

    /// The pending intents, each delivered once, to the first listener on the first device.
    public static var intents: PurchaseIntents { PurchaseIntents(session: EmulatedDevice.current.session) }

    public struct PurchaseIntents: AsyncSequence {
        public typealias Element = PurchaseIntent
        let session: DeviceSession

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes: DeviceEvents(session)) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            var changes: DeviceEvents

            public mutating func next() async -> PurchaseIntent? {
                while let change = await changes.next() {
                    if case .intent(let response) = change, let intent = await changes.session.intent(response) {
                        return intent
                    }
                }
                return nil
            }
        }
    }
}

@available(iOS 18.0, macOS 15.0, *)
@available(tvOS, unavailable)
@available(watchOS, unavailable)
extension PurchaseIntent: Identifiable {}

extension DeviceSession {
    /// Takes a tapped product for this device and this listener.
    ///
    /// - Returns: nil if the product is no longer for sale, or if another device or listener has taken it.
    fileprivate func intent(_ response: PurchaseIntentResponse) async -> PurchaseIntent? {
        // The product is fetched first, so that an app that terminates in between has taken nothing.
        let found = await answer { () async throws(EmulatorClientError) in
            let answer = try await self.client.products([response.productId])
            return answer.data.first.map { Product($0, in: answer.storefront) }
        }
        guard let product = found ?? nil, claimed.claim(response.id) else { return nil }
        let isOurs = await answer { () async throws(EmulatorClientError) in
            try await self.client.take(intent: response.id)
        }
        guard isOurs == true else {
            // Without an answer, because the listener stopped, the next listener may take it.
            if isOurs == nil { claimed.release(response.id) }
            return nil
        }
        let offers = (product.subscription?.promotionalOffers ?? []) + (product.subscription?.winBackOffers ?? [])
        return PurchaseIntent(product: product, offer: response.offerId.flatMap { id in offers.first { $0.id == id } })
    }
}

/// The listening state of one iterator of StoreKit's sequences: from its first `next()` until it is released or its
/// task is cancelled.
struct DeviceEvents {
    let session: DeviceSession
    private var iterator: AsyncStream<DeviceEvent>.Iterator?

    init(_ session: DeviceSession) { self.session = session }

    /// Nil once the task is cancelled.
    mutating func next() async -> DeviceEvent? {
        if iterator == nil { iterator = await session.changes().makeAsyncIterator() }
        return await iterator?.next()
    }
}

extension DeviceSession {
    /// Repeats a request until the store can be reached.
    ///
    /// - Returns: nil if the store refuses it, or once the task is cancelled.
    func answer<Answer: Sendable>(
        _ question: @Sendable () async throws(EmulatorClientError) -> Answer
    ) async -> Answer? {
        while !Task.isCancelled {
            do throws(EmulatorClientError) { return try await question() } catch {
                if case .refused = error { return nil }
            }
            await effects.pause(effects.pollInterval)
        }
        return nil
    }
}
