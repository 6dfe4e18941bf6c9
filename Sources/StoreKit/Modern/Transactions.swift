import Foundation

extension Transaction {
    /// A sequence of the customer's transactions, existing ones or updates.
    public struct Transactions: AsyncSequence, Sendable {
        public typealias Element = VerificationResult<Transaction>

        let session: DeviceSession
        fileprivate let source: Source

        fileprivate enum Source: Sendable {
            case updates
            case set(EmulatorClient.TransactionSet, product: String?)
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(session, source) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            public typealias Element = VerificationResult<Transaction>

            private let session: DeviceSession
            private let source: Source
            private var hasBegun = false
            private var waiting: ArraySlice<TransactionResponse> = []
            private var changes: AsyncStream<DeviceEvent>.Iterator?
            /// The last reported change of each transaction, because one that is unfinished at launch may change while
            /// it is read.
            private var delivered: [String: Int64] = [:]

            fileprivate init(_ session: DeviceSession, _ source: Source) {
                self.session = session
                self.source = source
            }

            /// The next transaction; nil at the end. `updates` ends when its task is cancelled.
            public mutating func next() async -> VerificationResult<Transaction>? {
                if !hasBegun {
                    hasBegun = true
                    switch source {
                    case .updates: changes = await session.changes().makeAsyncIterator()
                    case .set(let set, let product):
                        waiting = await session.transactions(set, product: product)[...]
                    }
                }
                repeat {
                    while let response = waiting.popFirst() {
                        if let result = await deliver(response) { return result }
                    }
                } while await wait()
                return nil
            }

            /// Nil for an unpaid transaction, a change that was already reported, and an unreadable transaction, which
            /// arrives again at the next launch.
            private mutating func deliver(_ response: TransactionResponse) async -> VerificationResult<Transaction>? {
                if changes != nil, let position = response.position {
                    if let last = delivered[response.transactionId], last >= position { return nil }
                    delivered[response.transactionId] = position
                }
                guard let text = response.signedTransaction else { return nil }
                return try? await session.verify(text, as: Transaction.self)
            }

            /// - Returns: whether there may be more.
            private mutating func wait() async -> Bool {
                guard let change = await changes?.next() else { return false }
                switch change {
                case .launched: waiting = await session.backlog()[...]
                case .transaction(let response) where response.state == .purchased: waiting = [response]
                default: break
                }
                return true
            }
        }
    }

    /// Transactions that occur outside `Product.purchase()` in this process: approvals, renewals, refunds, other
    /// devices; and, once after launch, all unfinished ones. Listen to it from launch on.
    public static var updates: Transactions { Transactions(session: session, source: .updates) }

    /// The paid transactions that aren't finished.
    public static var unfinished: Transactions { list(.unfinished) }

    /// All transactions. Finished consumables are included only with `SKIncludeConsumableInAppPurchaseHistory`.
    public static var all: Transactions { list(.all) }

    @available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *)
    public static func all(for productID: String) -> Transactions { list(.all, productID) }

    /// The newest transaction of everything that the customer is entitled to: non-consumables, subscriptions that are
    /// active or in a grace period, and non-renewing subscriptions, whose end the app determines.
    public static var currentEntitlements: Transactions { list(.currentEntitlements) }

    @available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *)
    public static func currentEntitlements(for productID: String) -> Transactions {
        list(.currentEntitlements, productID)
    }

    /// The transaction of a product in `currentEntitlements`.
    @available(iOS, introduced: 15.0, deprecated: 18.4, message: "Use currentEntitlements(for:)")
    @available(macOS, introduced: 12.0, deprecated: 15.4, message: "Use currentEntitlements(for:)")
    @available(tvOS, introduced: 15.0, deprecated: 18.4, message: "Use currentEntitlements(for:)")
    @available(watchOS, introduced: 8.0, deprecated: 11.4, message: "Use currentEntitlements(for:)")
    public static func currentEntitlement(for productID: String) async -> VerificationResult<Transaction>? {
        await last(of: list(.currentEntitlements, productID))
    }

    /// The newest transaction of a product.
    public static func latest(for productID: String) async -> VerificationResult<Transaction>? {
        await last(of: list(.latest, productID))
    }

    static var session: DeviceSession { EmulatedDevice.current.session }

    private static func list(_ set: EmulatorClient.TransactionSet, _ product: String? = nil) -> Transactions {
        Transactions(session: session, source: .set(set, product: product))
    }

    private static func last(of transactions: Transactions) async -> VerificationResult<Transaction>? {
        var last: VerificationResult<Transaction>?
        for await transaction in transactions { last = transaction }
        return last
    }
}

extension Transaction {
    /// Tells the store that the app has delivered the purchase, which is then not delivered again to any device.
    ///
    /// Repeated calls are harmless. If the network stays unavailable, the transaction arrives again at the next launch.
    public func finish() async { await Self.session.finishWithRetries(String(id)) }
}
