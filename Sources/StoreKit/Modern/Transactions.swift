import Foundation

extension Transaction {
    /// A customer's transactions, one by one, as they are or as they come.
    public struct Transactions: AsyncSequence, Sendable {
        public typealias Element = VerificationResult<Transaction>

        let session: DeviceSession
        fileprivate let source: Source

        fileprivate enum Source: Sendable {
            case updates
            case set(StoreLine.TransactionSet, product: String?)
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(session, source) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            public typealias Element = VerificationResult<Transaction>

            private let session: DeviceSession
            private let source: Source
            private var hasBegun = false
            private var waiting: ArraySlice<TransactionWords> = []
            private var changes: AsyncStream<StoreChange>.Iterator?
            /// Which change of each was told: what is unfinished at the launch may have changed as it was read.
            private var told: [String: Int64] = [:]

            fileprivate init(_ session: DeviceSession, _ source: Source) {
                self.session = session
                self.source = source
            }

            /// Nil at the end; `updates` ends when its task is cancelled.
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
                    while let words = waiting.popFirst() {
                        if let result = await tell(words) { return result }
                    }
                } while await wait()
                return nil
            }

            /// Nil for what is no payment, what is known already, and what can't be read: that comes again at the
            /// next launch.
            private mutating func tell(_ words: TransactionWords) async -> VerificationResult<Transaction>? {
                if changes != nil, let position = words.position {
                    if let last = told[words.transactionId], last >= position { return nil }
                    told[words.transactionId] = position
                }
                guard let text = words.signedTransaction else { return nil }
                return try? await session.verify(text, as: Transaction.self)
            }

            /// - Returns: whether there may be more.
            private mutating func wait() async -> Bool {
                guard let change = await changes?.next() else { return false }
                switch change {
                case .launched: waiting = await session.backlog()[...]
                case .transaction(let words) where words.state == .purchased: waiting = [words]
                default: break
                }
                return true
            }
        }
    }

    /// What happens to the customer's purchases outside of `Product.purchase()` here: approvals, renewals, refunds,
    /// other devices; and, once after the launch, everything unfinished. Listen from the launch on.
    public static var updates: Transactions { Transactions(session: session, source: .updates) }

    /// What is paid and not finished.
    public static var unfinished: Transactions { list(.unfinished) }

    /// Everything, but finished consumables only if `SKIncludeConsumableInAppPurchaseHistory` says so.
    public static var all: Transactions { list(.all) }

    public static func all(for productID: String) -> Transactions { list(.all, productID) }

    /// The newest of everything the customer has a right to: non-consumables, subscriptions that are active or in
    /// grace, and non-renewing subscriptions, whose end the app judges.
    public static var currentEntitlements: Transactions { list(.currentEntitlements) }

    public static func currentEntitlements(for productID: String) -> Transactions {
        list(.currentEntitlements, productID)
    }

    /// What `currentEntitlements` has of a product.
    public static func currentEntitlement(for productID: String) async -> VerificationResult<Transaction>? {
        await last(of: list(.currentEntitlements, productID))
    }

    /// The newest transaction of a product.
    public static func latest(for productID: String) async -> VerificationResult<Transaction>? {
        await last(of: list(.latest, productID))
    }

    static var session: DeviceSession { EmulatedDevice.current.session }

    private static func list(_ set: StoreLine.TransactionSet, _ product: String? = nil) -> Transactions {
        Transactions(session: session, source: .set(set, product: product))
    }

    private static func last(of transactions: Transactions) async -> VerificationResult<Transaction>? {
        var last: VerificationResult<Transaction>?
        for await transaction in transactions { last = transaction }
        return last
    }
}

extension Transaction {
    /// Tells the store that the customer has what was paid for: it is delivered no more, to any device.
    ///
    /// Any number of times is as good as once. Where the network stays away it comes again at the next launch.
    public func finish() async { await Self.session.finishPatiently(String(id)) }
}
