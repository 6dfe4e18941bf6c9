import Foundation
import StoreKit
import TillBilling

// The implementation of `StoreAccess` with StoreKit 2. It uses only API of Apple's SDK for iOS 15, with availability
// checks for newer API, so the same code compiles with Apple's framework and with this package's.

extension StoreAccess {
    /// Uses StoreKit 2 on the current device.
    ///
    /// Transactions that the device could not verify are passed on too: the server verifies the proof itself, and a
    /// device with a wrong clock must not lose a purchase.
    ///
    /// - Parameter spawn: starts work without waiting for it.
    package static func storeKit2(
        spawn: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Void
    ) -> StoreAccess {
        let adapter = StoreKit2Adapter()
        let ending = CompletionSignal()
        return StoreAccess(
            canMakePayments: { await adapter.onDevice { await StoreKit2Adapter.canMakePayments } },
            products: { ids async throws(AppStoreError) in try await adapter.listings(ids) },
            unsupported: { terms, product in await adapter.unsupported(terms, product) },
            purchase: { request in await adapter.purchase(request) },
            unfinished: { () async throws(AppStoreError) in await adapter.unfinished() },
            finish: { id in await adapter.finish(id) },
            current: { await adapter.current() },
            events: {
                let (events, heard) = AsyncStream<StoreEvent>.makeStream()
                spawn { await adapter.listen(until: ending.ended, yieldingTo: heard) }
                return events
            },
            restore: { () async throws(AppStoreError) in try await adapter.restore() },
            finishRestored: { id in await adapter.finish(id) },
            proof: { (transaction) async throws(AppStoreError) in transaction },
            stop: { ending.end() })
    }
}

/// Signals the end once to all waiting tasks.
private struct CompletionSignal: Sendable {
    let ended: AsyncStream<Never>
    private let continuation: AsyncStream<Never>.Continuation

    init() { (ended, continuation) = AsyncStream<Never>.makeStream() }

    func end() { continuation.finish() }
}

private actor StoreKit2Adapter {
    private typealias Payment = VerificationResult<StoreKit.Transaction>

    #if os(Linux)
        /// Tests and simulations use several devices.
        private let device = EmulatedDevice.current

        /// Runs `work` with this object's device as StoreKit's.
        nonisolated func onDevice<Result: Sendable>(
            _ work: @Sendable () async throws -> Result
        ) async rethrows -> Result { try await EmulatedDevice.$current.withValue(device) { try await work() } }
    #else
        nonisolated func onDevice<Result: Sendable>(
            _ work: @Sendable () async throws -> Result
        ) async rethrows -> Result { try await work() }
    #endif

    /// The last listed products, for purchases.
    private var products: [ProductID: StoreKit.Product] = [:]

    static var canMakePayments: Bool {
        get async {
            #if os(Linux)
                // The emulated phone knows the value once it has reached its store.
                _ = await StoreKit.Storefront.current
            #endif
            return AppStore.canMakePayments
        }
    }

    // MARK: Products

    func listings(_ ids: [ProductID]) async throws(AppStoreError) -> [StoreListing] {
        var listings: [StoreListing] = []
        for product in try await find(ids) {
            // Apple's answer is local, and counts for the whole subscription group.
            let isEligible =
                product.subscription?.introductoryOffer == nil
                ? nil : await onDevice { await product.subscription?.isEligibleForIntroOffer }
            if let listing = StoreListing(product, isEligible: isEligible) { listings.append(listing) }
        }
        return listings
    }

    private func find(_ ids: [ProductID]) async throws(AppStoreError) -> [StoreKit.Product] {
        do {
            let found = try await onDevice { try await StoreKit.Product.products(for: ids.map(\.text)) }
            for product in found { products[ProductID(product.id)] = product }
            return found
        } catch {
            throw AppStoreError(error)
        }
    }

    // MARK: Purchases

    func purchase(_ request: PurchaseRequest) async -> PaymentResult {
        do {
            guard let product = try await product(request.productID) else { return .failed(.notAvailable) }
            guard let token = UUID(uuidString: request.order.description) else { return .failed(.paymentInvalid) }
            guard let terms = request.terms.storeKitOptions else { return .failed(.invalidOfferSignature) }
            var options = terms.union([.appAccountToken(token)])
            if request.quantity != 1 { options.insert(.quantity(request.quantity)) }
            let chosen = options
            let result = try await onDevice { try await product.purchase(chosen, request.terms) }
            if case .success(let payment) = result { return .paid(QueuedTransaction(payment)) }
            if case .pending = result { return .deferred }
            if case .userCancelled = result { return .cancelled }
            // A result of a later system.
            return .failed(.unknown)
        } catch {
            let problem = AppStoreError(error)
            return problem == .cancelled ? .cancelled : .failed(problem)
        }
    }

    func unsupported(_ terms: PaymentTerms, _ id: ProductID) async -> UnsupportedOption? {
        if let missing = terms.missing { return missing }
        guard terms.billingPlan == .monthly else { return nil }
        // Without its product, the purchase fails with a reason of its own.
        guard let product = try? await product(id) else { return nil }
        return product.isSoldMonthly ? nil : .billingPlan
    }

    private func product(_ id: ProductID) async throws(AppStoreError) -> StoreKit.Product? {
        if let product = products[id] { return product }
        return try await find([id]).first
    }

    // MARK: The queue

    func unfinished() async -> [QueuedTransaction] {
        await onDevice {
            var found: [QueuedTransaction] = []
            for await payment in StoreKit.Transaction.unfinished { found.append(QueuedTransaction(payment)) }
            return found
        }
    }

    func current() async -> [CurrentPurchase] {
        await onDevice {
            var found: [CurrentPurchase] = []
            for await case .verified(let transaction) in StoreKit.Transaction.currentEntitlements {
                found.append(CurrentPurchase(transaction))
            }
            return found
        }
    }

    func finish(_ id: TransactionID) async {
        await onDevice {
            for await payment in StoreKit.Transaction.unfinished
            where String(payment.unsafePayloadValue.id) == id.text {
                await payment.unsafePayloadValue.finish()
            }
        }
    }

    func restore() async throws(AppStoreError) -> [QueuedTransaction] {
        do {
            return try await onDevice {
                try await AppStore.sync()
                var owned: [QueuedTransaction] = []
                for await payment in StoreKit.Transaction.currentEntitlements {
                    let type = payment.unsafePayloadValue.productType
                    guard type == .nonConsumable || type == .autoRenewable else { continue }
                    owned.append(QueuedTransaction(payment))
                }
                return owned
            }
        } catch {
            throw AppStoreError(error)
        }
    }

    // MARK: Events

    /// Runs until the end is signalled, or its task is cancelled.
    nonisolated func listen(until ended: AsyncStream<Never>, yieldingTo heard: AsyncStream<StoreEvent>.Continuation)
        async
    {
        await onDevice {
            await withTaskGroup(of: Void.self) { listeners in
                listeners.addTask {
                    for await payment in StoreKit.Transaction.updates { heard.yield(StoreEvent(payment)) }
                }
                listeners.addTask {
                    for await _ in StoreKit.Storefront.updates { heard.yield(.storefrontChanged) }
                }
                #if os(iOS) || os(macOS) || os(Linux)
                    if #available(iOS 16.4, macOS 14.4, *) {
                        listeners.addTask {
                            for await intent in PurchaseIntent.intents {
                                heard.yield(.promoted(ProductID(intent.product.id)))
                            }
                        }
                    }
                #endif
                for await _ in ended {}
                listeners.cancelAll()
            }
        }
        heard.finish()
    }
}

extension StoreListing {
    /// Nil if the price is not an amount of its currency.
    fileprivate init?(_ product: StoreKit.Product, isEligible: Bool?) {
        let currency = Currency(product.priceFormatStyle.currencyCode)
        guard let price = Money(decimal: "\(product.price)", currency: currency) else { return nil }
        self.init(
            id: ProductID(product.id), type: ProductType(rawValue: product.type.rawValue), name: product.displayName,
            description: product.description, price: price, displayPrice: product.displayPrice,
            isEligibleForIntroductoryOffer: isEligible)
    }
}

extension QueuedTransaction {
    fileprivate init(_ payment: VerificationResult<StoreKit.Transaction>) {
        let transaction = payment.unsafePayloadValue
        self.init(
            id: TransactionID(String(transaction.id)), productID: ProductID(transaction.productID),
            quantity: transaction.purchasedQuantity,
            token: transaction.appAccountToken.flatMap { OrderID($0.uuidString) },
            purchasedAt: Instant(
                milliseconds: Int64((transaction.purchaseDate.timeIntervalSince1970 * 1_000).rounded())),
            proof: .signedTransaction(payment.jwsRepresentation))
    }
}

extension CurrentPurchase {
    fileprivate init(_ transaction: StoreKit.Transaction) {
        self.init(
            productID: ProductID(transaction.productID),
            token: transaction.appAccountToken.flatMap { OrderID($0.uuidString) },
            transactionID: TransactionID(String(transaction.id)),
            expires: transaction.expirationDate.map {
                Instant(milliseconds: Int64(($0.timeIntervalSince1970 * 1_000).rounded()))
            })
    }
}

extension StoreEvent {
    fileprivate init(_ payment: VerificationResult<StoreKit.Transaction>) {
        let transaction = payment.unsafePayloadValue
        self =
            transaction.revocationDate == nil
            ? .paid(QueuedTransaction(payment)) : .revoked([ProductID(transaction.productID)])
    }
}
