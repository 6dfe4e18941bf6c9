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
