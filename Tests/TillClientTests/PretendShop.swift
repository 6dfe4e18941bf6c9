import Foundation
import TillAPI
import TillBilling

@testable import TillClient

/// The behaviour and the record of the store on the pretended device.
struct PretendShop {
    enum Sheet {
        case pay
        /// The store loses the token.
        case payWithoutToken
        /// StoreKit 1 with no receipt on the disk.
        case payWithoutReceipt
        case askToBuy
        case cancel
        case fail(AppStoreError)
    }

    var canPay = true
    var sells = ["points.60", "points.300", "points.980"]
    var error: AppStoreError?
    /// The first option that this StoreKit lacks.
    var unsupported: UnsupportedOption?
    /// The buyer's actions at the next payment sheets; pays by default.
    var sheets: [Sheet] = []
    /// Awaited while a payment sheet is shown.
    var onSheet: @Sendable () async -> Void = {}
    var sheetsShown: [PurchaseRequest] = []
    var productsAsked: [[ProductID]] = []
    var observers = 0
    var receipts: [Result<[UInt8], AppStoreError>] = []
    var receiptsRead = 0
    var owned: Result<[QueuedTransaction], AppStoreError> = .success([])
    /// The transactions finished as restored, and in no other way.
    var restoredFinished: [TransactionID] = []
    var current: [CurrentPurchase] = []
    var events: AsyncStream<StoreEvent>.Continuation?
    var lastTransaction = 2_000_000_000_000_000
}

extension PretendWorld {
    /// A StoreKit in memory: its queue belongs to the store account and outlives the app.
    var access: StoreAccess {
        StoreAccess(
            canMakePayments: { self.shop.now.canPay },
            products: { (ids) async throws(AppStoreError) in
                guard self.step() else { throw .network(.offline) }
                let (sells, problem) = self.shop.withLock { shop in
                    shop.productsAsked.append(ids)
                    return (shop.sells, shop.error)
                }
                if let problem { throw problem }
                // Returns all products whatever was requested, so taking the first one would be wrong.
                return sells.map(Self.listing)
            },
            unsupported: { _, _ in self.shop.now.unsupported }, purchase: { await self.showSheet($0) },
            unfinished: { () async throws(AppStoreError) in self.state.now.queue },
            finish: queue.finish,
            current: { self.shop.now.current },
            events: {
                let (stream, continuation) = AsyncStream<StoreEvent>.makeStream()
                self.shop.withLock { shop in
                    shop.observers += 1
                    shop.events = continuation
                }
                for transaction in self.state.now.queue { continuation.yield(.paid(transaction)) }
                return stream
            },
            restore: { () async throws(AppStoreError) in
                switch self.shop.now.owned {
                case .success(let owned): return owned
                case .failure(let problem): throw problem
                }
            },
            finishRestored: { id in
                self.shop.withLock { $0.restoredFinished.append(id) }
                await self.queue.finish(id)
            },
            proof: { (transaction) async throws(AppStoreError) in try self.prove(transaction) },
            stop: {
                self.shop.withLock { shop in
                    shop.observers -= 1
                    return shop.events
                }?.finish()
            })
    }

    private static func listing(_ id: String) -> StoreListing {
        let points = Int64(id.split(separator: ".").last ?? "") ?? 0
        return StoreListing(
            id: ProductID(id), type: .consumable, name: "\(points) 学点", description: "",
            price: Money(amount: points * 10, currency: Currency("CNY")), displayPrice: "¥\(points / 10)")
    }

    private func showSheet(_ request: PurchaseRequest) async -> PaymentResult {
        guard step() else { return .failed(.unknown) }
        let (sheet, onSheet) = shop.withLock { shop in
            shop.sheetsShown.append(request)
            return (shop.sheets.isEmpty ? .pay : shop.sheets.removeFirst(), shop.onSheet)
        }
        await onSheet()
        let result: PaymentResult =
            switch sheet {
            case .pay, .payWithoutToken, .payWithoutReceipt: .paid(charge(request, sheet))
            case .askToBuy: .deferred
            case .cancel: .cancelled
            case .fail(let problem): .failed(problem)
            }
        return step() ? result : .failed(.unknown)
    }

    /// The customer is charged: whatever happens to the device, the transaction is in the queue.
    @discardableResult
    func charge(_ request: PurchaseRequest, _ sheet: PretendShop.Sheet = .pay) -> QueuedTransaction {
        let id = shop.withLock { shop in
            shop.lastTransaction += 1
            return TransactionID("\(shop.lastTransaction)")
        }
        var token: OrderID? = request.order
        var proof = PurchaseProof.signedTransaction("signed.\(id).\(request.order)")
        if case .payWithoutToken = sheet { token = nil }
        if case .payWithoutReceipt = sheet { proof = .receipt([]) }
        let transaction = QueuedTransaction(
            id: id, productID: request.productID, quantity: request.quantity, token: token, purchasedAt: state.now.now,
            proof: proof)
        state.withLock { $0.queue.append(transaction) }
        return transaction
    }

    /// A charge while the app runs, started elsewhere.
    @discardableResult
    func chargeLater(_ order: StoreOrder) -> QueuedTransaction {
        let transaction = charge(
            PurchaseRequest(order: order.uuid, productID: order.product, quantity: order.quantity))
        tell(.paid(transaction))
        return transaction
    }

    func tell(_ event: StoreEvent) { shop.now.events?.yield(event) }

    private func prove(_ transaction: QueuedTransaction) throws(AppStoreError) -> QueuedTransaction {
        let answer = shop.withLock { shop -> Result<[UInt8], AppStoreError>? in
            shop.receiptsRead += 1
            return shop.receipts.isEmpty ? nil : shop.receipts.removeFirst()
        }
        switch answer {
        case .failure(let problem): throw problem
        case .success(let bytes): return transaction.proven(by: .receipt(bytes))
        case nil: return transaction.proven(by: .receipt(Array("receipt".utf8)))
        }
    }

    // MARK: The app

    /// A launch: the app creates its store and starts it, possibly with its user still signed in. When this returns,
    /// the launch's own requests are sent.
    func launch(
        _ user: String? = "ann", _ configure: (inout TillConfiguration) -> Void = { _ in }
    ) async throws -> TillStore {
        var configuration = TillConfiguration(server: "https://till.test")
        configure(&configuration)
        let store = try TillStore(
            configuration, access: access, effects: effects,
            files: DeviceFiles(
                journal: disk, identity: identity.disk, catalog: Self.cache(catalog),
                entitlements: Self.cache(entitlements)), transport: transport)
        await store.start()
        if let user { await store.signIn(user) { user } }
        _ = await isIdle(store)
        return store
    }

    private static func cache(_ file: Guarded<[UInt8]?>) -> CacheFile {
        CacheFile(read: { file.now }, replace: { bytes in file.withLock { $0 = bytes } })
    }

    /// The end of a launch, by a kill or not: all of its work stops.
    func end(_ store: TillStore) async {
        await store.stop()
        await rest()
    }

    /// Whether the condition holds within half a minute; only a failure takes that long. For background work.
    func sees(_ condition: () async -> Bool) async -> Bool {
        let end = Date(timeIntervalSinceNow: 30)
        while Date() < end {
            if await condition() { return true }
            try? await Task.sleep(nanoseconds: 1_000_000)
        }
        return await condition()
    }

    /// Whether all background work is waiting.
    func isIdle(_ store: TillStore) async -> Bool {
        await sees { await store.retryCoordinator.isAsleep && alarms.count == 1 }
    }
}
