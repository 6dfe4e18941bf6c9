import Foundation

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
    /// `lastNews`, for what has to answer at once.
    nonisolated let latest = Kept<NewsWords?>(nil)
    private let wantedAccount: String?
    private var isSignedIn = false
    private var rootCertificate: [UInt8]?

    // What the last look at the store showed.
    private var position: Int64?
    private var storefront: StorefrontWords?
    private var subscriptionVersion: String?
    private var toldIntents: Set<String> = []
    private var toldMessages: Set<String> = []
    private(set) var lastNews: NewsWords? { didSet { latest.with { $0 = lastNews } } }

    private var listeners: [Int: AsyncStream<StoreChange>.Continuation] = [:]
    private var nextListener = 0
    private var isLooking = false
    /// Purchases whose answer is under way: until it is here nobody can tell own changes from others'.
    private var purchasesUnderWay = 0
    private var purchasesMade = 0
    /// Transactions that a call of this process has brought home itself.
    private var own: Set<String> = []

    init(line: StoreLine, account: String?, receipt: ReceiptFile, effects: StoreEffects) {
        self.line = line
        self.effects = effects
        self.receipt = receipt
        wantedAccount = account
    }

    // MARK: Signing in

    /// Before anything else is asked: the account is signed in on this device.
    func signedIn() async throws(StoreFault) {
        guard !isSignedIn else { return }
        if let wantedAccount { try await line.signIn(wantedAccount) }
        isSignedIn = true
    }

    /// Who is signed in, where, and whether payments are allowed.
    func status() async throws(StoreFault) -> NewsWords {
        try await signedIn()
        let news = try await line.news(after: nil)
        lastNews = news
        return news
    }

    /// DER; the same as long as the process lives.
    func root() async throws(StoreFault) -> [UInt8] {
        if let rootCertificate { return rootCertificate }
        let root = try await line.root()
        rootCertificate = root
        return root
    }

    // MARK: Buying

    enum Purchase: Sendable {
        /// Also a non-consumable that was bought before.
        case purchased(TransactionWords)
        /// Ask to Buy: it comes later, as a change.
        case deferred(TransactionWords?)
        /// Failed for now: it may come later, as a change.
        case interrupted(TransactionWords?)
        /// A change of plan at the next renewal: no transaction now.
        case scheduled
        case cancelled
        case failed
    }

    func purchase(_ question: PurchaseQuestion) async throws(StoreFault) -> Purchase {
        try await signedIn()
        var question = question
        if question.outcome == nil, let sheet = effects.paymentSheet {
            let account = lastNews?.account ?? wantedAccount ?? ""
            question.outcome = await sheet(
                PaymentSheet(account: account, productID: question.productId, quantity: question.quantity)
            ).rawValue
        }
        purchasesUnderWay += 1
        defer {
            purchasesUnderWay -= 1
            purchasesMade += 1
        }
        let (outcome, transaction) = try await line.purchase(question)
        switch (outcome, transaction) {
        case ("purchased", let transaction?):
            own.insert(transaction.transactionId)
            await refreshReceipt()
            return .purchased(transaction)
        case ("deferred", let transaction): return .deferred(transaction)
        case ("interrupted", let transaction): return .interrupted(transaction)
        case ("scheduled", _): return .scheduled
        case ("cancelled", _): return .cancelled
        case ("failed", _): return .failed
        default: throw .unreadable(status: 200)
        }
    }

    /// After this the transaction is never delivered again, to any device.
    func finish(_ transaction: String) async throws(StoreFault) {
        try await line.finish(transaction)
        await refreshReceipt()
    }

    /// The file lags behind where it can't be fetched or written, as on a real device; `SKReceiptRefreshRequest` is
    /// there for that.
    private func refreshReceipt() async {
        guard let data = try? await line.receipt() else { return }
        try? receipt.replace(with: data)
    }

    /// Fetches the receipt anew.
    func renewReceipt() async throws {
        try await signedIn()
        try receipt.replace(with: try await line.receipt())
    }

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
            // What is still to be taken or shown is for whoever comes.
            for intent in lastNews?.intents ?? [] { continuation.yield(.intent(intent)) }
            for message in lastNews?.messages ?? [] { continuation.yield(.message(message)) }
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
        // Before anybody is told: an app looks for what it hears of in the receipt (facts/storekit-client A1).
        if news.changed.contains(where: { $0.revocationDate != nil || $0.state == .purchased }) {
            await refreshReceipt()
        }
        let isLaunch = position == nil
        lastNews = news
        position = news.position
        if isLaunch { tell(.launched) }
        for transaction in news.changed where !isOwn(transaction) { tell(.transaction(transaction)) }
        if let storefront, storefront != news.storefront { tell(.storefront(news.storefront)) }
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

    /// Whether a call of this process brought exactly this home. A refund of it later is news.
    private func isOwn(_ transaction: TransactionWords) -> Bool {
        transaction.revocationDate == nil && own.contains(transaction.transactionId)
    }

    private func tell(_ change: StoreChange) {
        for listener in listeners.values { listener.yield(change) }
    }
}
