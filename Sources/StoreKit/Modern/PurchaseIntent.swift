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
