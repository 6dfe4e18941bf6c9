import Foundation
import Testing
import TillThreads

@testable import StoreKit

/// An observer that records its callbacks, one line each.
final class OriginalListener: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    // Everything that changes is behind the locks of `Locked`.
    private let received = Locked<[String]>([])
    private let reported = Locked<[SKPaymentTransaction]>([])
    private let errors = Locked<[any Error]>([])
    /// Its answer to promoted payments.
    let promoted = Locked<Bool>(false)
    private let offered = Locked<[SKPayment]>([])
    /// Called during a callback.
    let onUpdate = Locked<(@Sendable (SKPaymentQueue, [SKPaymentTransaction]) -> Void)?>(nil)

    var lines: [String] { received.withLock { $0 } }
    /// The transactions of all callbacks, in order.
    var transactions: [SKPaymentTransaction] { reported.withLock { $0 } }
    var restoreErrors: [any Error] { errors.withLock { $0 } }
    var offers: [SKPayment] { offered.withLock { $0 } }

    func last(_ state: SKPaymentTransactionState) -> SKPaymentTransaction? {
        transactions.last { $0.transactionState == state }
    }

    private func note(_ client: String) { received.withLock { $0.append(client) } }

    static func text(_ transactions: [SKPaymentTransaction]) -> String {
        transactions.map { transaction in
            let product = transaction.payment.productIdentifier.split(separator: ".").last.map(String.init) ?? "?"
            let error = (transaction.error as NSError?).map { " \($0.code)" } ?? ""
            return "\(product) \(transaction.transactionState)\(error)"
        }.joined(separator: ", ")
    }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        let isInQueue = transactions.allSatisfy { one in queue.transactions.contains { $0 === one } }
        note(Self.text(transactions) + (isInQueue ? "" : " (not in the queue)"))
        reported.withLock { $0 += transactions }
        onUpdate.withLock { $0 }?(queue, transactions)
    }

    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        let isInQueue = transactions.contains { one in queue.transactions.contains { $0 === one } }
        note("removed " + Self.text(transactions) + (isInQueue ? " (still in the queue)" : ""))
    }

    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
        errors.withLock { $0.append(error) }
        note("restore failed")
    }

    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) { note("restore finished") }

    func paymentQueue(
        _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
    ) -> Bool {
        offered.withLock { $0.append(payment) }
        note("offered \(product.productIdentifier.split(separator: ".").last ?? "?")")
        return promoted.withLock { $0 }
    }

    func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) {
        note("storefront \(queue.storefront?.countryCode ?? "?")")
    }

    func paymentQueue(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
    ) {
        note("revoked " + productIdentifiers.compactMap { $0.split(separator: ".").last }.joined(separator: ", "))
    }
}

/// A delegate with configurable answers.
final class OriginalDelegate: NSObject, SKPaymentQueueDelegate, @unchecked Sendable {
    // Everything that changes is behind the locks of `Locked`.
    let goesOn = Locked(true)
    let showsConsent = Locked(true)
    let delay = Locked<TimeInterval>(0)
    private let received = Locked<[String]>([])
    var lines: [String] { received.withLock { $0 } }

    func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction, in newStorefront: SKStorefront
    ) -> Bool {
        received.withLock { $0.append("\(transaction.payment.quantity) in \(newStorefront.countryCode)") }
        Thread.sleep(forTimeInterval: delay.withLock { $0 })
        return goesOn.withLock { $0 }
    }

    func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool {
        received.withLock { $0.append("consent") }
        return showsConsent.withLock { $0 }
    }
}

/// A delegate and an observer without the optional methods.
final class SilentListener: NSObject, SKPaymentTransactionObserver, SKPaymentQueueDelegate, @unchecked Sendable {
    // Everything that changes is behind the lock of `Locked`.
    private let received = Locked<[String]>([])
    var lines: [String] { received.withLock { $0 } }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        received.withLock { $0.append(OriginalListener.text(transactions)) }
    }
}

extension EmulatedDevice {
    /// Attaches the observer as an app does at its start.
    func observed() -> OriginalListener {
        let listener = OriginalListener()
        paymentQueue.add(listener)
        return listener
    }

    func pay(_ product: String, _ change: (SKMutablePayment) -> Void = { _ in }) {
        let payment = SKMutablePayment()
        payment.productIdentifier = "\(StoreKitWorld.bundleID).\(product)"
        change(payment)
        paymentQueue.add(payment)
    }
}

extension OriginalListener {
    func receives(_ expected: [String], sourceLocation: SourceLocation = #_sourceLocation) async {
        for _ in 0..<1_000 where lines.count < expected.count { try? await Task.sleep(for: .milliseconds(5)) }
        // A surplus line is wrong as well, and takes a moment: a few reads of the store.
        try? await Task.sleep(for: .milliseconds(60))
        #expect(lines == expected, sourceLocation: sourceLocation)
    }
}
