import Foundation
import TillClient

// Every public member of the client kit in an app's code. An app that enables MemberImportVisibility (SE-0444) can use
// all of it with this one import, so no member may lead to a type of TillBilling or TillAPI. The test beside TidyTests'
// public surface finds a member that is missing below the heading of its type.

/// Uses the values. Nothing here runs.
func use(_ values: Any?...) {}

// MARK: TillConfiguration, StoreKitGeneration, LogEvent, LogEvent.Level

func configure() throws -> TillStore {
    var configuration = TillConfiguration(server: "https://pay.example.com")
    configuration.server += "/"
    configuration.generation = .automatic
    configuration.directory = nil
    configuration.phoneID = "phone"
    configuration.language = "zh"
    configuration.offlineGrace = 3_600
    configuration.log = { event in
        use(event.name, event.level, event.code, event.orderID, event.productID, event.requestID, event.transactionID)
    }
    let levels: [LogEvent.Level] = [.debug, .info, .warning, .error]
    let generations: [StoreKitGeneration] = [.automatic, .storeKit1, .storeKit2]
    use(LogEvent.Level(rawValue: levels[0].rawValue), StoreKitGeneration(rawValue: generations[0].rawValue))
    return try TillStore(configuration)
}

// MARK: TillStore, GuestMerge

func run(_ store: TillStore) async throws(TillError) {
    await store.start()
    await store.signIn("ann") { "token" }
    switch await store.signIn("ann", mergingGuest: { "guest" }, token: { "token" }) {
    case .nothing, .merged: break
    case .postponed(let error), .refused(let error): throw error
    }
    let merge: GuestMerge = .nothing
    use(merge.error, await store.guestID, await store.canMakePayments(), store.entitlements, store.state)
    use(await store.cachedProducts(), try await store.products(), try await store.products(["com.example.points60"]))
    use(store.isEntitled("pro"), store.isEntitled("pro", device: "camera"), try await store.entitlement("pro"))
    use(await store.orders(), try await store.resubmit(orderID: "order"), try await store.refresh())
    use(try await store.restore(), try await store.claim(appleOrderNumber: "MX123456789"))
    use(try await store.subscriptions(), try await store.wallet(), try await store.postings(limit: 5, after: nil))
    let preview = try await store.previewPlan("premium", quantity: 2, device: "camera")
    use(try await store.purchase("com.example.points60"))
    use(try await store.purchase("com.example.premium", options: PurchaseOptions(preview)))
    try await store.setConsumptionConsent(true)
    await store.checkOrderStatus()
    store.addPayment("com.example.points60", user: "ann", success: { use($0) }, failure: { use($0, $1) })
    for await update in store.updates { show(update) }
    for await state in store.states { show(state) }
    await store.signOut()
    await store.stop()
}

// MARK: StoreUpdate, StoreUpdates, StoreUpdates.Iterator, StoreStates, StoreStates.Iterator

func show(_ update: StoreUpdate) {
    switch update {
    case .order(let order): show(order)
    case .promoted(let productID): use(productID)
    case .revoked(let productIDs): use(productIDs)
    case .storefrontChanged: break
    }
}

func iterate(_ updates: StoreUpdates, _ states: StoreStates) async {
    var (update, state) = (updates.makeAsyncIterator(), states.makeAsyncIterator())
    let first: StoreUpdates.Element? = await update.next()
    let second: StoreStates.Element? = await state.next()
    let failures: (StoreUpdates.Failure.Type, StoreStates.Failure.Type) = (Never.self, Never.self)
    use(first, second, failures)
}

// MARK: StoreState, EntitlementSnapshot

func show(_ state: StoreState) {
    use(state.isBusy, state.orders, state.products, state.purchasing, state.userID, state.wallet)
    let snapshot: EntitlementSnapshot = state.entitlements
    use(snapshot.items, snapshot.updatedAt)
}

// MARK: StoreProduct, StoreProduct.Kind

func show(_ product: StoreProduct) {
    use(product.id, product.name, product.description, product.displayPrice, product.price, product.currency)
    use(product.canBuy, product.isPurchasing, product.isEligibleForIntroductoryOffer, product.kind)
    let kinds: [StoreProduct.Kind] = [.consumable, .nonConsumable, .nonRenewing, .autoRenewable]
    use(StoreProduct.Kind(rawValue: kinds[0].rawValue))
}

// MARK: PurchaseOptions, PurchaseOptions.BillingPlan

func options() -> PurchaseOptions {
    var options = PurchaseOptions()
    options.quantity = 2
    options.device = "camera"
    options.order = nil
    options.metadata = ["campaign": "spring"]
    options.promotionalOffer = "winback"
    options.signedOffer = Data("{}".utf8)
    options.introductoryEligibility = "e30.e30.c2ln"
    options.billingPlan = .monthly
    use(PurchaseOptions.BillingPlan.upFront)
    options.preview = nil
    return options
}

// MARK: PurchaseResult, PurchaseCallbacks

func show(_ result: PurchaseResult) {
    switch result {
    case .completed(let order), .deferred(let order), .cancelled(let order): show(order)
    case .deliveryPending(let order, let reason): use(order, reason)
    case .inProgress: break
    }
    use(result.order)
}

func buy(_ store: TillStore) {
    var callbacks = PurchaseCallbacks(
        paid: { use($0) }, deliveryPending: { use($0, $1) }, cancelled: { use($0) }, failed: { use($0, $1) })
    callbacks.paid = { use($0) }
    callbacks.deliveryPending = { use($0, $1) }
    callbacks.deliveryPendingNetwork = { use($0, $1) }
    callbacks.deferred = { use($0) }
    callbacks.cancelled = { use($0) }
    callbacks.failed = { use($0, $1) }
    callbacks.inProgress = {}
    callbacks.notAllowed = { use($0) }
    callbacks.productsUnavailable = { use($0) }
    store.purchase("com.example.points60", options: options(), callbacks: callbacks)
}

// MARK: StoreOrder, StoreOrder.Status

func show(_ order: StoreOrder) {
    use(order.id, order.orderID, order.productID, order.productName, order.quantity, order.price, order.currency)
    use(order.status, order.createdAt, order.updatedAt, order.retryAt, order.transactionID, order.canResubmit)
    use(order.title(in: "zh"), order.title(), order.note(in: "zh"), order.note())
    let statuses: [StoreOrder.Status] = [
        .prepared, .ongoing, .completed, .failed, .cancelled, .deferred, .refunded, .init(rawValue: "new"),
    ]
    use(statuses.map(\.rawValue))
}

// MARK: TillError, TillError.Code

func show(_ error: TillError) {
    use(error.code, error.isRetryable, error.message(), error.message(in: "zh"), error.errorDescription)
    use(error.orderID, error.requestID, error.underlying, error == error, Set([error]))
    var hasher = Hasher()
    error.hash(into: &hasher)
    let codes: [TillError.Code] = [
        .diskFull, .diskInUse, .insecureServer, .notSignedIn, .offerNotOpen, .offline, .optionNotSupported,
        .paymentsNotAllowed, .previewChanged, .productListUnavailable, .productUnavailable, .refunded, .unknownOrder,
        .init(rawValue: "new"),
    ]
    use(codes.map(\.rawValue))
}

// MARK: RestoreResult, RestoredPurchase, RestoredPurchase.Status, ClaimedPurchase

func show(_ result: RestoreResult, _ claimed: ClaimedPurchase) {
    use(result.error, result.ownedByOthers, result.restored, result.waiting)
    for purchase: RestoredPurchase in result.purchases {
        use(purchase.code, purchase.productID, purchase.status, purchase.transactionID, purchase.message(in: "zh"))
    }
    let statuses: [RestoredPurchase.Status] = [
        .claimed, .contactSupport, .moved, .notRestorable, .owned, .ownedByAnother, .refunded, .refused, .waiting,
    ]
    use(RestoredPurchase.Status(rawValue: statuses[0].rawValue))
    use(claimed.code, claimed.isYours, claimed.productID, claimed.transactionID)
}

// MARK: Entitlement, Entitlement.Kind, EntitlementAccess, EntitlementReason

func show(_ access: EntitlementAccess) {
    use(access.expires, access.isAllowed, access.name, access.reason, access.sentence(in: "zh"))
    for source: Entitlement in access.sources {
        use(source.deviceID, source.deviceIDs, source.expires, source.kind, source.name, source.originalTransactionID)
        use(source.plan, source.productID, source.reason, source.since, source.state, source.transactionID)
        use(source.willRenew, source.sentence(in: "zh"))
    }
    let kinds: [Entitlement.Kind] = [.lasting, .service, .subscription, .init(rawValue: "new")]
    let reasons: [EntitlementReason] = [
        .billingProblem, .bought, .cancelled, .expired, .familyAccessEnded, .familyShared, .gracePeriod, .neverHad,
        .notForSale, .otherDevice, .paid, .paymentFailed, .priceNotAccepted, .refunded, .renewalOff, .replaced,
        .subscribed, .trial, .init(rawValue: "new"),
    ]
    use(kinds.map(\.rawValue), reasons.map(\.rawValue))
}

// MARK: SubscriptionRecord, SubscriptionState

func show(_ record: SubscriptionRecord) {
    use(record.id, record.productID, record.transactionID, record.groupID, record.plan, record.entitlement)
    use(record.since, record.expires, record.renews, record.graceUntil, record.willRenew, record.expirationReason)
    use(record.renewalPrice, record.renewalCurrency, record.renewalProductID, record.isPriceIncreasePending)
    use(record.isFamilyShared, record.title(in: "zh"), record.stateName(in: "zh"), record.state)
    let states: [SubscriptionState] = [
        .active, .billingRetry, .cancelled, .expired, .grace, .revoked, .upgraded, .init(rawValue: "new"),
    ]
    use(states.map(\.rawValue))
}

// MARK: PlanPreview, PlanPreview.Change

func show(_ preview: PlanPreview) {
    use(preview.plan, preview.productID, preview.quantity, preview.price, preview.currency, preview.balance)
    use(preview.date, preview.expires, preview.boughtSeconds, preview.carriedSeconds, preview.carriedDays)
    use(preview.change, preview.deviceIDs, preview.explanation(in: "zh"))
    let changes: [PlanPreview.Change] = [.start, .extend, .upgrade, .downgrade, .change, .init(rawValue: "new")]
    use(changes.map(\.rawValue))
}

// MARK: WalletPage, WalletPosting

func show(_ page: WalletPage) {
    for posting: WalletPosting in page.postings {
        use(posting.amount, posting.currency, posting.date, posting.kind, posting.reference)
    }
    use(page.next)
}

// MARK: On Apple's systems only

#if canImport(Combine)
    @MainActor func observe(_ store: TillStore) {
        let model = TillStoreModel(store)
        use(model.state, model.store)
    }
#endif

#if os(iOS) || os(visionOS)
    import UIKit

    @MainActor func showSheets(_ store: TillStore, in scene: UIWindowScene) async throws {
        try await store.presentOfferCodeRedeemSheet(in: scene)
        try await store.showManageSubscriptions(in: scene)
    }
#endif
