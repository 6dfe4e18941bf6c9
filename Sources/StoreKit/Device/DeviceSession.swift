import Foundation
import TillThreads

/// A change that this process's app did not cause itself.
enum DeviceEvent: Sendable {
    /// The store was reached for the first time since launch: everything unfinished can be requested now, and later
    /// changes are reported.
    case launched
    /// A transaction arrived or changed: paid elsewhere, approved, declined, renewed, refunded.
    case transaction(TransactionResponse)
    /// The state of a subscription changed.
    case subscriptions
    case storefront(StorefrontResponse)
    /// A promoted product was tapped in the App Store.
    case intent(PurchaseIntentResponse)
    case message(MessageResponse)
}

/// One run of the app: signs the device in, makes purchases, and reports changes that happen elsewhere.
///
/// The store is polled only while there is a listener, as Apple's queue does nothing without an observer.
actor DeviceSession {
    nonisolated let client: EmulatorClient
    nonisolated let effects: StoreEffects
    nonisolated let receipt: ReceiptFile
    private nonisolated let receipts: EmulatedDevice.Receipts
    nonisolated let claimed = ClaimedIDs()
    /// `SKIncludeConsumableInAppPurchaseHistory`.
    nonisolated let consumableHistory: Bool
    private let wantedAccount: String?
    /// The store's latest status, for those of Apple's calls that do not wait.
    nonisolated let known = LatestUpdate()
    private var verifier: DeviceVerification?

    /// The last change before this process signed in.
    private var start: Int64?
    // The result of the last poll.
    private var position: Int64?
    private var storefront: StorefrontResponse?
    private var subscriptionVersion: String?
    private var deliveredIntents: Set<String> = []
    private var deliveredMessages: Set<String> = []
    /// Promoted purchases that a listener of this process continued.
    var claimedIntents: Set<String> = []

    private var listeners: [Int: AsyncStream<DeviceEvent>.Continuation] = [:]
    private var nextListener = 0
    private var isLooking = false
    /// Purchases without an answer yet; until then, own changes cannot be distinguished from others.
    private var purchasesUnderWay = 0
    private var purchasesMade = 0
    /// The transactions that a call of this process returned, with their position among the changes at that time. Later
    /// changes of them are reported.
    private var own: [String: Int64] = [:]
    private var isBacklogDelivered = false
    /// The last results, used while the network is unavailable.
    private var lists: [TransactionQuery: [TransactionResponse]] = [:]

    init(
        client: EmulatorClient, account: String?, receipt: ReceiptFile, receipts: EmulatedDevice.Receipts,
        consumableHistory: Bool, effects: StoreEffects
    ) {
        self.client = client
        self.effects = effects
        self.receipt = receipt
        self.receipts = receipts
        self.consumableHistory = consumableHistory
        wantedAccount = account
    }

    // MARK: Sign-in

    /// Signs the account in on this device and fetches the root certificate for checking answers. This comes before all
    /// other requests, so that no paid transaction has to wait for it.
    func signedIn() async throws(EmulatorClientError) { _ = try await verification() }

    /// Constant for the life of the process: the store's root and the device's id never change.
    func verification() async throws(EmulatorClientError) -> DeviceVerification {
        if let verifier { return verifier }
        if let wantedAccount { try await client.signIn(wantedAccount) }
        let update = try await client.update(after: nil)
        guard
            let made = DeviceVerification(
                root: try await client.root(), bundleID: client.bundleID, deviceID: update.deviceVerificationId)
        else { throw .unreadable(status: 200) }
        verifier = made
        start = update.position
        learn(update)
        return made
    }

    /// The signed-in account, its storefront, and whether payments are allowed.
    func status() async throws(EmulatorClientError) -> DeviceUpdateResponse {
        try await signedIn()
        let update = try await client.update(after: nil)
        learn(update)
        return update
    }

    /// Records the status that an app can read from now on. Changes are reported relative to it, even before there is a
    /// listener.
    private func learn(_ update: DeviceUpdateResponse) {
        known.learn(update)
        if storefront == nil { storefront = update.storefront }
    }

    // MARK: Purchases

    enum Purchase: Sendable {
        /// Includes a non-consumable that was bought before.
        case purchased(TransactionResponse)
        /// Ask to Buy: the transaction arrives later, as a change.
        case deferred(TransactionResponse?)
        /// Failed for now: the transaction may arrive later, as a change.
        case interrupted(TransactionResponse?)
        /// A change of plan at the next renewal, for the subscription with this original transaction. There is no
        /// transaction now.
        case scheduled(original: String?)
        case cancelled
        case failed
    }

    func purchase(_ question: PurchaseRequestBody) async throws(EmulatorClientError) -> Purchase {
        try await signedIn()
        var question = question
        if question.outcome == nil, let sheet = effects.paymentSheet {
            let account = known.update?.account ?? wantedAccount ?? ""
            question.outcome = await sheet(
                PaymentSheet(account: account, productID: question.productId, quantity: question.quantity)
            ).rawValue
        }
        purchasesUnderWay += 1
        defer {
            purchasesUnderWay -= 1
            purchasesMade += 1
        }
        let (answer, transaction) = try await client.purchase(question)
        switch (answer.outcome, transaction) {
        case ("purchased", let transaction?):
            // An unreadable transaction is not returned to the app; it arrives again as a change.
            guard transaction.signedTransaction.flatMap({ SignedText($0) }) != nil else {
                throw .unreadable(status: 200)
            }
            own[transaction.transactionId] = transaction.position ?? .max
            await refreshReceipt()
            return .purchased(transaction)
        case ("deferred", let transaction): return .deferred(transaction)
        case ("interrupted", let transaction): return .interrupted(transaction)
        case ("scheduled", _): return .scheduled(original: answer.originalTransactionId)
        case ("cancelled", _): return .cancelled
        case ("failed", _): return .failed
        default: throw .unreadable(status: 200)
        }
    }

    /// Finishes a transaction, which is then not delivered again to any device.
    func finish(_ transaction: String) async throws(EmulatorClientError) {
        try await signedIn()
        try await client.finish(transaction)
        for question in lists.keys where question.set == .unfinished {
            lists[question]?.removeAll { $0.transactionId == transaction }
        }
        await refreshReceipt()
    }

    /// If the receipt can't be fetched or written, the file stays old, as on a real device; the app can use
    /// `SKReceiptRefreshRequest`.
    private func refreshReceipt() async {
        if receipts != .requested { try? await replaceReceipt() }
    }

    /// Fetches the receipt and writes it, unless one that was asked for later is written already: an answer that was
    /// under way during a change does not know the change.
    private func replaceReceipt() async throws {
        receiptsAsked += 1
        let turn = receiptsAsked
        let data = try await client.receipt()
        guard turn > receiptWritten else { return }
        receiptWritten = turn
        try receipt.replace(with: data)
    }

    /// How many receipts were asked for, and which of them was written last.
    private var (receiptsAsked, receiptWritten) = (0, 0)

    /// The number of refreshes that the app requested. The session fetches the receipt by itself too.
    private(set) var requestedRefreshes = 0

    /// Fetches the receipt anew because the app requested it.
    func refreshOnRequest() async throws {
        requestedRefreshes += 1
        try await renewReceipt()
    }

    /// The receipt of one payment in the format of iOS 6; nil if the store can't be reached or the device fetches none.
    nonisolated func receipt(of transaction: String) async -> Data? {
        guard receipts == .all else { return nil }
        return try? await client.receipt(of: transaction)
    }

    /// Fetches the receipt again.
    func renewReceipt() async throws {
        try await signedIn()
        try await replaceReceipt()
    }

    // MARK: Cached results

    func remember(_ found: [TransactionResponse], of question: TransactionQuery) { lists[question] = found }

    func remembered(_ question: TransactionQuery) -> [TransactionResponse] { lists[question] ?? [] }

    // MARK: Listeners

    /// Changes from now on, including the launch. Ends when its listener stops.
    func changes() -> AsyncStream<DeviceEvent> {
        let (stream, continuation) = AsyncStream<DeviceEvent>.makeStream()
        let number = nextListener
        nextListener += 1
        listeners[number] = continuation
        let spawn = effects.spawn
        // A listener retains its session; the end of the stream releases it.
        continuation.onTermination = { _ in spawn { await self.leave(number) } }
        if position != nil {
            continuation.yield(.launched)
            // Pending intents and messages that were already reported are delivered to the new listener; the others are
            // reported to all.
            for intent in known.update?.intents ?? [] where deliveredIntents.contains(intent.id) {
                continuation.yield(.intent(intent))
            }
            for message in known.update?.messages ?? [] where deliveredMessages.contains(message.id) {
                continuation.yield(.message(message))
            }
        }
        if !isLooking {
            isLooking = true
            spawn { await self.look() }
        }
        return stream
    }

    private func leave(_ number: Int) { listeners[number] = nil }

    private func look() async {
        while !listeners.isEmpty {
            let isMoreWaiting = await lookOnce()
            if !isMoreWaiting { await effects.pause(effects.pollInterval) }
        }
        isLooking = false
    }

    /// - Returns: whether more changes can be fetched at once.
    private func lookOnce() async -> Bool {
        let made = purchasesMade
        guard purchasesUnderWay == 0 else { return false }
        guard let update = try? await fetchUpdate() else { return false }
        // The result may contain a purchase that was answered in the meantime and is not yet known as our own, so poll
        // again.
        guard purchasesUnderWay == 0, made == purchasesMade else { return false }
        let isLaunch = position == nil
        // What is unfinished now is delivered as the launch. A request that was declined meanwhile is not unfinished.
        let changed = update.changed.filter { !isLaunch || $0.state == .declined }
        // An observer that receives a revocation must find the receipt renewed (facts/storekit-client A1).
        if changed.contains(where: { $0.state == .purchased }) { await refreshReceipt() }
        learn(update)
        position = update.position
        if isLaunch { notify(.launched) }
        for transaction in changed where !isOwn(transaction) { notify(.transaction(transaction)) }
        if storefront != update.storefront { notify(.storefront(update.storefront)) }
        storefront = update.storefront
        if let subscriptionVersion, subscriptionVersion != update.subscriptionVersion { notify(.subscriptions) }
        subscriptionVersion = update.subscriptionVersion
        for intent in update.intents where deliveredIntents.insert(intent.id).inserted { notify(.intent(intent)) }
        for message in update.messages where deliveredMessages.insert(message.id).inserted { notify(.message(message)) }
        return update.hasMore
    }

    private func fetchUpdate() async throws(EmulatorClientError) -> DeviceUpdateResponse {
        try await signedIn()
        return try await client.update(after: position ?? start)
    }

    /// The transactions that were unfinished at launch, returned once, to the first listener. Purchases of this process
    /// are excluded.
    func backlog() async -> [TransactionResponse] {
        while !isBacklogDelivered {
            let made = purchasesMade
            if purchasesUnderWay == 0, let found = try? await client.transactions(.unfinished),
                purchasesUnderWay == 0, made == purchasesMade, !Task.isCancelled
            {
                guard !isBacklogDelivered else { return [] }
                isBacklogDelivered = true
                return found.filter { !isOwn($0) }
            }
            guard !Task.isCancelled else { return [] }
            await effects.pause(effects.pollInterval)
        }
        return []
    }

    /// Whether a call of this process returned this very state of the transaction.
    private func isOwn(_ transaction: TransactionResponse) -> Bool {
        guard let position = own[transaction.transactionId] else { return false }
        return (transaction.position ?? .max) <= position
    }

    private func notify(_ change: DeviceEvent) {
        for listener in listeners.values { listener.yield(change) }
    }
}

/// Intents and messages that one listener of this process has taken, so that no other receives them.
final class ClaimedIDs: Sendable {
    private let claimed = Locked<Set<String>>([])

    /// - Returns: whether it was not taken before.
    func claim(_ id: String) -> Bool { claimed.withLock { $0.insert(id).inserted } }

    /// Makes it available to another listener.
    func release(_ id: String) { claimed.withLock { _ = $0.remove(id) } }
}

/// The store's latest status, for those of Apple's calls that do not wait.
final class LatestUpdate: Sendable {
    private let latest = Locked<DeviceUpdateResponse?>(nil)

    /// Nil until the store was reached.
    var update: DeviceUpdateResponse? { latest.withLock { $0 } }

    func learn(_ update: DeviceUpdateResponse) { latest.withLock { $0 = update } }
}

// StoreKit 2's requests to a session, with their behavior while the network is unavailable.
extension DeviceSession {
    /// Milliseconds before each further attempt.
    private static let pauses: [Int64] = [200, 500, 1_000]

    /// One of StoreKit's sequences. If the network stays unavailable, returns the last result, as a device returns its
    /// cache.
    func transactions(_ set: EmulatorClient.TransactionSet, product: String? = nil) async -> [TransactionResponse] {
        let question = TransactionQuery(set: set, product: product)
        for pause in Self.pauses + [0] {
            do throws(EmulatorClientError) {
                try await signedIn()
                let found = try await client.transactions(set, product: product, consumables: consumableHistory)
                remember(found, of: question)
                return found
            } catch {
                guard error.networkError != nil, !Task.isCancelled else { break }
                if pause > 0 { await effects.pause(pause) }
            }
        }
        return remembered(question)
    }

    /// Finishes a transaction, with several attempts while the network is unavailable.
    func finishWithRetries(_ transaction: String) async {
        for pause in Self.pauses + [0] {
            do throws(EmulatorClientError) { return try await finish(transaction) } catch {
                guard error.networkError != nil else { return }
                if pause > 0 { await effects.pause(pause) }
            }
        }
    }

    func products(_ ids: [String]) async throws(EmulatorClientError) -> ProductsResponse {
        try await signedIn()
        return try await client.products(ids)
    }

    /// - Throws: `unreadable` if there is no readable signed transaction.
    func verified(_ response: TransactionResponse) async throws(EmulatorClientError) -> VerificationResult<Transaction>
    {
        guard let text = response.signedTransaction else { throw .unreadable(status: 200) }
        return try await verify(text, as: Transaction.self)
    }

    /// The current period of a subscription.
    func current(of original: String?) async throws(EmulatorClientError) -> TransactionResponse? {
        try await client.transactions(.currentEntitlements).last { $0.originalTransactionId == original }
    }
}

/// The key of a cached result.
struct TransactionQuery: Hashable, Sendable {
    let set: EmulatorClient.TransactionSet
    let product: String?
}
