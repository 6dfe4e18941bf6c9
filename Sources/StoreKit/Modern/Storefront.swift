import Foundation

/// Where the account that is signed in is at home: what is for sale to it, and in which currency.
public struct Storefront: Identifiable, Hashable, Sendable {
    /// ISO 3166-1 alpha-3.
    public let countryCode: String
    /// Apple's number.
    public let id: String
    public let currency: Locale.Currency?

    /// - Parameter currency: ISO 4217.
    init(countryCode: String, id: String, currency: String?) {
        self.countryCode = countryCode
        self.id = id
        self.currency = currency.map { Locale.Currency($0) }
    }

    init(_ words: StorefrontWords) {
        self.init(countryCode: words.countryCode, id: words.id, currency: words.currency)
    }

    /// Nil before the store was reached for the first time.
    public static var current: Storefront? {
        get async {
            let session = EmulatedDevice.current.session
            if let news = try? await session.status() { return Storefront(news.storefront) }
            return session.known.news.map { Storefront($0.storefront) }
        }
    }

    /// Each change of storefront while the app runs, once to each listener.
    public static var updates: Storefronts { Storefronts(session: EmulatedDevice.current.session) }

    public struct Storefronts: AsyncSequence, Sendable {
        public typealias Element = Storefront
        let session: DeviceSession

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes: StoreChanges(session)) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            var changes: StoreChanges

            public mutating func next() async -> Storefront? {
                while let change = await changes.next() {
                    if case .storefront(let words) = change { return Storefront(words) }
                }
                return nil
            }
        }
    }
}
