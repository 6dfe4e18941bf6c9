import Foundation
import TillThreads

/// A change that this process's app did not cause itself.
enum StoreChange: Sendable {
    /// The store was reached for the first time since launch: everything unfinished can be requested now, and later
    /// changes are reported.
    case launched
    /// A transaction arrived or changed: paid elsewhere, approved, declined, renewed, refunded.
    case transaction(TransactionWords)
    /// The state of a subscription changed.
    case subscriptions
    case storefront(StorefrontWords)
    /// A promoted product was tapped in the App Store.
    case intent(IntentWords)
    case message(MessageWords)
}

/// One run of the app: signs the device in, makes purchases, and reports changes that happen elsewhere.
///
/// The store is polled only while there is a listener, as Apple's queue does nothing without an observer.
actor DeviceSession {
    nonisolated let line: StoreLine
    nonisolated let effects: StoreEffects
    nonisolated let receipt: ReceiptFile
    nonisolated let claims = Claims()
    /// `SKIncludeConsumableInAppPurchaseHistory`.
    nonisolated let consumableHistory: Bool
    private let wantedAccount: String?
    /// The store's latest status, for those of Apple's calls that do not wait.
    nonisolated let known = KnownNews()
    private var verifier: DeviceVerification?

    // The result of the last poll.
    private var position: Int64?
    private var storefront: StorefrontWords?
    private var subscriptionVersion: String?
    private var toldIntents: Set<String> = []
    private var toldMessages: Set<String> = []
    /// Promoted purchases that a listener of this process continued.
    var claimedIntents: Set<String> = []

    private var listeners: [Int: AsyncStream<StoreChange>.Continuation] = [:]
    private var nextListener = 0
    private var isLooking = false
    /// Purchases without an answer yet; until then, own changes cannot be distinguished from others.
    private var purchasesUnderWay = 0
    private var purchasesMade = 0
    /// The transactions that a call of this process returned, with their position among the changes at that time. Later
    /// changes of them are reported.
    private var own: [String: Int64] = [:]
    private var isBacklogTold = false
    /// The last results, used while the network is unavailable.
    private var lists: [TransactionQuestion: [TransactionWords]] = [:]

    init(
        line: StoreLine, account: String?, receipt: ReceiptFile, consumableHistory: Bool, effects: StoreEffects
    ) {
        self.line = line
        self.effects = effects
        self.receipt = receipt
        self.consumableHistory = consumableHistory
        wantedAccount = account
    }

    // MARK: Sign-in

    /// Signs the account in on this device and fetches the root certificate for checking answers. This comes before all
    /// other requests, so that no paid transaction has to wait for it.
    func signedIn() async throws(StoreFault) { _ = try await verification() }

    /// Constant for the life of the process: the store's root and the device's id never change.
    func verification() async throws(StoreFault) -> DeviceVerification {
        if let verifier { return verifier }
        if let wantedAccount { try await line.signIn(wantedAccount) }
        let news = try await line.news(after: nil)
        guard
            let made = DeviceVerification(
                root: try await line.root(), bundleID: line.bundleID, deviceID: news.deviceVerificationId)
        else { throw .unreadable(status: 200) }
        verifier = made
        learn(news)
        return made
    }

    /// The signed-in account, its storefront, and whether payments are allowed.
    func status() async throws(StoreFault) -> NewsWords {
        try await signedIn()
        let news = try await line.news(after: nil)
        learn(news)
        return news
    }

    /// Records the status that an app can read from now on. Changes are reported relative to it, even before there is a
    /// listener.
    private func learn(_ news: NewsWords) {
        known.learn(news)
        if storefront == nil { storefront = news.storefront }
    }

    // MARK: Purchases

    enum Purchase: Sendable {
        /// Includes a non-consumable that was bought before.
        case purchased(TransactionWords)
        /// Ask to Buy: the transaction arrives later, as a change.
        case deferred(TransactionWords?)
        /// Failed for now: the transaction may arrive later, as a change.
        case interrupted(TransactionWords?)
        /// A change of plan at the next renewal, for the subscription with this original transaction. There is no
        /// transaction now.
        case scheduled(original: String?)
        case cancelled
        case failed
    }

    func purchase(_ question: PurchaseQuestion) async throws(StoreFault) -> Purchase {
        try await signedIn()
        var question = question
        if question.outcome == nil, let sheet = effects.paymentSheet {
            let account = known.news?.account ?? wantedAccount ?? ""
            question.outcome = await sheet(
                PaymentSheet(account: account, productID: question.productId, quantity: question.quantity)
            ).rawValue
        }
        purchasesUnderWay += 1
        defer {
            purchasesUnderWay -= 1
            purchasesMade += 1
        }
        let (answer, transaction) = try await line.purchase(question)
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
    func finish(_ transaction: String) async throws(StoreFault) {
        try await signedIn()
        try await line.finish(transaction)
        for question in lists.keys where question.set == .unfinished {
            lists[question]?.removeAll { $0.transactionId == transaction }
        }
        await refreshReceipt()
    }

    /// If the receipt can't be fetched or written, the file stays old, as on a real device; the app can use
    /// `SKReceiptRefreshRequest`.
    private func refreshReceipt() async {
        guard let data = try? await line.receipt() else { return }
        try? receipt.replace(with: data)
    }

    /// The number of refreshes that the app requested. The session fetches the receipt by itself too.
    private(set) var requestedRefreshes = 0

    /// Fetches the receipt anew because the app requested it.
    func refreshOnRequest() async throws {
        requestedRefreshes += 1
        try await renewReceipt()
    }

    /// Fetches the receipt again.
    func renewReceipt() async throws {
        try await signedIn()
        try receipt.replace(with: try await line.receipt())
    }

    // MARK: Cached results

    func remember(_ found: [TransactionWords], of question: TransactionQuestion) { lists[question] = found }

    func remembered(_ question: TransactionQuestion) -> [TransactionWords] { lists[question] ?? [] }

    // MARK: Listeners

    /// Changes from now on, including the launch. Ends when its listener stops.
    func changes() -> AsyncStream<StoreChange> {
        let (stream, continuation) = AsyncStream<StoreChange>.makeStream()
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
            for intent in known.news?.intents ?? [] where toldIntents.contains(intent.id) {
                continuation.yield(.intent(intent))
            }
            for message in known.news?.messages ?? [] where toldMessages.contains(message.id) {
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
        guard let news = try? await fetchNews() else { return false }
        // The result may contain a purchase that was answered in the meantime and is not yet known as our own, so poll
        // again.
        guard purchasesUnderWay == 0, made == purchasesMade else { return false }
        // An observer that receives a revocation must find the receipt renewed (facts/storekit-client A1).
        if news.changed.contains(where: { $0.state == .purchased }) { await refreshReceipt() }
        let isLaunch = position == nil
        learn(news)
        position = news.position
        if isLaunch { tell(.launched) }
        for transaction in news.changed where !isOwn(transaction) { tell(.transaction(transaction)) }
        if storefront != news.storefront { tell(.storefront(news.storefront)) }
        storefront = news.storefront
        if let subscriptionVersion, subscriptionVersion != news.subscriptionVersion { tell(.subscriptions) }
        subscriptionVersion = news.subscriptionVersion
        for intent in news.intents where toldIntents.insert(intent.id).inserted { tell(.intent(intent)) }
        for message in news.messages where toldMessages.insert(message.id).inserted { tell(.message(message)) }
        return news.hasMore
    }

    private func fetchNews() async throws(StoreFault) -> NewsWords {
        try await signedIn()
        return try await line.news(after: position)
    }

    /// The transactions that were unfinished at launch, returned once, to the first listener. Purchases of this process
    /// are excluded.
    func backlog() async -> [TransactionWords] {
        while !isBacklogTold {
            let made = purchasesMade
            if purchasesUnderWay == 0, let found = try? await line.transactions(.unfinished),
                purchasesUnderWay == 0, made == purchasesMade, !Task.isCancelled
            {
                guard !isBacklogTold else { return [] }
                isBacklogTold = true
                return found.filter { !isOwn($0) }
            }
            guard !Task.isCancelled else { return [] }
            await effects.pause(effects.pollInterval)
        }
        return []
    }

    /// Whether a call of this process returned this very state of the transaction.
    private func isOwn(_ transaction: TransactionWords) -> Bool {
        guard let position = own[transaction.transactionId] else { return false }
        return (transaction.position ?? .max) <= position
    }

    private func tell(_ change: StoreChange) {
        for listener in listeners.values { listener.yield(change) }
    }
}

/// Intents and messages that one listener of this process has taken, so that no other receives them.
final class Claims: Sendable {
    private let taken = Locked<Set<String>>([])

    /// - Returns: whether it was not taken before.
    func claim(_ id: String) -> Bool { taken.withLock { $0.insert(id).inserted } }

    /// Makes it available to another listener.
    func release(_ id: String) { taken.withLock { _ = $0.remove(id) } }
}

/// The store's latest status, for those of Apple's calls that do not wait.
final class KnownNews: Sendable {
    private let kept = Locked<NewsWords?>(nil)

    /// Nil until the store was reached.
    var news: NewsWords? { kept.withLock { $0 } }

    func learn(_ news: NewsWords) { kept.withLock { $0 = news } }
}

// StoreKit 2's requests to a session, with their behavior while the network is unavailable.
extension DeviceSession {
    /// Milliseconds before each further attempt.
    private static let pauses: [Int64] = [200, 500, 1_000]

    /// One of StoreKit's sequences. If the network stays unavailable, returns the last result, as a device returns its
    /// cache.
    func transactions(_ set: StoreLine.TransactionSet, product: String? = nil) async -> [TransactionWords] {
        let question = TransactionQuestion(set: set, product: product)
        for pause in Self.pauses + [0] {
            do throws(StoreFault) {
                try await signedIn()
                let found = try await line.transactions(set, product: product, consumables: consumableHistory)
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
    func finishPatiently(_ transaction: String) async {
        for pause in Self.pauses + [0] {
            do throws(StoreFault) { return try await finish(transaction) } catch {
                guard error.networkError != nil else { return }
                if pause > 0 { await effects.pause(pause) }
            }
        }
    }

    func products(_ ids: [String]) async throws(StoreFault) -> ProductsWords {
        try await signedIn()
        return try await line.products(ids)
    }

    /// - Throws: `unreadable` if there is no readable signed transaction.
    func verified(_ words: TransactionWords) async throws(StoreFault) -> VerificationResult<Transaction> {
        guard let text = words.signedTransaction else { throw .unreadable(status: 200) }
        return try await verify(text, as: Transaction.self)
    }

    /// The current period of a subscription.
    func current(of original: String?) async throws(StoreFault) -> TransactionWords? {
        try await line.transactions(.currentEntitlements).last { $0.originalTransactionId == original }
    }
}

/// The key of a cached result.
struct TransactionQuestion: Hashable, Sendable {
    let set: StoreLine.TransactionSet
    let product: String?
}
