import Foundation
import TillThreads

public enum SKPaymentTransactionState: Int, Hashable, Sendable {
    case purchasing = 0
    case purchased = 1
    case failed = 2
    case restored = 3
    case deferred = 4
}

/// One payment on its way, the same object as long as the app runs. It changes only in the moment in which observers
/// are told of the change.
open class SKPaymentTransaction: NSObject, @unchecked Sendable {
    struct Content: Sendable {
        var payment: SKPayment
        var state = SKPaymentTransactionState.purchasing
        var error: (any Error)?
        var identifier: String?
        var date: Date?
        var original: SKPaymentTransaction?
        var receipt: Data?
        /// The store's number of it, which it has before it is paid.
        var number: String?
    }

    // Behind a lock of its own: the queue changes it, whoever holds it reads it.
    let content: Locked<Content>

    init(_ content: Content) { self.content = Locked(content) }

    public override init() { content = Locked(Content(payment: SKPayment())) }

    open var transactionState: SKPaymentTransactionState { content.withLock { $0.state } }
    open var payment: SKPayment { content.withLock { $0.payment } }
    /// Only of failed ones.
    open var error: (any Error)? { content.withLock { $0.error } }
    /// Only of purchased and restored ones.
    open var transactionIdentifier: String? { content.withLock { $0.identifier } }
    /// Only of purchased and restored ones.
    open var transactionDate: Date? { content.withLock { $0.date } }
    /// Only of restored ones: what was bought.
    open var original: SKPaymentTransaction? { content.withLock { $0.original } }
    /// Only of purchased ones: this transaction alone, in the style of iOS 6.
    open var transactionReceipt: Data? { content.withLock { $0.receipt } }
    open var downloads: [SKDownload] { [] }
}

extension SKPaymentTransaction {
    /// A paid transaction that no payment of this process stands for.
    convenience init(_ words: TransactionWords, receipt: Data?) {
        self.init(Content(payment: SKPayment(SKPayment.Content(productIdentifier: words.productId))))
        pay(words, receipt: receipt)
    }

    /// It is paid.
    func pay(_ words: TransactionWords, receipt: Data?) {
        content.withLock { content in
            content.state = .purchased
            content.error = nil
            content.number = words.transactionId
            content.identifier = words.transactionId
            content.date = words.purchased
            content.receipt = receipt
            content.payment = SKPayment(content.payment.settled(by: words))
        }
    }

    func fail(_ error: any Error) {
        content.withLock { content in
            content.state = .failed
            content.error = error
        }
    }

    /// Somebody else decides, later.
    func wait(number: String?) {
        content.withLock { content in
            content.state = .deferred
            content.number = number
        }
    }

    var number: String? { content.withLock { $0.number } }
}

extension SKPayment {
    /// What the store made of it: a request that was merged into an earlier one has that one's quantity, and a name of
    /// the user that the store lost is gone (facts/storekit-client A3, A8).
    fileprivate func settled(by words: TransactionWords) -> Content {
        var settled = asked
        settled.quantity = words.quantity
        let sent = settled.applicationUsername.flatMap { UUID(uuidString: $0) }
        // The app's own spelling, and what was never sent, live as long as the process.
        if sent != words.appAccountToken {
            settled.applicationUsername = words.appAccountToken?.uuidString.lowercased()
        }
        return settled
    }
}

public enum SKDownloadState: Int, Hashable, Sendable {
    case waiting = 0
    case active = 1
    case paused = 2
    case finished = 3
    case failed = 4
    case cancelled = 5
}

public let SKDownloadTimeRemainingUnknown: TimeInterval = -1

/// Content that Apple hosts for a product, which Apple deprecated with iOS 16. The emulated store hosts none, so no
/// transaction has any.
open class SKDownload: NSObject, @unchecked Sendable {
    // Nothing is stored in it, so there is nothing to guard.
    open var state: SKDownloadState { .waiting }
    open var contentIdentifier: String { "" }
    open var contentLength: Int64 { 0 }
    open var expectedContentLength: Int64 { 0 }
    open var contentVersion: String { "" }
    open var contentURL: URL? { nil }
    open var error: (any Error)? { nil }
    open var progress: Float { 0 }
    open var timeRemaining: TimeInterval { SKDownloadTimeRemainingUnknown }
    open var transaction: SKPaymentTransaction { SKPaymentTransaction() }

    open class func contentURL(forProductID productID: String) -> URL? { nil }
    open class func deleteContent(forProductID productID: String) {}
}
