import Foundation

/// What the store tells while somebody observes.
extension SKPaymentQueue {
    func listen() {
        let (stopped, ending) = AsyncStream<Never>.makeStream()
        let previous = state.with { state in
            defer { state.ending = ending }
            return state.ending
        }
        previous?.finish()
        // The task does not keep the queue: a queue that is gone ends it.
        session.effects.spawn { [weak self, session] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await change in await session.changes() { self?.hear(change) }
                }
                group.addTask { for await _ in stopped {} }
                await group.next()
                group.cancelAll()
            }
        }
    }

    private func hear(_ change: StoreChange) {
        switch change {
        case .launched: desk.add { await self.deliverUnfinished() }
        case .transaction(let words): desk.add { await self.hear(words) }
        case .storefront: tell { observer, queue in observer.paymentQueueDidChangeStorefront(queue) }
        case .intent(let intent): session.effects.spawn { await self.offer(intent) }
        case .message(let message) where message.isPriceConsent:
            session.effects.spawn { await self.askForConsent(message) }
        case .message, .subscriptions: break
        }
    }

    /// So many transactions are delivered with a receipt of their own; nobody wants to wait for more.
    private static let receiptLimit = 20

    private func deliverUnfinished() async {
        guard state.with({ !$0.observers.isEmpty }) else { return }
        let unfinished: [TransactionWords]
        do throws(StoreFault) {
            unfinished = try await session.line.transactions(.unfinished)
        } catch {
            let effects = session.effects
            return effects.spawn { [weak self] in
                await effects.pause(effects.pollInterval)
                self?.hear(.launched)
            }
        }
        let isKnown = state.with { state in unfinished.allSatisfy { state.announced.contains($0.transactionId) } }
        guard !isKnown else { return }
        // The record of what was paid for elsewhere, or before a reinstallation, is in no file yet.
        try? await session.renewReceipt()
        var receipts: [String: Data] = [:]
        for words in unfinished.prefix(Self.receiptLimit) {
            receipts[words.transactionId] = try? await session.line.receipt(of: words.transactionId)
        }
        let delivered = receipts
        announce { state in
            unfinished.flatMap { state.arrive($0, receipt: delivered[$0.transactionId]) }
        }
        dropMerged(into: Set(unfinished.map(\.transactionId)))
    }

    /// Requests that were merged into one that is paid end with it (facts/storekit-client A8).
    private func dropMerged(into paid: Set<String>) {
        drop { $0.transactionState == .deferred && paid.contains($0.number ?? "") }
    }

    private func hear(_ words: TransactionWords) async {
        if let date = words.revocationDate {
            guard state.with({ $0.revoked.insert("\(words.transactionId) \(date)").inserted }) else { return }
            return tell { observer, queue in
                observer.paymentQueue(queue, didRevokeEntitlementsForProductIdentifiers: [words.productId])
            }
        }
        switch words.state {
        // An app that runs when a subscription renews hears of it at its next launch (facts/storekit-client A8).
        case .purchased where words.reason != "RENEWAL" && !words.finished:
            guard !state.with({ $0.announced.contains(words.transactionId) }) else { return }
            let receipt = try? await session.line.receipt(of: words.transactionId)
            announce { state in state.arrive(words, receipt: receipt) }
            dropMerged(into: [words.transactionId])
        case .declined:
            announce { state in
                let declined = state.transactions.filter {
                    $0.number == words.transactionId && $0.transactionState == .deferred
                }
                for transaction in declined { transaction.fail(SKError(.paymentCancelled)) }
                return declined
            }
        default: break
        }
    }
}
