import Foundation

extension SKPaymentQueue {
    func restore() { desk.add { await self.restoreNow() } }

    private func restoreNow() async {
        do throws(StoreFault) {
            try await session.signedIn()
            let restored = try await session.line.restore()
            try? await session.renewReceipt()
            announce { state in
                let transactions = restored.map { SKPaymentTransaction($0) }
                state.transactions += transactions
                return transactions
            }
            tell { observer, queue in observer.paymentQueueRestoreCompletedTransactionsFinished(queue) }
        } catch {
            let error = error.error
            tell { observer, queue in
                observer.paymentQueue(queue, restoreCompletedTransactionsFailedWithError: error)
            }
        }
    }
}

extension SKPaymentTransaction {
    /// A restored transaction has an id of this restore; whose it is, its original says (facts/storekit-client A4).
    fileprivate convenience init(_ restored: RestoredWords) {
        let original = SKPaymentTransaction(restored.original, receipt: nil)
        original.content.with { $0.identifier = restored.original.originalTransactionId }
        let payment = original.payment
        self.init(
            Content(
                payment: payment, state: .restored, identifier: restored.transactionId,
                date: restored.original.purchased,
                original: original))
    }
}
