import Foundation
import TillThreads

#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum SKPaymentTransactionState: Int, Hashable, Sendable {
    case purchasing = 0
    case purchased = 1
    case failed = 2
    case restored = 3
    case deferred = 4
}

/// A payment in the queue, represented by the same object while the app runs. It changes only together with a call of
/// the observers.
open class SKPaymentTransaction: NSObject, @unchecked Sendable {
    struct Content {
        /// Never changed: a change of the payment is another object.
        var payment: SKPayment
        var state = SKPaymentTransactionState.purchasing
        var error: (any Error)?
        var identifier: String?
        var date: Date?
        var original: SKPaymentTransaction?
        var receipt: Data?
        /// The store's id, which it has before it is paid.
        var number: String?
    }

    // Protected by its own lock: the queue changes it while the app reads it.
    let content: Locked<Content>

    init(_ content: Content) { self.content = Locked(content) }

    public override init() { content = Locked(Content(payment: SKPayment())) }

    open var transactionState: SKPaymentTransactionState { content.withLock { $0.state } }
    open var payment: SKPayment { content.withLock { $0.payment } }
    /// Set for failed transactions only.
    open var error: (any Error)? { content.withLock { $0.error } }
    /// Set for purchased and restored transactions only.
    open var transactionIdentifier: String? { content.withLock { $0.identifier } }
    /// Set for purchased and restored transactions only.
    open var transactionDate: Date? { content.withLock { $0.date } }
    /// The original purchase; set for restored transactions only.
    open var original: SKPaymentTransaction? { content.withLock { $0.original } }
    /// The receipt of this transaction alone, in the format of iOS 6; set for purchased transactions only.
    open var transactionReceipt: Data? { content.withLock { $0.receipt } }
    open var downloads: [SKDownload] { [] }
}

extension SKPaymentTransaction {
    /// A paid transaction without a payment of this process.
    convenience init(_ response: TransactionResponse, receipt: Data?) {
        self.init(Content(payment: SKPayment(SKPayment.Content(productIdentifier: response.productId))))
        pay(response, receipt: receipt)
    }

    /// Records that the transaction is paid.
    func pay(_ response: TransactionResponse, receipt: Data?) {
        content.withLock { content in
            content.state = .purchased
            content.error = nil
            content.number = response.transactionId
            content.identifier = response.transactionId
            content.date = response.purchased
            content.receipt = receipt
            content.payment = SKPayment(content.payment.completed(by: response))
        }
    }

    func fail(_ error: any Error) {
        content.withLock { content in
            content.state = .failed
            content.error = error
        }
    }

    /// Records that the transaction waits for another person's decision.
    func wait(number: String?) {
        content.withLock { content in
            content.state = .deferred
            content.number = number
        }
    }

    var number: String? { content.withLock { $0.number } }
}

extension SKPayment {
    /// The payment as the store recorded it: a merged request has the earlier one's quantity, and a user name that the
    /// store lost is removed (facts/storekit-client A3, A8).
    fileprivate func completed(by response: TransactionResponse) -> Content {
        var completed = asked
        completed.quantity = response.quantity
        let sent = completed.applicationUsername.flatMap { UUID(uuidString: $0) }
        // The app's own spelling, and a name that was never sent, last as long as the process.
        if sent != response.appAccountToken {
            completed.applicationUsername = response.appAccountToken?.uuidString.lowercased()
        }
        return completed
    }
}

@frozen public enum SKDownloadState: Int, Hashable, Sendable {
    case waiting = 0
    case active = 1
    case paused = 2
    case finished = 3
    case failed = 4
    case cancelled = 5
}

public let SKDownloadTimeRemainingUnknown: TimeInterval = -1

/// Apple-hosted content of a product, deprecated since iOS 16. The emulated store hosts none, so transactions have no
/// downloads.
open class SKDownload: NSObject {
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
