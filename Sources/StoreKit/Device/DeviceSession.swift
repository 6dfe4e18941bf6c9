import Foundation
import TillThreads

/// What happened that this process's app did not do itself.
enum StoreChange: Sendable {
    /// The store was reached for the first time since the launch: everything unfinished may be asked for now, and what
    /// comes later is told.
    case launched
    /// A transaction came, or changed: paid elsewhere, approved, declined, renewed, refunded.
    case transaction(TransactionWords)
    /// The state of some subscription differs.
    case subscriptions
    case storefront(StorefrontWords)
    /// A promoted product was tapped in the App Store.
    case intent(IntentWords)
    case message(MessageWords)
}

/// One run of the app: signs the device in, buys, and tells listeners what happens elsewhere.
///
/// The store is looked at only while somebody listens, as Apple's queue does nothing without an observer.
actor DeviceSession {
    nonisolated let line: StoreLine
    nonisolated let effects: StoreEffects
    nonisolated let receipt: ReceiptFile
    nonisolated let claims = Claims()
    /// `SKIncludeConsumableInAppPurchaseHistory`.
    nonisolated let consumableHistory: Bool
    private let wantedAccount: String?
    /// What the store said last, for those of Apple's calls that do not wait.
    nonisolated let known = KnownNews()
    private var verifier: DeviceVerification?

    // What the last look at the store showed.
    private var position: Int64?
    private var storefront: StorefrontWords?
    private var subscriptionVersion: String?
    private var toldIntents: Set<String> = []
    private var toldMessages: Set<String> = []
    /// Promoted purchases that some listener of this process went on with.
    var claimedIntents: Set<String> = []

    private var listeners: [Int: AsyncStream<StoreChange>.Continuation] = [:]
    private var nextListener = 0
    private var isLooking = false
    /// Purchases whose answer is under way: until it is here nobody can tell own changes from others'.
    private var purchasesUnderWay = 0
    private var purchasesMade = 0
    /// What a call of this process has brought home itself, and where it stood among the changes then: whatever comes
    /// of it later is news.
    private var own: [String: Int64] = [:]
    private var isBacklogTold = false
    /// What was answered last, for when the network is away.
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

    // MARK: Signing in

    /// Before anything else is asked: the account is signed in on this device, and whatever its answers are checked
    /// with is at hand, so that nothing that is paid for waits for it.
    func signedIn() async throws(StoreFault) { _ = try await verification() }

    /// The same as long as the process lives: neither the store's root nor the device's own number ever changes.
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

    /// Who is signed in, where, and whether payments are allowed.
    func status() async throws(StoreFault) -> NewsWords {
        try await signedIn()
        let news = try await line.news(after: nil)
        learn(news)
        return news
    }

    /// What an app can have read from here on is what a change is told against, also before anybody listens.
    private func learn(_ news: NewsWords) {
        known.learn(news)
        if storefront == nil { storefront = news.storefront }
    }

    // MARK: Buying

    enum Purchase: Sendable {
        /// Also a non-consumable that was bought before.
        case purchased(TransactionWords)
        /// Ask to Buy: it comes later, as a change.
        case deferred(TransactionWords?)
        /// Failed for now: it may come later, as a change.
        case interrupted(TransactionWords?)
        /// A change of plan at the next renewal, of the subscription that began with this: no transaction now.
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
            // One that nobody can read is no answer to the app: it comes again, as a change.
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

    /// After this the transaction is never delivered again, to any device.
    func finish(_ transaction: String) async throws(StoreFault) {
        try await signedIn()
        try await line.finish(transaction)
        for question in lists.keys where question.set == .unfinished {
            lists[question]?.removeAll { $0.transactionId == transaction }
        }
        await refreshReceipt()
    }

    /// The file lags behind where it can't be fetched or written, as on a real device; `SKReceiptRefreshRequest` is
    /// there for that.
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

    /// Fetches the receipt anew.
    func renewReceipt() async throws {
        try await signedIn()
        try receipt.replace(with: try await line.receipt())
    }

    // MARK: Remembering

    func remember(_ found: [TransactionWords], of question: TransactionQuestion) { lists[question] = found }

    func remembered(_ question: TransactionQuestion) -> [TransactionWords] { lists[question] ?? [] }

    // MARK: Listening

    /// Changes from now on, the launch among them. Ends when its listener stops.
    func changes() -> AsyncStream<StoreChange> {
        let (stream, continuation) = AsyncStream<StoreChange>.makeStream()
        let number = nextListener
        nextListener += 1
        listeners[number] = continuation
        let spawn = effects.spawn
        // A listener keeps its session; the stream's end lets go of it.
        continuation.onTermination = { _ in spawn { await self.leave(number) } }
        if position != nil {
            continuation.yield(.launched)
            // What is still to be taken or shown is for whoever comes; what was not told yet, everybody is told.
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

    /// - Returns: whether there is more to be fetched at once.
    private func lookOnce() async -> Bool {
        let made = purchasesMade
        guard purchasesUnderWay == 0 else { return false }
        guard let news = try? await fetchNews() else { return false }
        // A purchase that was answered meanwhile may be in here and not yet be known as our own: look again.
        guard purchasesUnderWay == 0, made == purchasesMade else { return false }
        // An observer that hears of a revocation finds the receipt renewed (facts/storekit-client A1).
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

    /// What was left unfinished when the app was launched, once in its life: for the first who listens. What was bought
    /// here meanwhile is known here.
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

    /// Whether a call of this process brought exactly this home.
    private func isOwn(_ transaction: TransactionWords) -> Bool {
        guard let position = own[transaction.transactionId] else { return false }
        return (transaction.position ?? .max) <= position
    }

    private func tell(_ change: StoreChange) {
        for listener in listeners.values { listener.yield(change) }
    }
}

/// What some listener of this process has taken for itself, and no other one is to be told.
final class Claims: Sendable {
    private let taken = Locked<Set<String>>([])

    /// - Returns: whether nobody had it.
    func claim(_ id: String) -> Bool { taken.withLock { $0.insert(id).inserted } }

    /// Somebody else may have it.
    func release(_ id: String) { taken.withLock { _ = $0.remove(id) } }
}

/// What the store said last, for those of Apple's calls that do not wait.
final class KnownNews: Sendable {
    private let kept = Locked<NewsWords?>(nil)

    /// Nil before the store was reached.
    var news: NewsWords? { kept.withLock { $0 } }

    func learn(_ news: NewsWords) { kept.withLock { $0 = news } }
}

// What StoreKit 2 asks a session for, and what it does where the network is away for a while.
extension DeviceSession {
    /// Milliseconds to wait before each further try.
    private static let pauses: [Int64] = [200, 500, 1_000]

    /// One of StoreKit's sequences. Where the network stays away, as it was when it was last read, as on a device that
    /// keeps what it knows.
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

    /// Finishes, and tries again for a while where the network is away.
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

    /// - Throws: `unreadable` if there is nothing signed that can be read.
    func verified(_ words: TransactionWords) async throws(StoreFault) -> VerificationResult<Transaction> {
        guard let text = words.signedTransaction else { throw .unreadable(status: 200) }
        return try await verify(text, as: Transaction.self)
    }

    /// The period of a subscription that runs now.
    func current(of original: String?) async throws(StoreFault) -> TransactionWords? {
        try await line.transactions(.currentEntitlements).last { $0.originalTransactionId == original }
    }
}

/// What was asked for, as a key of what was answered.
struct TransactionQuestion: Hashable, Sendable {
    let set: StoreLine.TransactionSet
    let product: String?
}
