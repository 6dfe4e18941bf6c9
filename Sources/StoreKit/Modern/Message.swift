/// What the App Store has to tell the customer.
///
/// Apple's sheet needs a screen, so there is no `display(in:)`: what the app is handed counts as shown, and is told to
/// no device of the account again.
public struct Message: Hashable, Sendable {
    /// Apple's raw values are not in its pages; the order is that of their appearance.
    public struct Reason: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let generic = Reason(rawValue: 0)
        public static let priceIncreaseConsent = Reason(rawValue: 1)
        public static let billingIssue = Reason(rawValue: 2)
        public static let winBackOffer = Reason(rawValue: 3)

        init(words: String) {
            self =
                switch words {
                case "priceIncreaseConsent": .priceIncreaseConsent
                case "billingIssue": .billingIssue
                case "winBackOffer": .winBackOffer
                default: .generic
                }
        }
    }

    public let reason: Reason
    /// Another cause is another message.
    let id: String

    /// Each message once, to one listener.
    public static var messages: Messages { Messages(session: EmulatedDevice.current.session) }

    public struct Messages: AsyncSequence, Sendable {
        public typealias Element = Message
        let session: DeviceSession

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes: StoreChanges(session)) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            var changes: StoreChanges

            public mutating func next() async -> Message? {
                while let change = await changes.next() {
                    guard case .message(let words) = change, changes.session.claims.claim(words.id) else { continue }
                    // Where the network is away just now, another launch shows it once more.
                    try? await changes.session.line.shown(message: words.id)
                    return Message(reason: Reason(words: words.reason), id: words.id)
                }
                return nil
            }
        }
    }
}

/// A purchase that the customer began in the App Store, for the app to go on with: `purchase(options:)` of its product.
public struct PurchaseIntent: Identifiable, Hashable, Sendable {
    public let product: Product
    /// What the customer tapped it with.
    public let offer: Product.SubscriptionOffer?

    public var id: Product.ID { product.id }

    /// Each tap once, to one listener on one device: who is first has it.
    public static var intents: PurchaseIntents { PurchaseIntents(session: EmulatedDevice.current.session) }

    public struct PurchaseIntents: AsyncSequence, Sendable {
        public typealias Element = PurchaseIntent
        let session: DeviceSession

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes: StoreChanges(session)) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            var changes: StoreChanges

            public mutating func next() async -> PurchaseIntent? {
                while let change = await changes.next() {
                    if case .intent(let words) = change, let intent = await changes.session.intent(words) {
                        return intent
                    }
                }
                return nil
            }
        }
    }
}

extension DeviceSession {
    /// Takes what was tapped, for this device and this listener.
    ///
    /// - Returns: nil for what is no longer for sale, and for what somebody else goes on with.
    fileprivate func intent(_ words: IntentWords) async -> PurchaseIntent? {
        // The product first: an app that dies in between has taken nothing.
        let found = await answer { () async throws(StoreFault) in
            let answer = try await self.line.products([words.productId])
            return answer.data.first.map { Product($0, in: answer.storefront) }
        }
        guard let product = found ?? nil, claims.claim(words.id) else { return nil }
        let isOurs = await answer { () async throws(StoreFault) in try await self.line.take(intent: words.id) }
        guard isOurs == true else {
            // Without an answer, because its listener left, it is the next one's.
            if isOurs == nil { claims.release(words.id) }
            return nil
        }
        let offers = (product.subscription?.promotionalOffers ?? []) + (product.subscription?.winBackOffers ?? [])
        return PurchaseIntent(product: product, offer: words.offerId.flatMap { id in offers.first { $0.id == id } })
    }
}

/// How one iterator of StoreKit's sequences listens: from its first question on, until it is dropped or its task is
/// cancelled.
struct StoreChanges {
    let session: DeviceSession
    private var iterator: AsyncStream<StoreChange>.Iterator?

    init(_ session: DeviceSession) { self.session = session }

    /// Nil once the task is cancelled.
    mutating func next() async -> StoreChange? {
        if iterator == nil { iterator = await session.changes().makeAsyncIterator() }
        return await iterator?.next()
    }
}

extension DeviceSession {
    /// Asks again and again while the store is out of reach.
    ///
    /// - Returns: nil if it refuses, or once the task is cancelled.
    func answer<Answer: Sendable>(
        _ question: @Sendable () async throws(StoreFault) -> Answer
    ) async -> Answer? {
        while !Task.isCancelled {
            do throws(StoreFault) { return try await question() } catch {
                if case .refused = error { return nil }
            }
            await effects.pause(effects.pollInterval)
        }
        return nil
    }
}
